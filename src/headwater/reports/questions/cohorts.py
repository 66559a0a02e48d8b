"""`GET /reports/cohorts`: customers by first order's month and credited touches, with revenue in every month
since and acquisition cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Annotated

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType
from psycopg import AsyncConnection

from headwater.attribution.trained_models.choice import TRAINED_MODEL, cite
from headwater.events.filters import EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.inputs.fields import one_of, whole_number, written
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.period_words import EXAMPLES
from headwater.reports.engine.acquisition import (
    ObservationPlan,
    follow,
    last_second,
    make_key,
    observe,
    plan_observation,
)
from headwater.reports.engine.dimensions import Step, steps
from headwater.reports.engine.group_sums import GroupSums
from headwater.reports.engine.groups import fetch_labels
from headwater.reports.engine.passes import PeriodPlan, load_left_out
from headwater.reports.engine.report_reader import ReportReader, open_reader, run_in_thread
from headwater.reports.engine.time_buckets import cut
from headwater.reports.hints import Hints
from headwater.reports.query import (
    MOST_ROWS,
    OF_TOUCHES,
    TOUCH_GROUPS,
    DateTimeSpan,
    Filters,
    Group,
    Measure,
    ReportQuery,
    ReportTooLarge,
    common_rules,
    refuse_broken_rules,
    single_model_rules,
)
from headwater.reports.questions.cohort_sums import (
    KEY,
    CohortBuilder,
    CohortGroup,
    CohortKey,
    CohortResult,
    CohortSums,
    Payback,
    add_up_cohorts,
    list_months,
)
from headwater.reports.questions.period_spend import load_period_spend
from headwater.reports.questions.shared import (
    CURRENCY,
    DEFAULT_MODEL,
    MODEL,
    NO_GROUPS,
    TIME,
    WINDOW,
    Citation,
    UncountedMoney,
    UncountedSpend,
    describe_left_out,
    describe_left_out_spend,
    only_parameter,
    read_keys,
    read_span,
    write_csv,
)
from headwater.spaces.models import Space

FILTER_GROUPS = (Group.SOURCE, Group.PLATFORM, Group.CHANNEL, Group.CAMPAIGN, Group.ADSET)
MOST_MONTHS = 60
"""From the first acquisition month to the current one."""


@dataclass(frozen=True)
class CohortQuery:
    """A report of cohorts. `query_cohorts` checks the rules."""

    report: ReportQuery
    """From the first acquisition month to the current one, by at most one touch dimension. Credit is for
    first orders, by one model.
    """
    last: date
    """A day of the last acquisition month."""
    today: date
    """Local; the current month is incomplete."""

    @property
    def filters(self) -> Filters:
        return self.report.filters

    @property
    def first(self) -> date:
        """The first day of the first acquisition month."""
        return self.report.start.date()


def check_cohorts(query: CohortQuery) -> None:
    """Raise Invalid with every broken rule."""
    report = query.report
    groups = {condition.group for condition in report.filters.only}
    refuse_broken_rules(
        [
            *common_rules(report),
            *single_model_rules(report),
            (
                "group_by",
                OF_TOUCHES.issuperset(report.group_by),
                f"must be one of {', '.join(TOUCH_GROUPS)}.",
            ),
            ("only", groups <= set(FILTER_GROUPS), f"must have groups from {', '.join(FILTER_GROUPS)}."),
            ("period", query.first <= query.today, "must not begin after this month."),
            (
                "period",
                query.first > query.today or len(list_months(query.first, query.today)) <= MOST_MONTHS,
                f"must begin in the last {MOST_MONTHS} months.",
            ),
        ]
    )


UNATTRIBUTED = "unattributed"
GROUP = Parameter(
    name="group_by",
    kind=one_of([*map(str, TOUCH_GROUPS), NO_GROUPS]),
    default="source",
    description="Groups that share the credit of the first order; none for totals.",
)
PERIOD = Parameter(
    name="period",
    kind=written({"type": "string", "maxLength": 100}, str),
    default="last 365 days",
    description=(
        "The months of first orders, in words, instead of start_date and end_date: each month that "
        f"the period touches. {EXAMPLES}."
    ),
)
ONLY_TOUCHES = only_parameter(FILTER_GROUPS, "Only credit with these keys: channel:paid, ….")
LIMIT = Parameter(
    name="limit",
    kind=whole_number(1, MOST_ROWS),
    default=20,
    description="The most groups to list. Totals include all.",
)
PARAMETERS = (
    GROUP,
    PERIOD,
    *TIME.parameters,
    MODEL,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    ONLY_TOUCHES,
    CURRENCY,
    LIMIT,
    TRAINED_MODEL,
)


def read_cohort_query(query: Input, space: Space, current_time: datetime) -> CohortQuery:
    """Raise Invalid with every broken rule."""
    span = read_span(query, space, current_time, PERIOD)
    today = current_time.astimezone(space.zone).date()
    group = GROUP.read(query)
    report = ReportQuery(
        start=datetime.combine(span.start.date().replace(day=1), time()),
        end=last_second(today),
        measures=(Measure.CREDITED_REVENUE,),
        group_by=() if group in (None, NO_GROUPS) else (Group(group),),
        models=(MODEL.read(query) or DEFAULT_MODEL,),
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=Filters(
            EVENT_NAMES_PARAMETER.read(query), only=read_keys(query, ONLY_TOUCHES, space.sources)
        ),
        limit=LIMIT.read(query) or 0,
        currency=CURRENCY.read(query),
        trained_model=TRAINED_MODEL.read(query),
    )
    query.finish()
    return CohortQuery(report, min(span.end.date(), max(today, span.start.date())), today)


_OF_COHORT = ("new_customers", "spend", "cac", "payback", "payback_month")
_OF_MONTH = ("months_since", "complete", "revenue", "cumulative_revenue", "contribution", "customers")


class CohortMonth(Struct, frozen=True, kw_only=True):
    """The customers of a month. Lists have one value per month since, from the month itself."""

    key: str | UnsetType | None = UNSET
    """The group's key; absent in totals."""
    name: str | UnsetType | None = UNSET
    month: Annotated[str, Meta(description="Month of the first order: 2026-05.")]
    new_customers: Annotated[int, Meta(description="Each once, with any credit of the first order.")]
    spend: Annotated[float | None, Meta(description="Spend of that month.")]
    cac: float | None
    payback: Annotated[str, Meta(extra_json_schema={"enum": [str(payback) for payback in Payback]})]
    payback_month: Annotated[
        int | None, Meta(description="From 0: the first period where contribution covers spend.")
    ]
    complete_months: Annotated[int, Meta(description="Months that are over.")]
    revenue: Annotated[list[float], Meta(description="By months since, from 0.")]
    cumulative_revenue: list[float]
    contribution: Annotated[
        list[float] | None, Meta(description="Cumulative, after cost rate and spend; null without either.")
    ]
    customers: Annotated[list[int], Meta(description="Customers with an order.")]


class CohortTotals(Struct, frozen=True):
    """All months of a group."""

    key: str | None
    name: str | None
    new_customers: int
    spend: float | None
    cac: float | None
    revenue: float
    contribution: float | None


class UnmatchedSpend(Struct, frozen=True):
    """Spend of a month outside all groups."""

    month: str
    spend: float


class CohortReport(Struct, frozen=True):
    """The report of cohorts."""

    groups: list[CohortTotals]
    cohorts: list[CohortMonth]
    left_out: Annotated[int, Meta(description="Groups beyond the limit.")]
    totals: Annotated[list[CohortMonth], Meta(description="All customers, each once.")]
    unattributed: Annotated[
        list[CohortMonth] | None, Meta(description="Customers whose first order has no credit.")
    ]
    unmatched: Annotated[list[UnmatchedSpend] | None, Meta(description="Spend without a group.")]
    as_of: str
    timezone: str
    currency: str
    left_out_money: list[UncountedMoney]
    left_out_spend: list[UncountedSpend]
    cost_rate: float | None
    group_by: str | None
    attribution_model: str
    attribution_window: int
    query_mode: str
    trained_model: Citation
    hints: Hints = UNSET


async def load_cohorts(connection: AsyncConnection, space_id: int, query: CohortQuery) -> CohortReport:
    """See `query_cohorts` for conditions and errors."""
    return answer_cohorts(query, await query_cohorts(connection, space_id, query))


def answer_cohorts(query: CohortQuery, report: CohortResult) -> CohortReport:
    return CohortReport(
        groups=[
            CohortTotals(
                group.key,
                group.label,
                group.new_customers,
                _number(group.spend),
                _number(group.cac),
                float(group.revenue),
                _number(group.contribution),
            )
            for group in report.groups
        ],
        cohorts=[month for group in report.groups for month in filled_months(_months(group, with_key=True))],
        left_out=report.left_out,
        totals=_months(report.total),
        unattributed=report.unattributed and _months(report.unattributed),
        unmatched=None
        if report.unmatched is None
        else [
            UnmatchedSpend(f"{month:%Y-%m}", float(spend))
            for month, spend in zip(report.months, report.unmatched, strict=True)
        ],
        as_of=f"{report.today}",
        timezone=report.timezone,
        currency=report.currency,
        left_out_money=describe_left_out(report.left_out_money),
        left_out_spend=describe_left_out_spend(report.left_out_spend),
        cost_rate=_number(report.cost_rate),
        group_by=None if report.group is None else str(report.group),
        attribution_model=query.report.models[0],
        attribution_window=query.report.window_days,
        query_mode="company" if query.report.by_company else "profile",
        trained_model=report.trained_model and cite(report.trained_model),
    )


def _months(group: CohortGroup, *, with_key: bool = False) -> list[CohortMonth]:
    return [
        CohortMonth(
            key=group.key if with_key else UNSET,
            name=group.label if with_key else UNSET,
            month=f"{cohort.month:%Y-%m}",
            new_customers=cohort.new_customers,
            spend=_number(cohort.spend),
            cac=_number(cohort.cac),
            payback=str(cohort.payback),
            payback_month=cohort.payback_month,
            complete_months=cohort.complete_months,
            revenue=[*map(float, cohort.revenue)],
            cumulative_revenue=[*map(float, cohort.cumulative_revenue)],
            contribution=None if cohort.contribution is None else [*map(float, cohort.contribution)],
            customers=[*cohort.customers],
        )
        for cohort in group.cohorts
    ]


def filled_months(months: Iterable[CohortMonth]) -> list[CohortMonth]:
    """Omit months without new customers and spend."""
    return [month for month in months if month.new_customers or month.spend]


def _number(figure: Decimal | None) -> float | None:
    return None if figure is None else float(figure)


def cohorts_csv(report: CohortReport) -> bytes:
    """Write a line per cohort and month since, unattributed customers last."""
    keys = [report.group_by, f"{report.group_by}_name"] if report.group_by else []
    table: list[list[str | float | None]] = []
    for cohort in report.cohorts if keys else filled_months(report.totals):
        table += _lines(cohort, [cohort.key or None, cohort.name or None] if keys else [])
    if keys:
        for cohort in filled_months(report.unattributed or ()):
            table += _lines(cohort, ["", UNATTRIBUTED])
    return write_csv(["month", *keys, *_OF_COHORT, *_OF_MONTH], table)


def _lines(cohort: CohortMonth, names: Sequence[str | None]) -> Iterator[list[str | float | None]]:
    cohort_values = [getattr(cohort, name) for name in _OF_COHORT]
    contribution = cohort.contribution or [None] * len(cohort.revenue)
    months = zip(cohort.revenue, cohort.cumulative_revenue, contribution, cohort.customers, strict=True)
    for months_since, values in enumerate(months):
        complete = "true" if months_since < cohort.complete_months else "false"
        yield [cohort.month, *names, *cohort_values, months_since, complete, *values]


async def query_cohorts(connection: AsyncConnection, space_id: int, query: CohortQuery) -> CohortResult:
    """Return the cohorts of a query. Needs a fresh transaction available for CONNECTION_SECONDS.

    Raises Invalid for a broken rule, NotFound for an unknown Space, and ReportTooLarge after SECONDS or for
    too many groups.
    """
    check_cohorts(query)
    async with open_reader(connection, space_id, query.report.currency) as reader:
        report = query.report
        span = DateTimeSpan(report.start, last_second(query.last))
        observation = await plan_observation(reader, report, span)
        buckets = cut(report.span, Group.MONTH, reader.space.zone)
        months = steps(buckets, of_touch=False)
        key = await make_key(reader, observation, months)
        sums = await reader.load_cached(key, partial(_add_up, reader, observation, months))
        days = (query.first, span.end.date())
        period_spend = await load_period_spend(
            connection, space_id, days, reader.currency, report.filters.only, (Group.MONTH, *report.group_by)
        )
        keys = await _keys(reader, observation.planned, sums.groups)
        maker = CohortBuilder(report, list_months(query.first, query.last), reader, keys, period_spend).make(
            sums, query.today, observation.planned.plan.scope.trained_model
        )
        left_out = await load_left_out(reader, observation.planned)
        return replace(maker, left_out_money=left_out, left_out_spend=period_spend.left_out)


async def _add_up(reader: ReportReader, observation: ObservationPlan, months: Step) -> CohortSums:
    observed = await observe(reader, observation)
    if not observed.firsts:
        return CohortSums.join([])
    followed_parts = await run_in_thread(follow, observed.firsts, observed.events, observed.customers, months)
    plan = observed.planned.plan
    parts = await asyncio.gather(*(run_in_thread(add_up_cohorts, plan, cohort) for cohort in followed_parts))
    return CohortSums.join(parts)


async def _keys(reader: ReportReader, planned: PeriodPlan, groups: GroupSums) -> dict[int, CohortKey]:
    dimensions = planned.dimensions
    if not dimensions or not groups.groups:
        return {}
    (dimension,) = dimensions
    numbers = np.unique(groups.keys[KEY]).tolist()
    if len(numbers) > MOST_ROWS:
        raise ReportTooLarge
    await reader.bound_time()
    labels = await fetch_labels(reader.connection, reader.space.id, dimension, numbers)
    return {number: CohortKey(dimension.key_text(number), labels.get(number)) for number in numbers}
