"""`GET /reports/cohorts`: customers by the month of their first order and by who has credit of it, with what
they brought month by month since, and what they had cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from psycopg import AsyncConnection

from headwater.attribution.fits.choice import CITATION_OR_NULL, FIT, ONLY_FITTED, cite
from headwater.attribution.models import MODELS
from headwater.events.parameters import EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.csv_table import CsvTable
from headwater.http.inputs.fields import one_of, whole_number, written
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.period_words import EXAMPLES
from headwater.http.openapi import (
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    Schema,
    object_schema,
)
from headwater.reports.engine.acquisition import (
    ObservationPlan,
    follow,
    identify,
    last_second,
    observe,
    plan_observation,
)
from headwater.reports.engine.dimensions import Step, steps
from headwater.reports.engine.groups import fetch_labels
from headwater.reports.engine.passes import PeriodPlan, load_left_out
from headwater.reports.engine.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.engine.tally import Tally
from headwater.reports.engine.time_buckets import cut
from headwater.reports.query import (
    MOST_ROWS,
    TOUCH_GROUPS,
    DateTimeSpan,
    Filters,
    Group,
    KeyCondition,
    Measure,
    ReportQuery,
    ReportTooLarge,
    common_rules,
    refuse_broken_rules,
)
from headwater.reports.questions.cohort_sums import (
    KEY,
    Cohort,
    CohortGroup,
    CohortKey,
    CohortMaker,
    CohortReport,
    CohortSums,
    Payback,
    add_up_cohorts,
    months_of,
)
from headwater.reports.questions.shared import (
    CURRENCY,
    DEFAULT_MODEL,
    LEFT_OUT_MONEY,
    LEFT_OUT_SPEND,
    MODEL,
    NO_GROUPS,
    TIME,
    WINDOW,
    in_digits,
    left_out_answer,
    left_out_spend_answer,
    only_parameter,
    read_keys,
    read_span,
)
from headwater.reports.questions.spent import load_spent
from headwater.spaces.models import Space

FILTER_GROUPS = (Group.SOURCE, Group.PLATFORM, Group.CHANNEL, Group.CAMPAIGN, Group.ADSET)
"""The groups whose keys a report may be narrowed by: spend has them, too."""
MOST_MONTHS = 60
"""From the first month of acquisition to the present one."""


@dataclass(frozen=True)
class CohortQuery:
    """One report of cohorts. `query_cohorts` refuses what does not fit together.

    What it has in common with a ReportQuery means the same; credit is that of first orders.
    """

    first: date
    """The first day of the first month of acquisition."""
    last: date
    """A day of the last one."""
    today: date
    """On the Space's clock; the month that it is in is not over."""
    group: Group | None = None
    """One of the groups of touches; None for no more than all together."""
    model: str = "last_touch"
    window_days: int = 30
    by_company: bool = False
    event_names: tuple[str, ...] = ()
    only: tuple[KeyCondition, ...] = ()
    """The touches whose credit counts."""
    limit: int = 50
    """The most keys of the group."""
    currency: str | None = None
    fit: str | None = None

    @property
    def filters(self) -> Filters:
        return Filters(self.event_names, only=self.only)

    @property
    def report(self) -> ReportQuery:
        """The report of everything that is observed, from the first month to the present one."""
        return ReportQuery(
            datetime(self.first.year, self.first.month, 1),  # noqa: DTZ001 - on the Space's clock
            last_second(self.today),
            (Measure.CREDITED_REVENUE,),
            () if self.group is None else (self.group,),
            (self.model,),
            self.window_days,
            self.by_company,
            self.filters,
            limit=self.limit,
            currency=self.currency,
            fit=self.fit,
        )


def check_cohorts(query: CohortQuery) -> None:
    """The same for a query of cohorts."""
    groups = {condition.group for condition in query.only}
    refuse_broken_rules(
        [
            *common_rules(query.report),
            ("attribution_model", query.model in MODELS, f"must be one of {', '.join(MODELS)}."),
            (FIT.name, query.fit is None or query.report.goes_by_fit, ONLY_FITTED),
            ("group_by", query.group in {None, *TOUCH_GROUPS}, f"must be one of {', '.join(TOUCH_GROUPS)}."),
            ("only", groups <= set(FILTER_GROUPS), f"must be of {', '.join(FILTER_GROUPS)}."),
            ("period", query.first <= query.today, "must not begin after this month."),
            (
                "period",
                query.first > query.today or len(months_of(query.first, query.today)) <= MOST_MONTHS,
                f"must begin in the latest {MOST_MONTHS} months.",
            ),
        ]
    )


UNATTRIBUTED = "unattributed"
GROUP = Parameter(
    name="group_by",
    kind=one_of([*map(str, TOUCH_GROUPS), NO_GROUPS]),
    default="source",
    description="By what the credit of the first order is shared out; none for all together.",
)
PERIOD = Parameter(
    name="period",
    kind=written({"type": "string", "maxLength": 100}, str),
    default="last 12 months",
    description=(
        "The months of first orders, in words, instead of start_date and end_date: each month that "
        f"the time touches. {EXAMPLES}."
    ),
)
ONLY_TOUCHES = only_parameter(FILTER_GROUPS, "Only the credit of these rows of groups: channel:paid, ….")
LIMIT = Parameter(
    name="limit",
    kind=whole_number(1, MOST_ROWS),
    default=20,
    description="The most keys of the group. Totals are of all.",
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
    FIT,
)


def read_cohort_query(query: Input, space: Space, now: datetime) -> CohortQuery:
    """Read the report that parameters describe. Raises Invalid with every rule they break."""
    span = read_span(query, space, now, PERIOD)
    today = now.astimezone(space.zone).date()
    group = GROUP.read(query)
    cohort_query = CohortQuery(
        span.start.date().replace(day=1),
        min(span.end.date(), max(today, span.start.date())),
        today,
        None if group in (None, NO_GROUPS) else Group(group),
        MODEL.read(query) or DEFAULT_MODEL,
        WINDOW.read(query) or 0,
        QUERY_MODE.read(query) == "company",
        EVENT_NAMES_PARAMETER.read(query),
        read_keys(query, ONLY_TOUCHES, space.sources),
        LIMIT.read(query) or 0,
        CURRENCY.read(query),
        FIT.read(query),
    )
    query.finish()
    return cohort_query


_OF_COHORT = ("new_customers", "spend", "cac", "payback", "payback_month")
_OF_MONTH = ("months_since", "complete", "revenue", "cumulative_revenue", "contribution", "customers")


def cohorts_answer(query: CohortQuery, report: CohortReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    return {
        "groups": [_group(each) for each in report.groups],
        "cohorts": [
            {"key": of.key, "name": of.label, **_cohort(each)}
            for of in report.groups
            for each in of.cohorts
            if each.new_customers or each.spend
        ],
        "left_out": report.left_out,
        "totals": [_cohort(each) for each in report.total.cohorts],
        "unattributed": report.unattributed and [_cohort(each) for each in report.unattributed.cohorts],
        "unmatched": None
        if report.unmatched is None
        else [
            {"month": f"{month:%Y-%m}", "spend": float(spend)}
            for month, spend in zip(report.months, report.unmatched, strict=True)
        ],
        "as_of": f"{report.today}",
        "timezone": report.timezone,
        "currency": report.currency,
        "left_out_money": left_out_answer(report.left_out_money),
        "left_out_spend": left_out_spend_answer(report.left_out_spend),
        "cost_rate": _number(report.cost_rate),
        "group_by": None if report.group is None else str(report.group),
        "attribution_model": query.model,
        "attribution_window": query.window_days,
        "query_mode": "company" if query.by_company else "profile",
        "fit": report.fit and cite(report.fit),
    }


def _group(of: CohortGroup) -> dict[str, Any]:
    return {
        "key": of.key,
        "name": of.label,
        "new_customers": of.new_customers,
        "spend": _number(of.spend),
        "cac": _number(of.cac),
        "revenue": _number(of.revenue),
        "contribution": _number(of.contribution),
    }


def _cohort(cohort: Cohort) -> dict[str, Any]:
    contribution = cohort.contribution
    return {
        "month": f"{cohort.month:%Y-%m}",
        "new_customers": cohort.new_customers,
        "spend": _number(cohort.spend),
        "cac": _number(cohort.cac),
        "payback": str(cohort.payback),
        "payback_month": cohort.payback_month,
        "complete_months": cohort.complete_months,
        "revenue": _numbers(cohort.revenue),
        "cumulative_revenue": _numbers(cohort.cumulative_revenue),
        "contribution": None if contribution is None else _numbers(contribution),
        "customers": list(cohort.customers),
    }


def _number(figure: Decimal | None) -> float | None:
    return None if figure is None else float(figure)


def _numbers(figures: Sequence[Decimal]) -> list[float]:
    return [float(figure) for figure in figures]


def cohorts_csv(report: CohortReport) -> bytes:
    """Return a line for every month since of every cohort; those of nobody come last."""
    keys = [str(report.group), f"{report.group}_name"] if report.group else []
    table = CsvTable(["month", *keys, *_OF_COHORT, *_OF_MONTH])
    for of in report.groups if report.group else (report.total,):
        _write(table, of, [of.key, of.label] if keys else [])
    if keys and report.unattributed is not None:
        _write(table, report.unattributed, ["", UNATTRIBUTED])
    return table.content()


def _write(table: CsvTable, of: CohortGroup, names: list[str | None]) -> None:
    for cohort in of.cohorts:
        if cohort.new_customers or cohort.spend:
            for line in _lines(cohort):
                table.add([f"{cohort.month:%Y-%m}", *names, *line])


def _lines(cohort: Cohort) -> Iterator[list[str]]:
    of_cohort = [
        in_digits(cohort.new_customers),
        in_digits(_number(cohort.spend)),
        in_digits(_number(cohort.cac)),
        str(cohort.payback),
        in_digits(cohort.payback_month),
    ]
    left = cohort.contribution or [None] * len(cohort.revenue)
    months = zip(cohort.revenue, cohort.cumulative_revenue, left, cohort.customers, strict=True)
    for since, (revenue, cumulative, contribution, customers) in enumerate(months):
        complete = "true" if since < cohort.complete_months else "false"
        money = (in_digits(_number(each)) for each in (revenue, cumulative, contribution))
        yield [*of_cohort, str(since), complete, *money, str(customers)]


_NUMBERS: Schema = {"type": "array", "items": {"type": "number"}}
_COHORT: dict[str, Schema] = {
    "month": {**TEXT, "description": "Of the first order: 2026-05."},
    "new_customers": {**WHOLE, "description": "Each once, with any part of the first order."},
    "spend": {**NUMBER_OR_NULL, "description": "Of that month."},
    "cac": NUMBER_OR_NULL,
    "payback": {"type": "string", "enum": [str(each) for each in Payback]},
    "payback_month": {
        **WHOLE_OR_NULL,
        "description": "From 0: the first until which the contribution covers the spend.",
    },
    "complete_months": {**WHOLE, "description": "Months of the lists that are over."},
    "revenue": {**_NUMBERS, "description": "By months since, from 0."},
    "cumulative_revenue": _NUMBERS,
    "contribution": {
        "type": ["array", "null"],
        "items": {"type": "number"},
        "description": "Cumulated, after cost rate and spend; null without a rate.",
    },
    "customers": {"type": "array", "items": WHOLE, "description": "Those with an order."},
}
_LIST: Schema = {"type": "array", "items": object_schema(_COHORT)}
COHORTS: Schema = object_schema(
    {
        "groups": {
            "type": "array",
            "items": object_schema(
                {
                    "key": TEXT_OR_NULL,
                    "name": TEXT_OR_NULL,
                    "new_customers": WHOLE,
                    "spend": NUMBER_OR_NULL,
                    "cac": NUMBER_OR_NULL,
                    "revenue": {"type": "number"},
                    "contribution": NUMBER_OR_NULL,
                }
            ),
        },
        "cohorts": {
            "type": "array",
            "items": object_schema({"key": TEXT_OR_NULL, "name": TEXT_OR_NULL, **_COHORT}),
        },
        "left_out": {**WHOLE, "description": "Groups beyond the limit."},
        "totals": {**_LIST, "description": "Of all customers, each once."},
        "unattributed": {
            **_LIST,
            "type": ["array", "null"],
            "description": "Of customers whose first order nobody has credit of.",
        },
        "unmatched": {
            "type": ["array", "null"],
            "items": object_schema({"month": TEXT, "spend": {"type": "number"}}),
            "description": "Spend that is in no group.",
        },
        "as_of": TEXT,
        "timezone": TEXT,
        "currency": TEXT,
        "cost_rate": NUMBER_OR_NULL,
        "left_out_money": LEFT_OUT_MONEY,
        "left_out_spend": LEFT_OUT_SPEND,
        "group_by": TEXT_OR_NULL,
        "attribution_model": TEXT,
        "attribution_window": WHOLE,
        "query_mode": TEXT,
        "fit": CITATION_OR_NULL,
    }
)


async def query_cohorts(connection: AsyncConnection, space_id: int, query: CohortQuery) -> CohortReport:
    """Return the report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS, or has too many groups.
    """
    check_cohorts(query)
    async with open_reader(connection, space_id, query.currency) as reader:
        report = query.report
        span = DateTimeSpan(report.start, last_second(query.last))
        observation = await plan_observation(reader, report, span)
        buckets = cut(DateTimeSpan(report.start, report.end), Group.MONTH, reader.space.zone)
        months = steps(buckets, of_touch=False)
        sums = await reader.remembered(
            await identify(reader, observation, months), partial(_add_up, reader, observation, months)
        )
        days = (query.first, span.end.date())
        spent = await load_spent(connection, space_id, days, reader.currency, query.only)
        keys = await _keys(reader, observation.planned, sums.groups)
        made = CohortMaker(report, months_of(query.first, query.last), reader, keys, spent).make(
            sums, query.today, observation.planned.plan.scope.fit
        )
        left_out = await load_left_out(reader, observation.planned)
        return replace(made, left_out_money=left_out, left_out_spend=spent.left_out)


async def _add_up(reader: ReportReader, observation: ObservationPlan, months: Step) -> CohortSums:
    observed = await observe(reader, observation)
    if not observed.firsts:
        return CohortSums.join([])
    followed = await in_thread(follow, observed.firsts, observed.events, observed.customers, months)
    plan = observed.planned.plan
    parts = await asyncio.gather(*(in_thread(add_up_cohorts, plan, each) for each in followed))
    return CohortSums.join(parts)


async def _keys(reader: ReportReader, planned: PeriodPlan, groups: Tally) -> dict[int, CohortKey]:
    """Return the keys that have credit of any first order, by their numbers."""
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
