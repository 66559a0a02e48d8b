"""`GET /reports`: events and their credit by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct
from msgspec.structs import astuple
from psycopg import AsyncConnection

from headwater.attribution.models import MODELS
from headwater.attribution.trained_models.choice import TRAINED_MODEL, cite
from headwater.events.filters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.inputs.fields import one_of, written
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.reports.engine.completeness import Completeness
from headwater.reports.engine.report import (
    CountedVisits,
    GroupKey,
    ReportResult,
    ReportRow,
    Unattributed,
    query_reports,
)
from headwater.reports.hints import Hints
from headwater.reports.query import (
    BY_MODEL,
    CLOCK,
    MOST_GROUPS,
    TOUCHED,
    Comparison,
    DateBasis,
    FigureColumn,
    Group,
    Measure,
    ReportQuery,
)
from headwater.reports.questions.channel_changes import (
    ChannelChangeList,
    answer_channel_changes,
    channel_queries,
    has_channel_changes,
)
from headwater.reports.questions.shared import (
    CAMPAIGN,
    COMPARE,
    CURRENCY,
    DATE_BASIS,
    DEFAULT_MODEL,
    LIMIT,
    MODEL,
    NO_GROUPS,
    ONLY,
    PERIOD,
    SOURCES_FILTER,
    TIME,
    WINDOW,
    Citation,
    ReportDates,
    UncountedMoney,
    describe_left_out,
    explain_uncompared,
    format_moment,
    format_span,
    number,
    read_filters,
    read_report_period,
    write_csv,
)
from headwater.spaces.models import Space

MEASURES = ListParameter(
    name="measures",
    kind=one_of([str(measure) for measure in Measure]),
    max_values=len(Measure),
    default=[Measure.CREDITED_REVENUE, Measure.CREDITED_CONVERSIONS],
    description=(
        "credited_*: by the model. touched_*: any touchpoint of the group. "
        "conversions: no refunds, no upsells; orders: purchases among them. revenue: net, with "
        "upsells. conversion_rate: per visit. share: of the first measure."
    ),
)
GROUP_BY = ListParameter(
    name="group_by",
    kind=one_of([*(str(group) for group in Group), NO_GROUPS]),
    max_values=MOST_GROUPS,
    description=(
        "At most two; none for totals. Default: source if credit is measured, else none. "
        "Channels: paid, ai, organic, email, sms, referral, direct."
    ),
)
ALL_MODELS = ListParameter(
    name="attribution_models",
    kind=one_of(tuple(MODELS)),
    max_values=len(MODELS),
    description="Several, instead of attribution_model.",
)
COMPLETENESS = Parameter(
    name="completeness",
    kind=one_of((0, 1)),
    default=0,
    description="1 adds the expected final figures of recent days.",
)
ORDER_BY = Parameter(
    name="order_by",
    kind=written({"type": "string", "maxLength": 50}, str),
    description="A measure (largest first) or group (in order). Default: a time group or the first measure.",
)
PARAMETERS = (
    MEASURES,
    GROUP_BY,
    PERIOD,
    *TIME.parameters,
    MODEL,
    ALL_MODELS,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    SOURCES_FILTER,
    CAMPAIGN,
    ONLY,
    AMOUNT_MIN,
    AMOUNT_MAX,
    DATE_BASIS,
    COMPARE,
    CURRENCY,
    LIMIT,
    ORDER_BY,
    COMPLETENESS,
    TRAINED_MODEL,
)


def read_report_query(query: Input, space: Space, current_time: datetime) -> ReportQuery:
    """Raise Invalid with every broken rule."""
    period = read_report_period(query, space, current_time)
    measures = tuple(Measure(name) for name in MEASURES.read(query))
    groups = _read_groups(query, measures)
    by = _read_order(query, measures, groups)
    report_query = ReportQuery(
        start=period.span.start,
        end=period.span.end,
        now=period.now,
        unit=period.unit,
        measures=measures,
        group_by=groups,
        models=_read_models(query),
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=read_filters(query, space, current_time),
        date_basis=DateBasis(DATE_BASIS.read(query) or DateBasis.CONVERSION),
        compare=Comparison(COMPARE.read(query) or Comparison.NONE),
        limit=LIMIT.read(query) or 0,
        currency=CURRENCY.read(query),
        order_by=by,
        descending=by not in groups,
        complete_on=current_time.astimezone(space.zone).date() if COMPLETENESS.read(query) else None,
        trained_model=TRAINED_MODEL.read(query),
    )
    query.finish()
    return report_query


def _read_groups(query: Input, measures: tuple[Measure, ...]) -> tuple[Group, ...]:
    words = GROUP_BY.read(query)
    if NO_GROUPS in words:
        if len(words) > 1:
            query.refuse(GROUP_BY.name, f"must not combine {NO_GROUPS} with other groups.")
        return ()
    if not words and not (BY_MODEL | TOUCHED).isdisjoint(measures):
        return (Group.SOURCE,)
    return tuple(Group(word) for word in words)


def _read_models(query: Input) -> tuple[str, ...]:
    models = ALL_MODELS.read(query)
    if models and query.single(MODEL.name) is not None:
        query.refuse(ALL_MODELS.name, f"must not be given with {MODEL.name}.")
    return models or (MODEL.read(query) or DEFAULT_MODEL,)


def _read_order(
    query: Input, measures: tuple[Measure, ...], groups: tuple[Group, ...]
) -> Measure | Group | None:
    word = ORDER_BY.read(query)
    if word is None:
        return next((group for group in groups if group in CLOCK), None)
    for column in (*measures, *groups):
        if column == word:
            return column
    query.refuse(ORDER_BY.name, "must be one of the requested measures or groups.")
    return None


NAMED_GROUPS = frozenset(
    {Group.CAMPAIGN, Group.ADSET, Group.AD, Group.EVENT, Group.COMPANY, Group.CONTACT, Group.WEEK}
)
"""Groups with a second column for the name."""


class IncompleteDay(Struct, frozen=True):
    """A day whose figure is not final yet."""

    day: str
    value: Annotated[float, Meta(description="The figure at the last midnight.")]
    share_in: Annotated[float, Meta(description="The share of the final figure that has usually arrived.")]
    expected: float
    low: float
    high: float


class ReportCompleteness(Struct, frozen=True):
    """Completeness of recent days at the last midnight."""

    as_of: str
    horizon_days: int
    history_days: int
    reason: str | None
    share_in: float | None
    days: list[IncompleteDay]


class ReportVisits(Struct, frozen=True):
    """About the visits, if they are measured."""

    bot_views: Annotated[int, Meta(description="Page views by known bots, which are left out.")]
    conversions_without_visit: Annotated[
        float | None, Meta(description="Their share; by the first of several models.")
    ]
    deleted_before: Annotated[
        str | None, Meta(description="Earlier visits of the periods are deleted, of all or of some people.")
    ]


class Report(Struct, frozen=True):
    """The report."""

    columns: list[str]
    rows: list[list[str | float | None]]
    left_out: Annotated[int, Meta(description="Groups beyond the limit.")]
    totals: Annotated[dict[str, float | None], Meta(description="Over all groups, each event once.")]
    unattributed: Annotated[
        dict[str, Any] | None, Meta(description="Without credit, in total and by reason.")
    ]
    overall: Annotated[dict[str, float | None] | None, Meta(description="Over every event.")]
    event_names: dict[str, int]
    period: ReportDates
    compared_period: ReportDates | None
    not_compared: str | None
    conversion_names: list[str]
    first_event: str | None
    last_event: str | None
    timezone: str
    currency: str
    attribution_model: str | list[str]
    attribution_window: int
    query_mode: str
    date_basis: str
    left_out_money: list[UncountedMoney]
    compared_left_out_money: list[UncountedMoney] | None
    snapshot: str
    completeness: ReportCompleteness | None
    trained_model: Citation
    visits: ReportVisits | None
    channel_changes: ChannelChangeList | None
    hints: Hints = UNSET


async def load_report(connection: AsyncConnection, space_id: int, query: ReportQuery) -> Report:
    """See `query_report` for conditions and errors."""
    periods = channel_queries(query) if has_channel_changes(query) else ()
    report, *by_channel = await query_reports(connection, space_id, [query, *periods])
    return answer_report(query, report, by_channel)


def answer_report(
    query: ReportQuery, report: ReportResult, by_channel: Sequence[ReportResult] = ()
) -> Report:
    """`by_channel` has the reports of `channel_queries`."""
    previous_span = report.compared_span
    missing_keys = [GroupKey(None, None) for _ in query.group_by]
    return Report(
        columns=[*name_keys(query.group_by, missing_keys), *_figure_columns(query, report)],
        rows=[
            [*name_keys(query.group_by, row.keys).values(), *_figures(report, query, row)]
            for row in report.rows
        ],
        left_out=report.left_out,
        totals=_name_figures(query, report, report.total),
        unattributed=_unattributed(query, report.unattributed),
        overall=report.overall and _name_figures(query, report, report.overall),
        event_names=dict(report.event_counts),
        period=format_span(report.span),
        compared_period=previous_span and format_span(previous_span),
        not_compared=explain_uncompared(report.is_comparable or previous_span is None),
        conversion_names=[*report.conversion_names],
        first_event=format_moment(report.first_event),
        last_event=format_moment(report.last_event),
        timezone=report.timezone,
        currency=report.currency,
        attribution_model=query.models[0] if len(query.models) == 1 else list(query.models),
        attribution_window=query.window_days,
        query_mode="company" if query.by_company else "profile",
        date_basis=str(query.date_basis),
        left_out_money=describe_left_out(report.left_out_money),
        compared_left_out_money=None
        if report.compared_left_out_money is None
        else describe_left_out(report.compared_left_out_money),
        snapshot=report.snapshot,
        completeness=report.completeness and _completeness(report.completeness),
        trained_model=report.trained_model and cite(report.trained_model),
        visits=report.visits and _answer_visits(report.visits),
        channel_changes=answer_channel_changes(by_channel),
    )


def _answer_visits(visits: CountedVisits) -> ReportVisits:
    return ReportVisits(
        visits.bot_views, number(visits.unvisited_share), format_moment(visits.deleted_before)
    )


def _completeness(completeness: Completeness) -> ReportCompleteness:
    share = completeness.share_in
    return ReportCompleteness(
        as_of=f"{completeness.as_of} 00:00:00",
        horizon_days=completeness.horizon_days,
        history_days=completeness.history_days,
        reason=completeness.reason and str(completeness.reason),
        share_in=None if share is None else round(share, 4),
        days=arrival_days(completeness),
    )


def arrival_days(completeness: Completeness) -> list[IncompleteDay]:
    figures = ("value", "share_in", "expected", "low", "high")
    return [
        IncompleteDay(f"{day.day}", *(round(getattr(day, name), 4) for name in figures))
        for day in completeness.days
    ]


def completeness_csv(completeness: Completeness) -> bytes:
    return write_csv(IncompleteDay.__struct_fields__, map(astuple, arrival_days(completeness)))


def report_csv(report: Report) -> bytes:
    """Write totals without groups."""
    is_grouped = len(report.columns) > len(report.totals)
    return write_csv(report.columns, report.rows if is_grouped else [[*report.totals.values()]])


def name_keys(groups: Sequence[Group], keys: Sequence[GroupKey]) -> dict[str, str | None]:
    """Return a row's keys by column, and names in the columns after them."""
    names: dict[str, str | None] = {}
    for group, key in zip(groups, keys, strict=True):
        names[group] = key.label if group is Group.MONTH else key.value
        if group in NAMED_GROUPS:
            names[f"{group}_name"] = key.label
    return names


def _figure_columns(query: ReportQuery, report: ReportResult) -> Iterator[str]:
    for column in report.columns:
        yield from _column_names(query, column)


def _column_names(query: ReportQuery, column: FigureColumn) -> Iterator[str]:
    yield str(column)
    if query.compare is not Comparison.NONE:
        yield f"{column}_before"
        yield f"{column}_change"


def _figures(report: ReportResult, query: ReportQuery, row: ReportRow) -> Iterator[float | None]:
    for column in report.columns:
        yield from _column_figures(query, row, column)


def _column_figures(query: ReportQuery, row: ReportRow, column: FigureColumn) -> Iterator[float | None]:
    yield number(row.figures[column])
    if query.compare is not Comparison.NONE:
        change = row.changes.get(column) if row.changes is not None else None
        yield None if row.compared is None else number(row.compared[column])
        yield None if change is None else number(change.ratio)


def _name_figures(query: ReportQuery, report: ReportResult, row: ReportRow) -> dict[str, float | None]:
    names = _figure_columns(query, report)
    return dict(zip(names, _figures(report, query, row), strict=True))


def _unattributed(query: ReportQuery, unattributed: Unattributed | None) -> dict[str, Any] | None:
    return unattributed and {
        **_by_measure(query, unattributed.row),
        "reasons": {str(reason): _by_measure(query, row) for reason, row in unattributed.reasons.items()},
    }


def _by_measure(query: ReportQuery, row: ReportRow) -> dict[str, float | None]:
    return {
        name: figure
        for column in row.figures
        for name, figure in zip(
            _column_names(query, column), _column_figures(query, row, column), strict=True
        )
    }
