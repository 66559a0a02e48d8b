"""`GET /reports/spend`: ad spend compared with its results, by the groups that both have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated
from zoneinfo import ZoneInfo

from msgspec import UNSET, Meta, Struct
from psycopg import AsyncConnection

from headwater.attribution.trained_models.choice import TRAINED_MODEL, ChosenModel, cite
from headwater.events.filters import EVENT_NAMES_PARAMETER
from headwater.http.errors import Invalid
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import Input, Parameter
from headwater.reports.engine.conversion import LeftOutMoney, LeftOutSpend
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult, query_reports
from headwater.reports.engine.report_reader import limit_time, run_in_thread
from headwater.reports.engine.time_buckets import SHORTEST, compared_span, counterpart, cut, name_day
from headwater.reports.hints import Hints
from headwater.reports.query import (
    MOST_CREDITED_GROUPS,
    STEPS,
    Comparison,
    DateBasis,
    DateTimeSpan,
    Filters,
    Group,
    ReportQuery,
    ReportTooLarge,
)
from headwater.reports.questions.cost_figures import (
    GROUPS,
    MEASURES,
    NOT_OF_SPEND,
    CostFigures,
    CreditByKey,
    CreditQueries,
    credit_queries,
    customers_query,
    spend_problem,
)
from headwater.reports.questions.period_spend import Key, PeriodSpend, add_up_all, load_period_spend
from headwater.reports.questions.shared import (
    COMPARE,
    CURRENCY,
    DATE_BASIS,
    DEFAULT_MODEL,
    LIMIT,
    MODEL,
    NO_GROUPS,
    PERIOD,
    TIME,
    WINDOW,
    Citation,
    ReportDates,
    UncountedMoney,
    UncountedSpend,
    describe_left_out,
    describe_left_out_spend,
    explain_uncompared,
    format_moment,
    format_span,
    number,
    only_parameter,
    read_keys,
    read_report_period,
    write_csv,
)
from headwater.sources.source_names import SourceNames
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from headwater.spend.breakdown import NOTHING

FILTER_GROUPS = (
    Group.PLATFORM,
    Group.SOURCE,
    Group.CHANNEL,
    Group.CAMPAIGN,
    Group.ADSET,
    Group.AD,
    *NOT_OF_SPEND,
)
"""Groups to filter by."""


_TOO_MANY_GROUPS = (
    f"More than {MOST_CREDITED_GROUPS:,} groups have credit. Filter them, or group by something coarser."
)


@dataclass(frozen=True)
class CostRow:
    key: Key
    label: str | None
    figures: CostFigures
    compared: CostFigures | None = None
    """None without a counterpart."""


@dataclass(frozen=True)
class CostReport:
    """A report of spend. Rows and `without_place` add up to the ledger's spend."""

    group: Group | None
    rows: tuple[CostRow, ...]
    left_out: int
    total: CostFigures
    """Its ratios equal the ratios of `with_spend`."""
    with_spend: CostFigures
    """All spend, with its platforms' credit. The same for every grouping."""
    without_place: CostFigures
    """Spend without a key in the group, or of a platform that is no source."""
    span: DateTimeSpan
    timezone: str
    currency: str
    cost_rate: Decimal | None = None
    """In per cent of revenue."""
    trained_model: ChosenModel | None = None
    snapshot: str = ""
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """Missing in all sums."""
    left_out_spend: tuple[LeftOutSpend, ...] = ()
    """Missing in all sums."""
    compared: CostReport | None = None
    """The compared period, with all of its rows."""
    unsplit: tuple[str, ...] = ()
    """Platforms with several sources and no spend by source: in a report by source they have no ratios."""
    problem: Group | None = None
    """A filter's group that spend lacks; there are no ratios then."""
    ends: tuple[datetime | None, datetime | None] = (None, None)
    """Local times of the first and last event, if the range reaches past them."""
    began: bool = True
    """False if the range ends before the Space's first event."""

    @property
    def comparable(self) -> CostReport | None:
        """The compared report, unless it ends before the first event."""
        return self.compared if self.compared is not None and self.compared.began else None


async def query_spend(connection: AsyncConnection, space_id: int, query: ReportQuery) -> CostReport:
    """Return a report of spend, by its groups and measures. See `query_report` for conditions and errors."""
    check_only(query)
    with limit_time():
        return await _load_costs(connection, space_id, query)


async def _load_costs(connection: AsyncConnection, space_id: int, query: ReportQuery) -> CostReport:
    periods = _periods(query)
    queries = [credit_queries(period) for period in periods]
    reports = await query_reports(
        connection,
        space_id,
        [credit_query for period_queries in queries for credit_query in period_queries.members],
    )
    if any(report.left_out for report in reports):
        raise ReportTooLarge(_TOO_MANY_GROUPS)
    space = await fetch_space(connection, space_id)
    currency, conditions = reports[0].currency, query.filters.only
    spending = [
        await load_period_spend(
            connection,
            space_id,
            (period.start.date(), period.end.date()),
            currency,
            conditions,
            query.group_by,
        )
        for period in periods
    ]
    platforms = [period_spend.platforms for period_spend in spending]
    customers = await _load_customers(connection, space_id, queries, platforms)
    period_reports: list[CostReport] = []
    for period, period_queries, period_spend in zip(periods, queries, spending, strict=True):
        answers = [reports.pop(0) for _ in period_queries.members]
        credit = CreditByKey(period_queries, answers, period_spend.platforms, customers.pop(0))
        joined = await run_in_thread(_join, period, answers[0], credit, period_spend, space)
        period_reports.append(joined)
    current, *before = period_reports
    if before:
        current = _compared(current, before[0], query, space.zone)
    return replace(
        current, rows=current.rows[: query.limit], left_out=max(0, len(current.rows) - query.limit)
    )


async def _load_customers(
    connection: AsyncConnection,
    space_id: int,
    queries: Sequence[CreditQueries],
    platforms: Sequence[Collection[Key]],
) -> list[ReportResult | None]:
    """Load the report of new customers of each period that needs one."""
    counts = [
        customers_query(period_queries.of_all, paid)
        for period_queries, paid in zip(queries, platforms, strict=True)
    ]
    needed_queries = [count for count in counts if count is not None]
    reports = iter(await query_reports(connection, space_id, needed_queries) if needed_queries else ())
    return [None if count is None else next(reports) for count in counts]


def check_only(query: ReportQuery) -> None:
    """Raise Invalid for filters that touches or spend lack."""
    if not {condition.group for condition in query.filters.only} <= set(FILTER_GROUPS):
        raise Invalid.of("only", f"must have groups from {', '.join(FILTER_GROUPS)}.")


def _periods(query: ReportQuery) -> list[ReportQuery]:
    single_query = replace(query, compare=Comparison.NONE)
    if query.compare is Comparison.NONE:
        return [single_query]
    span = compared_span(query)
    return [single_query, replace(single_query, start=span.start, end=span.end)]


def _join(
    query: ReportQuery, report: ReportResult, credit: CreditByKey, spent: PeriodSpend, space: Space
) -> CostReport:
    sources, cost_rate = space.sources, space.cost_rate
    group = query.group_by[0] if query.group_by else None
    labels = {key.value: key.label for key in credit.listed_keys}
    by_key = spent.by_key(group, labels)
    total = add_up_all(by_key.values())
    without_place = NOTHING if group is None else by_key.pop(None, NOTHING)
    unsplit_platforms = spent.unsplit(group)
    names = spent.find_names(group)
    keys = {**labels, **{key: _name_key(group, key, names) for key in by_key}} if group else {}
    problem = spend_problem(query.filters.only, sources)
    rows = [
        CostRow(
            key,
            labels.get(key) or label,
            CostFigures(
                by_key.get(key, NOTHING),
                credit.at(key),
                credit.get_paid(key),
                cost_rate,
                has_ratios=problem is None and _find_platform(group, key, sources) not in unsplit_platforms,
            ),
        )
        for key, label in keys.items()
    ]
    paid = credit.paid
    has_ratios = problem is None
    return CostReport(
        group,
        tuple(sorted(rows, key=_order)),
        0,
        CostFigures(total, credit.total, paid, cost_rate, has_ratios),
        CostFigures(total, paid, None, cost_rate, has_ratios),
        CostFigures(without_place, cost_rate=cost_rate, has_ratios=has_ratios),
        report.span,
        report.timezone,
        report.currency,
        cost_rate,
        trained_model=report.trained_model,
        snapshot=report.snapshot,
        left_out_money=report.left_out_money,
        left_out_spend=spent.left_out,
        unsplit=tuple(sorted(unsplit_platforms)),
        problem=problem,
        began=report.began,
        ends=(report.first_event, report.last_event),
    )


def _name_key(group: Group | None, key: Key, names: Mapping[str, str]) -> Key:
    """Name a row of spend without credit, like one with credit."""
    if key is None or group is None or group not in STEPS:
        return names.get(key or "", key)
    return name_day(date.fromisoformat(key), group)


def _find_platform(group: Group | None, key: Key, sources: SourceNames) -> str | None:
    return sources.find_platform(key) if group is Group.SOURCE and key else None


def _compared(current: CostReport, previous: CostReport, query: ReportQuery, zone: ZoneInfo) -> CostReport:
    """Add compared figures to rows with the same key or the corresponding time bucket, or zeros without such
    a row; nothing for a period before the Space's first event.
    """
    current = replace(current, compared=previous, ends=(previous.ends[0], current.ends[1]))
    if not previous.began:
        return current
    figures = {row.key: row.figures for row in previous.rows}
    no_costs = CostFigures(cost_rate=previous.cost_rate)
    keys = _counterparts(current, previous, query.compare, zone)
    rows = tuple(
        replace(row, compared=figures.get(keys[row.key], no_costs)) if row.key in keys else row
        for row in current.rows
    )
    return replace(current, rows=rows)


def _counterparts(
    current: CostReport, previous: CostReport, compare: Comparison, zone: ZoneInfo
) -> dict[Key, Key]:
    """Return the compared key of each row that has a counterpart."""
    group = current.group
    if group is None or group not in SHORTEST:
        return {row.key: row.key for row in current.rows}
    steps, other_buckets = (cut(report.span, group, zone) for report in (current, previous))
    places = {
        day: counterpart(index, compare, steps, other_buckets)
        for index, day in enumerate(steps.days, start=1)
    }
    return {
        f"{day}": f"{other_buckets.days[index - 1]}" for day, index in places.items() if index is not None
    }


def _order(row: CostRow) -> tuple[int, Decimal, str]:
    """Most spend first, then most revenue."""
    return -row.figures.spent[0], -row.figures.credited_revenue, row.key or "\U0010ffff"


GROUP = Parameter(
    name="group_by",
    kind=one_of([*map(str, GROUPS), NO_GROUPS]),
    default="platform",
    description="The group of each row.",
)
ONLY_PLACES = only_parameter(FILTER_GROUPS, "Only rows with these keys: platform:meta, ….")
PARAMETERS = (
    GROUP,
    PERIOD,
    *TIME.parameters,
    MODEL,
    WINDOW,
    EVENT_NAMES_PARAMETER,
    ONLY_PLACES,
    DATE_BASIS,
    COMPARE,
    CURRENCY,
    LIMIT,
    TRAINED_MODEL,
)
FIGURES = (
    "spend",
    "impressions",
    "clicks",
    "credited_revenue",
    "credited_conversions",
    "new_customers",
    "new_customer_revenue",
    "roas",
    "cpa",
    "cac",
    "contribution",
    "platform_conversions",
    "platform_revenue",
)
_IN_ALL_DIGITS = {"spend", "contribution", "platform_conversions", "platform_revenue"}


def read_spend_query(query: Input, space: Space, current_time: datetime) -> ReportQuery:
    """Raise Invalid with every broken rule."""
    period = read_report_period(query, space, current_time)
    group = GROUP.read(query)
    report_query = ReportQuery(
        start=period.span.start,
        end=period.span.end,
        now=period.now,
        unit=period.unit,
        measures=MEASURES,
        group_by=() if group in (None, NO_GROUPS) else (Group(group),),
        models=(MODEL.read(query) or DEFAULT_MODEL,),
        window_days=WINDOW.read(query) or 0,
        filters=Filters(EVENT_NAMES_PARAMETER.read(query), only=read_keys(query, ONLY_PLACES, space.sources)),
        date_basis=DateBasis(DATE_BASIS.read(query) or DateBasis.CONVERSION),
        compare=Comparison(COMPARE.read(query) or Comparison.NONE),
        limit=LIMIT.read(query) or 0,
        currency=CURRENCY.read(query),
        trained_model=TRAINED_MODEL.read(query),
    )
    query.finish()
    return report_query


Figures = dict[str, float | None]


class AdSpendReport(Struct, frozen=True):
    """The report of spend."""

    columns: list[str]
    rows: list[list[str | float | None]]
    left_out: Annotated[int, Meta(description="Groups beyond the limit.")]
    totals: Annotated[Figures, Meta(description="All credit and all spend; ratios as in with_spend.")]
    with_spend: Annotated[
        Figures,
        Meta(description="All spend, and the credit of platforms with spend: equal for every group_by."),
    ]
    unmatched: Annotated[Figures, Meta(description="Spend without a row in the group.")]
    period: ReportDates
    compared_period: ReportDates | None
    not_compared: str | None
    first_event: str | None
    last_event: str | None
    not_broken_down: Annotated[
        list[str], Meta(description="Platforms without spend by source: their sources have no ratios.")
    ]
    no_ratios: Annotated[str | None, Meta(description="Why roas, cpa and cac are null.")]
    timezone: str
    currency: str
    left_out_money: list[UncountedMoney]
    left_out_spend: list[UncountedSpend]
    compared_left_out_money: list[UncountedMoney] | None
    compared_left_out_spend: list[UncountedSpend] | None
    cost_rate: float | None
    attribution_model: str | None
    attribution_window: int
    date_basis: str
    trained_model: Citation
    snapshot: str
    hints: Hints = UNSET


async def load_spend(connection: AsyncConnection, space_id: int, query: ReportQuery) -> AdSpendReport:
    """See `query_spend` for conditions and errors."""
    return answer_spend(query, await query_spend(connection, space_id, query))


def answer_spend(query: ReportQuery, report: CostReport) -> AdSpendReport:
    previous = report.comparable
    return AdSpendReport(
        columns=_columns(report),
        rows=[
            [*([row.key, row.label] if report.group else []), *_row_values(report, row.figures, row.compared)]
            for row in report.rows
        ],
        left_out=report.left_out,
        totals=_name_figures(report, report.total, previous and previous.total),
        with_spend=_name_figures(report, report.with_spend, previous and previous.with_spend),
        unmatched=_name_figures(report, report.without_place, previous and previous.without_place),
        period=format_span(report.span),
        compared_period=report.compared and format_span(report.compared.span),
        not_compared=explain_uncompared(report.comparable is not None or report.compared is None),
        first_event=format_moment(report.ends[0]),
        last_event=format_moment(report.ends[1]),
        not_broken_down=[*report.unsplit],
        no_ratios=report.problem and f"Spend cannot be filtered by {report.problem}.",
        timezone=report.timezone,
        currency=report.currency,
        left_out_money=describe_left_out(report.left_out_money),
        left_out_spend=describe_left_out_spend(report.left_out_spend),
        compared_left_out_money=previous and describe_left_out(previous.left_out_money),
        compared_left_out_spend=previous and describe_left_out_spend(previous.left_out_spend),
        cost_rate=None if report.cost_rate is None else float(report.cost_rate),
        attribution_model=query.models[0],
        attribution_window=query.window_days,
        date_basis=str(query.date_basis),
        trained_model=report.trained_model and cite(report.trained_model),
        snapshot=report.snapshot,
    )


def spend_csv(report: AdSpendReport) -> bytes:
    """Write unmatched spend last; without a group, the totals."""
    is_grouped = len(report.columns) > len(report.totals)
    unmatched_row = ["", "unmatched", *report.unmatched.values()]
    return write_csv(
        report.columns, [*report.rows, unmatched_row] if is_grouped else [[*report.totals.values()]]
    )


def _columns(report: CostReport) -> list[str]:
    keys = [str(report.group), f"{report.group}_name"] if report.group else []
    return [*keys, *_figure_columns(report)]


def _figure_columns(report: CostReport) -> list[str]:
    if report.compared is None:
        return list(FIGURES)
    return [f"{name}{end}" for name in FIGURES for end in ("", "_before", "_change")]


def _row_values(
    report: CostReport, current: CostFigures, previous: CostFigures | None
) -> Iterator[float | None]:
    """Yield each figure, its compared figure and the change."""
    before = _values(previous) if previous is not None else [None] * len(FIGURES)
    for name, figure, previous_figure in zip(FIGURES, _values(current), before, strict=True):
        yield figure
        if report.compared is not None:
            yield previous_figure
            change = None if previous is None else current.change(name, previous)
            yield None if change is None else number(change.ratio)


def _values(figures: CostFigures) -> list[float | None]:
    return [spend_number(name, getattr(figures, name)) for name in FIGURES]


def spend_number(name: str, figure: Figure) -> float | None:
    """Convert a figure to JSON; ledger figures keep all digits."""
    return float(figure) if name in _IN_ALL_DIGITS and figure is not None else number(figure)


def _name_figures(
    report: CostReport, current: CostFigures, previous: CostFigures | None
) -> dict[str, float | None]:
    return dict(zip(_figure_columns(report), _row_values(report, current, previous), strict=True))
