"""Adding up a piece of the paths: its events and their credit, by group. Pure, and without Python
objects per event or touch, so that a million events take a blink.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headwater.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.reports.cells import Cells, event_cells, paired, touch_cells
from headwater.reports.chosen_events import COUNTS, STATUSES, ChosenEvents, ModelCredit
from headwater.reports.forms import Sum, credit_sum
from headwater.reports.models import CREDITED, Measure
from headwater.reports.order import firsts
from headwater.reports.plan import Plan
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


def add_up(plan: Plan, paths: PathData) -> PieceSums:
    """Add up the events of a piece that the report is about."""
    return add_up_events(ChosenEvents.of(plan, paths))


def add_up_events(events: ChosenEvents) -> PieceSums:
    """Add up the events of a piece."""
    models = events.plan.query.models
    statuses = {model: _by_status(events, events.credits.get(model)) for model in models}
    return PieceSums(_groups(events), statuses, count_names(events.paths, _counted(events)))


def _counted(events: ChosenEvents) -> BoolArray | None:
    """Return which events are added up: of some touches, those with such a touch. None is all."""
    if events.counted_touches is None:
        return None
    pairs = [credited.counted for credited in events.credits.values()]
    pairs += [events.touched] if events.plan.touched else []
    counted = np.zeros(events.count, dtype=np.bool_)
    for some in pairs:
        counted[some.events] = True
    return counted


def _by_status(events: ChosenEvents, credited: ModelCredit | None) -> Tally:
    """Return the sums of whole events by what became of them."""
    statuses = np.full(events.count, COUNTS) if credited is None else credited.statuses
    cells = Cells(statuses, len(STATUSES), {0: np.arange(len(STATUSES))})
    tally = _whole_events(events, cells, None, events.plan.status_sums)
    if credited is None or not events.plan.touched:
        return tally
    return Tally.join([tally, _touched_by_status(events, cells)])


def _touched_by_status(events: ChosenEvents, cells: Cells) -> Tally:
    pairs = events.touched.events
    touched = pairs[firsts(pairs)]
    chosen = Cells(cells.codes[touched], cells.size, cells.keys)
    return chosen.tally(chosen.sums(events.touched_values, touched))


def _groups(events: ChosenEvents) -> Tally:
    """Return all sums by the groups of the report."""
    plan, by_model = events.plan, events.credits
    by_event = event_cells(plan.dimensions, events.paths)
    by_touch = touch_cells(plan.dimensions, events.paths)
    first = next(iter(by_model.values()), None)
    tallies: list[Tally] = []
    if first is None or (not plan.query.by_touch and events.counted_touches is None):
        tallies.append(_whole_events(events, by_event, None, plan.event_sums))
    elif plan.event_sums or plan.needs(Measure.CONTACTS) or not plan.credits:
        cells = paired(by_event, by_touch, first.counted)
        members, cells = cells.each_once(first.counted.events)
        tallies.append(_whole_events(events, cells, members, plan.event_sums))
    for credited in by_model.values() if plan.credits else ():
        cells = paired(by_event, by_touch, credited.counted)
        tallies.append(cells.tally({
            credit_sum(measure, credited.model): credited.sums(measure, cells)
            for measure in plan.query.measures
            if measure in CREDITED
        }))  # fmt: skip
    if by_model and plan.touched:
        cells = paired(by_event, by_touch, events.touched)
        members, cells = cells.each_once(events.touched.events)
        tallies.append(cells.tally(cells.sums(events.touched_values, members)))
    return Tally.join(tallies)


def _whole_events(
    events: ChosenEvents, cells: Cells, members: IntArray | None, parts: tuple[Sum, ...]
) -> Tally:
    """Return sums over events, each in a cell or in several: `members` has the event of each code;
    None is all events, in order.
    """
    contacts = NO_PAIRS
    if events.plan.needs(Measure.CONTACTS):
        of_events, buys = events.paths[Column.CONTACTS], events.amounts >= 0
        if members is None:
            members_buying = chosen = np.flatnonzero(buys)
        else:
            chosen = np.flatnonzero(buys[members])
            members_buying = members[chosen]
        contacts = (cells.codes[chosen], of_events[members_buying])
    sums = cells.sums({part: events.values(part) for part in parts}, members)
    return cells.tally(sums, contacts)
