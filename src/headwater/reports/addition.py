"""Adding up a piece of the paths: its events and their credit, by group. Pure, and without Python
objects per event or touch, so that a million events take a blink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headwater.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.reports.cells import Cells
from headwater.reports.chosen_events import (
    COUNTS,
    STATUSES,
    ChosenEvents,
    ModelCredit,
    StatusSums,
)
from headwater.reports.forms import Sum, credit_sum
from headwater.reports.models import CREDITED, Measure
from headwater.reports.order import firsts
from headwater.reports.plan import Plan, ReportScope
from headwater.reports.selection import count_names
from headwater.reports.tally import NO_PAIRS, Tally


@dataclass(frozen=True)
class PieceSums:
    """The sums of a piece of the paths."""

    groups: Tally
    statuses: Mapping[str, Tally]
    """By model: whole events by what became of them, keyed by the place in STATUSES."""
    names: Mapping[str, int]
    """How many events have each name."""

    def shifted(self, by: Mapping[int, int]) -> PieceSums:
        """Return the same sums of other steps: at some places, later by a number."""
        return replace(self, groups=self.groups.shifted(by)) if any(by.values()) else self

    def negated(self) -> PieceSums:
        """Return what takes these sums away from others; it names no events."""
        statuses = {model: tally.negated() for model, tally in self.statuses.items()}
        return PieceSums(self.groups.negated(), statuses, {})


def add_up(plans: Sequence[Plan], paths: PathData) -> list[PieceSums | None]:
    """Add up the events of a piece for each plan; None is of no event. What plans of one scope have
    in common, the choice of events and the credit of touches, is worked out once.
    """
    chosen: dict[ReportScope, ChosenEvents] = {}
    for plan in plans:
        if plan.scope not in chosen:
            chosen[plan.scope] = ChosenEvents.of(plan.scope, paths)
    return [
        add_up_events(plan, chosen[plan.scope]) if chosen[plan.scope].count else None
        for plan in plans
    ]


def add_up_events(plan: Plan, events: ChosenEvents) -> PieceSums:
    """Add up the events of a piece that are in the plan's scope."""
    return _Addition(plan, events).sums()


class _Addition:
    """The addition of one piece for one plan."""

    def __init__(self, plan: Plan, events: ChosenEvents) -> None:
        self._plan, self._events = plan, events
        self._credits: Mapping[str, ModelCredit] = events.credits if plan.is_about_touches else {}

    def sums(self) -> PieceSums:
        statuses = {model: self._by_status(model) for model in self._plan.query.models}
        names = count_names(self._events.paths, self._counted())
        return PieceSums(self._groups(), statuses, names)

    def _counted(self) -> BoolArray | None:
        """Return which events are added up: of some touches, those with such a touch. None is
        all.
        """
        events = self._events
        if events.counted_touches is None:
            return None
        pairs = [credited.counted for credited in self._credits.values()]
        pairs += [events.touched] if self._plan.touched else []
        counted = np.zeros(events.count, dtype=np.bool_)
        for some in pairs:
            counted[some.events] = True
        return counted

    def _by_status(self, model: str) -> Tally:
        """Return the sums of whole events by what became of them, which plans of a scope share."""
        credited, sums = self._credits.get(model), self._plan.status_sums
        wanted = StatusSums(model if credited else None, sums, self._plan.touched)
        by_status = self._events.by_status
        if wanted not in by_status:
            by_status[wanted] = self._sum_by_status(credited)
        return by_status[wanted]

    def _sum_by_status(self, credited: ModelCredit | None) -> Tally:
        statuses = np.full(self._events.count, COUNTS) if credited is None else credited.statuses
        cells = Cells(statuses, len(STATUSES), {0: np.arange(len(STATUSES))})
        tally = self._whole_events(cells, None, self._plan.status_sums)
        if credited is None or not self._plan.touched:
            return tally
        return Tally.join([tally, self._touched_by_status(cells)])

    def _touched_by_status(self, cells: Cells) -> Tally:
        pairs = self._events.touched.events
        touched = pairs[firsts(pairs)]
        chosen = Cells(cells.codes[touched], cells.size, cells.keys)
        return chosen.tally(chosen.sums(self._events.touched_values, touched))

    def _groups(self) -> Tally:
        """Return all sums by the groups of the report."""
        plan, events = self._plan, self._events
        groups = plan.dimensions
        first = next(iter(self._credits.values()), None)
        tallies: list[Tally] = []
        if first is None or (not plan.query.by_touch and events.counted_touches is None):
            tallies.append(self._whole_events(events.cells.by(groups), None, plan.event_sums))
        elif plan.event_sums or plan.needs(Measure.CONTACTS) or not plan.credits:
            members, cells = first.counted.events, first.cells.by(groups)
            if plan.event_sums:  # contacts are each counted once anyway
                members, cells = cells.each_once(members)
            tallies.append(self._whole_events(cells, members, plan.event_sums))
        for credited in self._credits.values() if plan.credits else ():
            cells = credited.cells.by(groups)
            tallies.append(cells.tally({
                credit_sum(measure, credited.model): credited.sums(measure, cells)
                for measure in plan.query.measures
                if measure in CREDITED
            }))  # fmt: skip
        if self._credits and plan.touched:
            members, cells = events.touched_cells.by(groups).each_once(events.touched.events)
            tallies.append(cells.tally(cells.sums(events.touched_values, members)))
        return Tally.join(tallies)

    def _whole_events(
        self, cells: Cells, members: IntArray | None, parts: tuple[Sum, ...]
    ) -> Tally:
        """Return sums over events, each in a cell or in several: `members` has the event of each
        code; None is all events, in order.
        """
        events, contacts = self._events, NO_PAIRS
        if self._plan.needs(Measure.CONTACTS):
            of_events, buys = events.paths[Column.CONTACTS], events.amounts >= 0
            if members is None:
                members_buying = chosen = np.flatnonzero(buys)
            else:
                chosen = np.flatnonzero(buys[members])
                members_buying = members[chosen]
            contacts = (cells.codes[chosen], of_events[members_buying])
        sums = cells.sums({part: events.values(part) for part in parts}, members)
        return cells.tally(sums, contacts)
