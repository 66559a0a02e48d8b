"""Adding up what cohorts brought: by month of acquisition, months since, and the group of the
touches that have credit of the first order. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from headwater.attribution.paths.path_data import IntArray
from headwater.reports.engine.cells import Cells, cells_of, crossed
from headwater.reports.engine.chosen_events import COUNTS, ChosenEvents, ModelCredit
from headwater.reports.engine.tally import Tally, WideSums
from headwater.reports.models import Measure
from headwater.reports.plan.dimensions import Dimension
from headwater.reports.plan.followed_customers import FollowedCustomers
from headwater.reports.plan.plan import Plan

REVENUE, CUSTOMERS = "revenue", "customers"
ACQUIRED, SINCE, KEY = range(3)
"""The places of a tally's keys: the month of acquisition from 1, the months since, and the group's
key.
"""


@dataclass(frozen=True)
class CohortSums:
    """Revenue and buying customers; a customer is in one of several sums that are joined."""

    groups: Tally
    """By the group of the touches that count; empty without one."""
    unattributed: Tally
    """Of those whose first order no touch has credit of."""
    total: Tally

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        return cls(
            *(
                Tally.join([getattr(part, name) for part in parts])
                for name in ("groups", "unattributed", "total")
            )
        )


def add_up_cohorts(plan: Plan, followed: FollowedCustomers) -> CohortSums:
    """Add up what some customers brought."""
    return _CohortAddition(plan, followed).sums()


class _CohortAddition:
    """The addition of one part."""

    def __init__(self, plan: Plan, followed: FollowedCustomers) -> None:
        self._plan = plan
        self._events = ChosenEvents(plan.scope, followed.paths)
        self._credit: ModelCredit = self._events.credit(plan.query.models[0])
        keys = {ACQUIRED: followed.acquired, SINCE: followed.since}
        self._by_event = cells_of(keys, self._events.count)
        self._is_buying = np.zeros(self._events.count, dtype=np.bool_)
        self._is_buying[followed.is_buying] = True

    def sums(self) -> CohortSums:
        if self._events.counted_touches is not None:
            total, unattributed = self._credited(()), Tally.join([])
        else:
            everything = np.arange(self._events.count)
            total = self._whole(everything)
            unattributed = self._whole(np.flatnonzero(self._credit.statuses != COUNTS))
        groups = [self._credited((each,)) for each in self._plan.dimensions]
        return CohortSums(Tally.join(groups), unattributed, total)

    def _credited(self, group: tuple[Dimension, ...]) -> Tally:
        """Return the sums by the month, and by the group of the touches that count."""
        counted = self._credit.counted
        codes = self._by_event.codes[counted.events]
        cells = Cells(codes, self._by_event.size, self._by_event.keys)
        if group:
            cells = crossed(cells, self._credit.cells.by(group).at_place(KEY))
        revenue = self._credit.sums(Measure.CREDITED_REVENUE, cells)
        buying = np.flatnonzero(self._is_buying[counted.events])
        customers = Cells(cells.codes[buying], cells.size, cells.keys)
        _, customers = customers.each_once(counted.events[buying])
        return cells.tally({REVENUE: revenue, CUSTOMERS: _counts(customers)})

    def _whole(self, chosen: IntArray) -> Tally:
        """Return the sums of some events, whole."""
        cells = Cells(self._by_event.codes[chosen], self._by_event.size, self._by_event.keys)
        sums = cells.sums({REVENUE: self._events.amounts}, chosen)
        buying = chosen[self._is_buying[chosen]]
        customers = Cells(self._by_event.codes[buying], cells.size, cells.keys)
        return cells.tally({**sums, CUSTOMERS: _counts(customers)})


def _counts(cells: Cells) -> WideSums:
    return WideSums.of(np.bincount(cells.codes, minlength=cells.size))
