"""`GET /reports/platform-comparison`: an ad platform's own figures and ours, and each step between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

from msgspec import UNSET, Meta, Struct
from psycopg import AsyncConnection

from headwater.attribution.models import WINDOWS
from headwater.attribution.trained_models.choice import TRAINED_MODEL, cite
from headwater.events.filters import EVENT_NAMES_PARAMETER
from headwater.forwarding.deliveries.delivery_log import count_by_status
from headwater.forwarding.destinations.destinations import ACCEPTED_STATUSES, list_destinations
from headwater.http.inputs.fields import one_of, written
from headwater.http.inputs.parameters import Input, Parameter
from headwater.reports.engine.conversion import LeftOutSpend
from headwater.reports.engine.measures import rounded
from headwater.reports.engine.report import ReportResult, query_reports
from headwater.reports.hints import Hints
from headwater.reports.query import (
    DateBasis,
    FigureColumn,
    Filters,
    Group,
    KeyCondition,
    Measure,
    ReportQuery,
)
from headwater.reports.questions.cost_figures import CostFigures, round_money
from headwater.reports.questions.credits import load_credited_events
from headwater.reports.questions.period_spend import add_up_all, load_period_spend
from headwater.reports.questions.shared import (
    CURRENCY,
    DATE_BASIS,
    DEFAULT_MODEL,
    MODEL,
    PERIOD,
    TIME,
    WINDOW,
    Citation,
    ReportDates,
    UncountedMoney,
    UncountedSpend,
    describe_left_out,
    describe_left_out_spend,
    format_span,
    only_parameter,
    read_span,
    write_csv,
)
from headwater.sources.ad_platforms import normalize_platform, usual_click_window
from headwater.sources.source_names import SourceNames
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.models import Space

WHOLE_EVENTS = "linear"
"""Under this model every touch has credit, so a filter on touches selects every event they precede."""
CONVERTING = (KeyCondition(Group.KIND, "order"), KeyCondition(Group.KIND, "conversion"))


class StepReason(StrEnum):
    """The reason for a difference between two counts, in order."""

    REMAINDER = "remainder"
    """Views, modelled conversions, orders the platform was not sent, and everything else unseen here."""
    ATTRIBUTION_WINDOW = "attribution_window"
    DATE_BASIS = "date_basis"
    REFUNDS = "refunds"
    OTHER_SOURCES = "other_sources"
    """Credit that the model gives to other sources."""


class Count(Struct, frozen=True):
    conversions: Decimal = Decimal(0)
    """To four decimals."""
    revenue: Decimal = Decimal(0)

    def plus(self, addend: Count) -> Count:
        return Count(self.conversions + addend.conversions, self.revenue + addend.revenue)

    def minus(self, subtrahend: Count) -> Count:
        return Count(self.conversions - subtrahend.conversions, self.revenue - subtrahend.revenue)


class ComparisonQuery(Struct, frozen=True):
    platform: str
    click_window: int
    """In days."""
    report: ReportQuery
    """Our figures of the platform: measures CREDITED."""

    @property
    def filters(self) -> Filters:
        return self.report.filters


class ComparisonResult(Struct, frozen=True):
    query: ComparisonQuery
    ours: ReportResult
    reported: Count | None
    """By the platform; None without any in the period."""
    counts: tuple[Count, ...]
    """The first as the platform counts, the last ours, with one step between neighbours."""
    deliveries: Mapping[str, int] | None
    """Conversions counted like the platform's, by delivery status; None without a destination."""
    left_out_spend: tuple[LeftOutSpend, ...]

    @property
    def as_platform(self) -> Count:
        return self.counts[0]

    @property
    def credited(self) -> Count:
        return self.counts[-1]

    @property
    def steps(self) -> list[tuple[StepReason, Count]]:
        """Return each step's difference, from the reported count, or without one from the first, to ours."""
        counts = self.counts if self.reported is None else (self.reported, *self.counts)
        differences = [after.minus(before) for before, after in pairwise(counts)]
        return list(zip(list(StepReason)[-len(differences) :], differences, strict=True))

    @property
    def not_accepted(self) -> int | None:
        """The number of conversions that no delivery of brought to the platform."""
        if self.deliveries is None:
            return None
        return sum(count for status, count in self.deliveries.items() if status not in ACCEPTED_STATUSES)


CREDITED = (Measure.CREDITED_CONVERSIONS, Measure.CREDITED_REVENUE)
_GROSS = (Measure.CONVERSIONS, Measure.GROSS_REVENUE)
_NET = (Measure.CONVERSIONS, Measure.REVENUE)


#     platform says    46    3,798.00
#     remainder        -9     -812.00     views, modelled conversions
#     as the platform  37    2,986.00     orders with a click in the 7 days before, by click date, gross
#     window           +4     +310.00     … in the 30 days before
#     date             -1      -80.00     … by the date of the order
#     refunds           0     -120.00     … net
#     other sources   -12     -940.50     … only the model's share
#     ours             28    2,155.50
def count_queries(query: ComparisonQuery) -> tuple[ReportQuery, ...]:
    """Return the report of each count but the reported one."""
    own_query = query.report
    by_date = replace(own_query, measures=(*_NET, _GROSS[1]), models=(WHOLE_EVENTS,), trained_model=None)
    in_window = replace(by_date, date_basis=DateBasis.TOUCH)
    return replace(in_window, window_days=query.click_window), in_window, by_date, own_query


async def compare_platform(
    connection: AsyncConnection, space_id: int, query: ComparisonQuery
) -> ComparisonResult:
    """See `query_report` for conditions and errors."""
    platform_report, in_window, by_date, own_report = await query_reports(
        connection, space_id, count_queries(query)
    )
    reported, left_out_spend = await _load_reported(connection, space_id, query, own_report)
    counts = (
        _count(platform_report, _GROSS),
        _count(in_window, _GROSS),
        _count(by_date, _GROSS),
        _count(by_date, _NET),
        _count(own_report, CREDITED),
    )
    return ComparisonResult(
        query,
        own_report,
        reported,
        counts,
        await _count_deliveries(connection, space_id, query),
        left_out_spend,
    )


def _count(report: ReportResult, measures: tuple[Measure, Measure]) -> Count:
    conversions, revenue = (report.total.figures[FigureColumn(measure)] for measure in measures)
    return Count(rounded(Fraction(conversions or 0)), round_money(Fraction(revenue or 0)))


async def _load_reported(
    connection: AsyncConnection, space_id: int, query: ComparisonQuery, report: ReportResult
) -> tuple[Count | None, tuple[LeftOutSpend, ...]]:
    days = (report.span.start.date(), report.span.end.date())
    spend = await load_period_spend(connection, space_id, days, report.currency, query.filters.only)
    figures = CostFigures(add_up_all(spend_piece.row.figures for spend_piece in spend.pieces))
    count = Count(rounded(Fraction(figures.platform_conversions)), figures.platform_revenue)
    return (None if count == Count() else count), spend.left_out


async def _count_deliveries(
    connection: AsyncConnection, space_id: int, query: ComparisonQuery
) -> Mapping[str, int] | None:
    destinations = await list_destinations(connection, space_id)
    if all(destination.platform != query.platform for destination in destinations):
        return None
    platform_query = count_queries(query)[0]
    filters = replace(platform_query.filters, only=(*platform_query.filters.only, *CONVERTING))
    events = await load_credited_events(connection, space_id, replace(platform_query, filters=filters))
    return await count_by_status(connection, space_id, query.platform, events)


PLATFORM = Parameter(
    name="platform",
    kind=written({"type": "string", "maxLength": 100}, str),
    description="The ad platform to compare with: meta, google, ….",
    required=True,
)
CLICK_WINDOW = Parameter(
    name="click_window",
    kind=one_of(WINDOWS[1:]),
    description="Days after a click that the platform counts. Default: its own, such as 7 for Meta.",
)
ONLY_ADS = only_parameter(
    (Group.CAMPAIGN, Group.ADSET, Group.AD), "Only these campaigns, ad sets or ads: campaign:4711, …."
)
PARAMETERS = (
    PLATFORM,
    CLICK_WINDOW,
    ONLY_ADS,
    PERIOD,
    *TIME.parameters,
    MODEL,
    WINDOW,
    EVENT_NAMES_PARAMETER,
    DATE_BASIS,
    CURRENCY,
    TRAINED_MODEL,
)


def read_comparison_query(query: Input, space: Space, current_time: datetime) -> ComparisonQuery:
    """Raise Invalid with every broken rule."""
    span, platform = read_span(query, space, current_time), _read_platform(query, space.sources)
    conditions = (KeyCondition(Group.PLATFORM, platform), *ONLY_ADS.read(query))
    comparison = ComparisonQuery(
        platform,
        CLICK_WINDOW.read(query) or usual_click_window(platform),
        ReportQuery(
            start=span.start,
            end=span.end,
            measures=CREDITED,
            models=(MODEL.read(query) or DEFAULT_MODEL,),
            window_days=WINDOW.read(query) or 0,
            filters=Filters(EVENT_NAMES_PARAMETER.read(query), only=conditions),
            date_basis=DateBasis(DATE_BASIS.read(query) or DateBasis.CONVERSION),
            currency=CURRENCY.read(query),
            trained_model=TRAINED_MODEL.read(query),
        ),
    )
    query.finish()
    return comparison


def _read_platform(query: Input, sources: SourceNames) -> str:
    """Return the platform that bills a name: meta for `Facebook Ads`."""
    text = PLATFORM.read(query)
    if text is None:
        return ""
    name = normalize_platform(text)
    if name in sources.platform_sources:
        return name
    if rule := refuse_platform(name, sources):
        query.refuse(PLATFORM.name, rule)
    return sources.platform_named(name) or ""


class PlatformCount(Struct, frozen=True):
    """Conversions and their value."""

    conversions: float
    revenue: float


class ComparisonStep(Struct, frozen=True):
    """A reason for the difference, with the change it makes."""

    step: Annotated[str, Meta(extra_json_schema={"enum": [str(step) for step in StepReason]})]
    conversions: float
    revenue: float


class PlatformDeliveries(Struct, frozen=True):
    """Delivery states of the conversions counted as the platform counts."""

    not_accepted: Annotated[int, Meta(description="Conversions that the platform did not accept.")]
    by_status: Annotated[
        dict[str, int], Meta(description="By delivery status; not_queued if there is no delivery.")
    ]


class PlatformComparison(Struct, frozen=True):
    """An ad platform's own figures and ours."""

    platform: str
    reported: Annotated[PlatformCount | None, Meta(description="The platform's own count; null without one.")]
    counted_like_platform: Annotated[
        PlatformCount,
        Meta(description="Whole conversions within click_window of a click, by click date, without refunds."),
    ]
    credited: Annotated[PlatformCount, Meta(description="As in GET /reports.")]
    steps: Annotated[
        list[ComparisonStep],
        Meta(description="They add up from reported, or without it counted_like_platform, to credited."),
    ]
    deliveries: Annotated[PlatformDeliveries | None, Meta(description="Null without a destination.")]
    click_window: int
    period: ReportDates
    timezone: str
    currency: str
    attribution_model: str
    attribution_window: int
    date_basis: str
    left_out_money: list[UncountedMoney]
    left_out_spend: list[UncountedSpend]
    trained_model: Citation
    snapshot: str
    hints: Hints = UNSET


async def load_comparison(
    connection: AsyncConnection, space_id: int, query: ComparisonQuery
) -> PlatformComparison:
    """See `query_report` for conditions and errors."""
    return answer_comparison(await compare_platform(connection, space_id, query))


def answer_comparison(result: ComparisonResult) -> PlatformComparison:
    query, ours = result.query, result.ours
    return PlatformComparison(
        platform=query.platform,
        reported=result.reported and _answer_count(result.reported),
        counted_like_platform=_answer_count(result.as_platform),
        credited=_answer_count(result.credited),
        steps=[
            ComparisonStep(step, float(change.conversions), float(change.revenue))
            for step, change in result.steps
        ],
        deliveries=None
        if result.deliveries is None
        else PlatformDeliveries(result.not_accepted or 0, {**result.deliveries}),
        click_window=query.click_window,
        period=format_span(ours.span),
        timezone=ours.timezone,
        currency=ours.currency,
        attribution_model=query.report.models[0],
        attribution_window=query.report.window_days,
        date_basis=str(query.report.date_basis),
        left_out_money=describe_left_out(ours.left_out_money),
        left_out_spend=describe_left_out_spend(result.left_out_spend),
        trained_model=ours.trained_model and cite(ours.trained_model),
        snapshot=ours.snapshot,
    )


def _answer_count(count: Count) -> PlatformCount:
    return PlatformCount(float(count.conversions), float(count.revenue))


def comparison_csv(report: PlatformComparison) -> bytes:
    """Write one line per count and step."""
    return write_csv(("line", "conversions", "revenue"), _csv_lines(report))


def _csv_lines(report: PlatformComparison) -> Iterator[Sequence[str | float]]:
    if report.reported is not None:
        yield "reported", report.reported.conversions, report.reported.revenue
    for step in report.steps:
        yield step.step, step.conversions, step.revenue
    yield "credited", report.credited.conversions, report.credited.revenue
