"""Cohorts: customers by the month of their first order and by who has credit of it, with what they
brought month by month since, and what they had cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

import numpy as np
from psycopg import AsyncConnection

from headwater.attribution.fits.choice import ChosenFit
from headwater.attribution.paths.path_data import IntArray
from headwater.reports.cohort_models import (
    Cohort,
    CohortGroup,
    CohortQuery,
    CohortReport,
    last_second,
    months_of,
)
from headwater.reports.engine.left_out_loader import load_left_out
from headwater.reports.engine.measures import plain
from headwater.reports.engine.plan_loader import PeriodPlan
from headwater.reports.engine.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.engine.tally import Tally
from headwater.reports.errors import ReportTooLarge
from headwater.reports.models import DateTimeSpan, Group
from headwater.reports.plan.dimensions import Step, steps
from headwater.reports.plan.followed_customers import follow
from headwater.reports.plan.groups import fetch_labels
from headwater.reports.plan.time_buckets import cut
from headwater.reports.questions.acquisition_loader import (
    ObservationPlan,
    identify,
    observe,
    plan_observation,
)
from headwater.reports.questions.cohort_sums import (
    ACQUIRED,
    CUSTOMERS,
    KEY,
    REVENUE,
    SINCE,
    CohortSums,
    add_up_cohorts,
)
from headwater.reports.questions.cost_figures import MILLIONTHS
from headwater.reports.questions.spent import Key, Spent, load_spent
from headwater.reports.validation import MOST_ROWS, check_cohorts

WITHOUT_SPEND = frozenset({Group.KEYWORD, Group.LANDING_PAGE})
"""Those that the ledger does not know."""

Figures = Mapping[int, tuple[Sequence[int], Sequence[int]]]
"""By the place of the month: customers and revenue, month by month since."""


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
        made = _Maker(query, reader, keys, spent).make(sums, observation.planned.plan.scope.fit)
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


@dataclass(frozen=True)
class _Key:
    """A key of the group, as reports have it."""

    text: Key
    label: str | None


async def _keys(reader: ReportReader, planned: PeriodPlan, groups: Tally) -> dict[int, _Key]:
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
    return {number: _Key(dimension.key_text(number), labels.get(number)) for number in numbers}


class _Maker:
    """Makes a report of sums and spend."""

    def __init__(
        self, query: CohortQuery, reader: ReportReader, keys: Mapping[int, _Key], spent: Spent
    ) -> None:
        self._query, self._reader, self._spent = query, reader, spent
        self._keys = {key.text: (number, key.label) for number, key in keys.items()}
        self._months = tuple(months_of(query.first, query.last))
        self._seen = len(months_of(query.first, query.today))
        self._skipped = 0
        self._cost_rate, self._sources = reader.space.cost_rate, reader.space.sources

    def make(self, sums: CohortSums, fit: ChosenFit | None) -> CohortReport:
        query, reader, group = self._query, self._reader, self._query.group
        by_month, total = self._spent_by_month(), _figures(sums.total)
        skipped = self._empty_months(total, by_month)
        self._months, by_month = self._months[skipped:], by_month[skipped:]
        self._skipped = skipped
        groups = sorted(self._groups(sums.groups, by_month), key=_order)
        whole = [sum(of_month.values(), Decimal(0)) for of_month in by_month]
        some = query.report.of_some_touches
        return CohortReport(
            group=group,
            groups=tuple(groups[: query.limit]),
            left_out=max(0, len(groups) - query.limit),
            total=self._group(None, None, total, whole),
            unattributed=None if some else self._group(None, None, _figures(sums.unattributed)),
            unmatched=None
            if group is None
            else tuple(plain(of_month.get(None, Decimal(0))) for of_month in by_month),
            months=self._months,
            today=query.today,
            timezone=reader.space.timezone,
            currency=reader.currency,
            cost_rate=self._cost_rate,
            fit=fit,
        )

    def _empty_months(self, total: Figures, by_month: Sequence[Mapping[Key, Decimal]]) -> int:
        """Return how many months there are before the first with an order or spend; with none at
        all, they stay.
        """
        spent = [place for place, of_month in enumerate(by_month) if any(of_month.values())]
        return min([*spent, *(place - 1 for place in total)], default=0)

    def _spent_by_month(self) -> list[dict[Key, Decimal]]:
        """Return of each month what was spent on each key; None is what is in no group."""
        of_months = self._spent.by_month()
        known = self._query.group not in WITHOUT_SPEND
        by_month: list[dict[Key, Decimal]] = []
        for month in self._months:
            spent = of_months.get(month, Spent([], self._spent.names))
            keys = spent.by_key(self._query.group if known else None, self._keys)
            money = {key: Decimal(figures[0]) / MILLIONTHS for key, figures in keys.items()}
            by_month.append(money if known else {None: sum(money.values(), Decimal(0))})
        return by_month

    def _groups(self, tally: Tally, by_month: Sequence[Mapping[Key, Decimal]]) -> Iterator[CohortGroup]:
        group = self._query.group
        if group is None:
            return
        figures = _figures_by_key(tally)
        names, known = self._spent.names_of(group), group not in WITHOUT_SPEND
        only_spent = {key for of_month in by_month for key in of_month} - {None, *self._keys}
        for key in (*self._keys, *only_spent):
            number, label = self._keys.get(key, (None, names.get(key or "", key)))
            spend = [of.get(key, Decimal(0)) if key else Decimal(0) for of in by_month]
            yield self._group(
                key,
                label,
                figures.get(number, {}) if number is not None else {},
                spend if known and self._is_apart(key) else None,
            )

    def _is_apart(self, key: Key) -> bool:
        """Return whether what was spent on a key is known apart from others."""
        is_source = self._query.group is Group.SOURCE and key is not None
        return not is_source or self._sources.is_billed_alone(str(key))

    def _group(
        self, key: Key, label: str | None, figures: Figures, spend: Sequence[Decimal] | None = None
    ) -> CohortGroup:
        cohorts: list[Cohort] = []
        for place, month in enumerate(self._months, self._skipped):
            observed = self._seen - place
            customers, revenue = figures.get(place + 1, ((), ()))
            rest = (0,) * (observed - len(customers))
            cohorts.append(
                Cohort(
                    month,
                    (*customers, *rest),
                    tuple(map(_money, (*revenue, *rest))),
                    None if spend is None else plain(spend[place - self._skipped]),
                    self._cost_rate,
                    key,
                    label,
                )
            )
        return CohortGroup(key, label, tuple(cohorts))


def _figures_by_key(tally: Tally) -> dict[int, Figures]:
    """Return the figures of each key of the group."""
    if not tally.groups:
        return {}
    order = np.argsort(tally.keys[KEY], kind="stable")
    keys, starts = np.unique(tally.keys[KEY][order], return_index=True)
    parts = np.split(order, starts[1:])
    return {key: _figures(tally, part) for key, part in zip(keys.tolist(), parts, strict=True)}


def _figures(tally: Tally, places: IntArray | None = None) -> Figures:
    """Return the figures of some groups of a tally, or of all, dense in months since."""
    figures: dict[int, tuple[list[int], list[int]]] = {}
    if not tally.groups:
        return figures
    for at in (np.arange(tally.groups) if places is None else places).tolist():
        of_month = figures.setdefault(int(tally.keys[ACQUIRED][at]), ([], []))
        since = int(tally.keys[SINCE][at])
        for values, name in zip(of_month, (CUSTOMERS, REVENUE), strict=True):
            values.extend([0] * (since + 1 - len(values)))
            values[since] = tally.sum(name).number(at)
    return figures


def _money(amount: int) -> Decimal:
    """Return an amount of ten-thousandths."""
    return plain(Decimal(amount).scaleb(-4))


def _order(group: CohortGroup) -> tuple[Decimal, Decimal, str]:
    """The most spend first, then the most revenue."""
    return -(group.spend or Decimal(0)), -group.revenue, group.key or "\U0010ffff"
