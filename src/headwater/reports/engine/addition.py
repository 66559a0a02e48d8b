"""Sum up a batch of paths: events and their credit, by group. Pure, and fast: no Python objects per event or
touch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.attribution.paths.lookup import firsts
from headwater.attribution.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.reports.engine.chosen_events import COUNTS, STATUSES, ChosenEvents, ModelCredit, StatusSums
from headwater.reports.engine.measures import Sum, credit_sum
from headwater.reports.engine.plan import Plan, count_names, join_counts
from headwater.reports.engine.tally import NO_PAIRS, Cells, Tally
from headwater.reports.query import CREDITED, Measure

MOST_TOUCHES = 300_000
"""The approximate number of touches processed at once."""
MOST_WEIGHED = 128_000
"""Weighted touches need twice the memory."""


@dataclass(frozen=True)
class PieceSums:
    groups: Tally
    statuses: Mapping[str, Tally]
    """Sums over whole events by model, keyed by index in STATUSES."""
    names: Mapping[str, int]
    """Event counts by name."""

    @classmethod
    def join(cls, parts: Sequence[PieceSums]) -> PieceSums | None:
        if len(parts) <= 1:
            return parts[0] if parts else None
        statuses = {
            model: Tally.join([part.statuses[model] for part in parts]) for model in parts[0].statuses
        }
        names = join_counts(part.names for part in parts)
        return PieceSums(Tally.join([part.groups for part in parts]), statuses, names)

    def negated(self) -> PieceSums:
        """Return the sums to subtract these from others. Names aren't subtracted."""
        statuses = {model: tally.negated() for model, tally in self.statuses.items()}
        return PieceSums(self.groups.negated(), statuses, {})


def add_up(plans: Sequence[Plan], paths: PathData) -> list[PieceSums | None]:
    """Return the sums of a batch for each plan; None without events."""
    most = MOST_WEIGHED if any(plan.is_weighed for plan in plans) else MOST_TOUCHES
    if paths.touches <= most or Column.STARTS not in paths.columns:
        return _add_up(plans, paths)
    by_part = [_add_up(plans, part) for part in paths.parts(-(-paths.touches // most))]
    return [PieceSums.join([each for each in sums if each]) for sums in zip(*by_part, strict=True)]


def _add_up(plans: Sequence[Plan], paths: PathData) -> list[PieceSums | None]:
    """Plans of one scope share the selected events and their credit."""
    uses = Counter(plan.scope for plan in plans)
    chosen = {scope: ChosenEvents.of(scope, paths, keeps=count > 1) for scope, count in uses.items()}
    return [add_up_events(plan, chosen[plan.scope]) if chosen[plan.scope].count else None for plan in plans]


def add_up_events(plan: Plan, events: ChosenEvents) -> PieceSums:
    return _Addition(plan, events).sums()


class _Addition:
    def __init__(self, plan: Plan, events: ChosenEvents) -> None:
        self._plan, self._events = plan, events
        self._by_group: list[Tally] = []
        self._counted: BoolArray | None = None
        """A mask of events with a selected touch; None means all."""
        if events.counted_touches is not None:
            self._counted = np.zeros(events.count, dtype=np.bool_)

    def sums(self) -> PieceSums:
        plan, statuses = self._plan, dict[str, Tally]()
        for model in plan.query.models:
            credit = self._events.credit(model) if plan.is_about_touches else None
            if not statuses:
                self._add_whole_events(credit)
            if credit is not None:
                self._add_credit(credit)
            statuses[model] = self._by_status(credit)
        if plan.is_about_touches and plan.touched:
            self._add_touched()
        names = count_names(self._events.paths, self._counted)
        return PieceSums(Tally.join(self._by_group), statuses, names)

    def _add_whole_events(self, first: ModelCredit | None) -> None:
        """Add sums over whole events by group. Touch dimensions use the touches of the first model."""
        plan, events, groups = self._plan, self._events, self._plan.dimensions
        if first is None or (not plan.query.by_touch and events.counted_touches is None):
            cells, members = events.cells.by(groups), None
        elif plan.event_sums:
            members, cells = first.cells.by(groups).each_once(first.counted.events)
        elif plan.needs(Measure.CONTACTS) or not plan.credits:
            cells, members = first.cells.by(groups), first.counted.events
        else:
            return
        self._by_group.append(self._whole_events(cells, members, plan.event_sums))

    def _add_credit(self, credit: ModelCredit) -> None:
        if self._counted is not None:
            self._counted[credit.counted.events] = True
        if self._plan.credits:
            cells = credit.cells.by(self._plan.dimensions)
            self._by_group.append(
                cells.tally(
                    {
                        credit_sum(measure, credit.model): credit.sums(measure, cells)
                        for measure in self._plan.query.measures
                        if measure in CREDITED
                    }
                )
            )

    def _add_touched(self) -> None:
        events, pairs = self._events, self._events.touched.pairs
        if self._counted is not None:
            self._counted[pairs.events] = True
        cells = events.touched.cells.by(self._plan.dimensions)
        members, cells = cells.each_once(pairs.events)
        self._by_group.append(cells.tally(cells.sums(events.touched_values, members)))

    def _by_status(self, credit: ModelCredit | None) -> Tally:
        model, sums = credit.model if credit else None, self._plan.status_sums
        wanted = StatusSums(model, sums, self._plan.touched)
        by_status = self._events.by_status
        if wanted not in by_status:
            by_status[wanted] = self._sum_by_status(credit)
        return by_status[wanted]

    def _sum_by_status(self, credited: ModelCredit | None) -> Tally:
        statuses = np.full(self._events.count, COUNTS) if credited is None else credited.statuses
        cells = Cells(statuses, len(STATUSES), {0: np.arange(len(STATUSES))})
        tally = self._whole_events(cells, None, self._plan.status_sums)
        if credited is None or not self._plan.touched:
            return tally
        return Tally.join([tally, self._touched_by_status(cells)])

    def _touched_by_status(self, cells: Cells) -> Tally:
        pairs = self._events.touched.pairs.events
        touched = pairs[firsts(pairs)]
        chosen = Cells(cells.codes[touched], cells.size, cells.keys)
        return chosen.tally(chosen.sums(self._events.touched_values, touched))

    def _whole_events(self, cells: Cells, members: IntArray | None, parts: tuple[Sum, ...]) -> Tally:
        """Sum events in one or more groups. `members` has the event of each code; None means all in order."""
        events, contacts = self._events, NO_PAIRS
        if self._plan.needs(Measure.CONTACTS):
            of_events, buys = events.paths[Column.CONTACTS], events.are_no_refunds
            if members is None:
                members_buying = chosen = np.flatnonzero(buys)
            else:
                chosen = np.flatnonzero(buys[members])
                members_buying = members[chosen]
            contacts = (cells.codes[chosen], of_events[members_buying])
        sums = cells.sums({part: events.values(part) for part in parts}, members)
        return cells.tally(sums, contacts)
