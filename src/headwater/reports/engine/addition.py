"""Sum events and credit of a batch of paths by group. Pure, and without Python objects per event or touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.lookup import firsts
from headwater.attribution.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.reports.engine.chosen_events import COUNTS, STATUSES, ChosenEvents, ModelCredit, StatusSums
from headwater.reports.engine.group_sums import NO_PAIRS, Grouping, GroupSums
from headwater.reports.engine.measures import Sum, credit_sum
from headwater.reports.engine.plan import Plan, count_names, join_counts, touches_in_window
from headwater.reports.query import Measure

MOST_TOUCHES = 300_000
"""Approximate touches processed at once."""
MOST_WEIGHED = 128_000
"""Weighted touches need twice the memory."""


class BatchSums(Struct, frozen=True):
    groups: GroupSums
    statuses: Mapping[str, GroupSums]
    """By model, keyed by index in STATUSES."""
    names: Mapping[str, int]

    @classmethod
    def join(cls, parts: Sequence[BatchSums]) -> BatchSums | None:
        if len(parts) <= 1:
            return parts[0] if parts else None
        statuses = {
            model: GroupSums.join([sums.statuses[model] for sums in parts]) for model in parts[0].statuses
        }
        names = join_counts(sums.names for sums in parts)
        return BatchSums(GroupSums.join([sums.groups for sums in parts]), statuses, names)

    def negated(self) -> BatchSums:
        """Return sums to subtract, without names."""
        statuses = {model: group_sums.negated() for model, group_sums in self.statuses.items()}
        return BatchSums(self.groups.negated(), statuses, {})


def add_up(plans: Sequence[Plan], paths: PathData) -> list[BatchSums | None]:
    """Return each plan's sums; None without events."""
    max_touches = MOST_WEIGHED if any(plan.is_weighed for plan in plans) else MOST_TOUCHES
    touches = _count_touches(plans, paths)
    if touches <= max_touches or Column.STARTS not in paths.columns:
        return _add_up(plans, paths)
    by_part = [_add_up(plans, section) for section in paths.parts(-(-touches // max_touches))]
    return [
        BatchSums.join([sums_of_piece for sums_of_piece in sums if sums_of_piece])
        for sums in zip(*by_part, strict=True)
    ]


def _count_touches(plans: Sequence[Plan], paths: PathData) -> int:
    """Return the most touches that a plan processes. Events of a contact share stored touches, but a plan
    that credits each touch processes them once for each event.
    """
    windows = {plan.query.window_days for plan in plans if plan.credits_each}
    credited = (int(touches_in_window(paths, days).lengths.sum()) for days in windows)
    return max([paths.touches, *credited])


def _add_up(plans: Sequence[Plan], paths: PathData) -> list[BatchSums | None]:
    """Plans of one scope share the selected events and their credit."""
    uses = Counter(plan.scope for plan in plans)
    chosen_events = {scope: ChosenEvents.of(scope, paths, keeps=count > 1) for scope, count in uses.items()}
    return [
        add_up_events(plan, chosen_events[plan.scope]) if chosen_events[plan.scope].count else None
        for plan in plans
    ]


def add_up_events(plan: Plan, events: ChosenEvents) -> BatchSums:
    return _Addition(plan, events).sums()


class _Addition:
    def __init__(self, plan: Plan, events: ChosenEvents) -> None:
        self._plan, self._events = plan, events
        self._by_group: list[GroupSums] = []
        self._is_counted: BoolArray | None = None
        """A mask of events with a selected touch; None means all."""
        if events.counted_touches is not None:
            self._is_counted = np.zeros(events.count, dtype=np.bool_)

    def sums(self) -> BatchSums:
        plan, statuses = self._plan, dict[str, GroupSums]()
        for model in plan.query.models:
            credit = self._events.credit(model) if plan.is_about_touches else None
            if not statuses:
                self._add_whole_events(credit)
            if credit is not None:
                self._add_credit(credit)
            statuses[model] = self._by_status(credit)
        if plan.is_about_touches and plan.touched:
            self._add_touched()
        names = count_names(self._events.paths, self._is_counted)
        return BatchSums(GroupSums.join(self._by_group), statuses, names)

    def _add_whole_events(self, first: ModelCredit | None) -> None:
        plan, events, groups = self._plan, self._events, self._plan.dimensions
        if first is None or (not plan.query.by_touch and events.counted_touches is None):
            grouping, members = events.groupings.combine(groups), None
        elif plan.event_sums:
            members, grouping = first.groupings.combine(groups).distinct_pairs(first.counted_pairs.events)
        elif plan.needs(Measure.CONTACTS) or not plan.credits:
            grouping, members = first.groupings.combine(groups), first.counted_pairs.events
        else:
            return
        self._by_group.append(self._whole_events(grouping, members, plan.event_sums))

    def _add_credit(self, credit: ModelCredit) -> None:
        if self._is_counted is not None:
            self._is_counted[credit.counted_pairs.events] = True
        if self._plan.credits:
            grouping = credit.groupings.combine(self._plan.dimensions)
            self._by_group.append(
                grouping.to_group_sums(
                    {
                        credit_sum(measure, credit.model): credit.sums(measure, grouping)
                        for measure in self._plan.credited
                    }
                )
            )

    def _add_touched(self) -> None:
        events, pairs = self._events, self._events.touched.pairs
        if self._is_counted is not None:
            self._is_counted[pairs.events] = True
        grouping = events.touched.groupings.combine(self._plan.dimensions)
        members, grouping = grouping.distinct_pairs(pairs.events)
        self._by_group.append(grouping.to_group_sums(grouping.sums(events.touched_values, members)))

    def _by_status(self, credit: ModelCredit | None) -> GroupSums:
        model, sums = credit.model if credit else None, self._plan.status_sums
        key = StatusSums(model, sums, self._plan.touched)
        by_status = self._events.by_status
        if key not in by_status:
            by_status[key] = self._sum_by_status(credit)
        return by_status[key]

    def _sum_by_status(self, credited: ModelCredit | None) -> GroupSums:
        statuses = np.full(self._events.count, COUNTS) if credited is None else credited.statuses
        grouping = Grouping(statuses, len(STATUSES), {0: np.arange(len(STATUSES))})
        group_sums = self._whole_events(grouping, None, self._plan.status_sums)
        if credited is None or not self._plan.touched:
            return group_sums
        return GroupSums.join([group_sums, self._touched_by_status(grouping)])

    def _touched_by_status(self, grouping: Grouping) -> GroupSums:
        pairs = self._events.touched.pairs.events
        touched_events = pairs[firsts(pairs)]
        touched_grouping = Grouping(grouping.codes[touched_events], grouping.size, grouping.keys)
        return touched_grouping.to_group_sums(
            touched_grouping.sums(self._events.touched_values, touched_events)
        )

    def _whole_events(
        self, grouping: Grouping, members: IntArray | None, parts: tuple[Sum, ...]
    ) -> GroupSums:
        """Sum events by group. `members` has the event of each code; None means all in order."""
        events, contacts = self._events, NO_PAIRS
        if self._plan.needs(Measure.CONTACTS):
            event_contacts, buys = events.paths[Column.CONTACTS], events.are_no_refunds
            if members is None:
                members_buying = buying_indexes = np.flatnonzero(buys)
            else:
                buying_indexes = np.flatnonzero(buys[members])
                members_buying = members[buying_indexes]
            contacts = (grouping.codes[buying_indexes], event_contacts[members_buying])
        sums = grouping.sums({column_sums: events.values(column_sums) for column_sums in parts}, members)
        return grouping.to_group_sums(sums, contacts)
