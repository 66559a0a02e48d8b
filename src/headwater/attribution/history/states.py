"""The states of events between two revisions, each with the cause of the change. Pure.

Every transition has one cause, so the differences of all transitions add up to the difference between the
revisions for any measure. An event of 100, by source:

    revision 40                                                        revision 57
    ────●──────────────┬──────────────────┬──────────────────┬─────────────●────
         not stored    the event arrived  an ad click        a merge added
                       late               arrived late       an email click
    unattributed           +100               -100
    ad                                        +100               -50
    email                                                        +50

Times are Unix microseconds, amounts ten-thousandths. A *moment* orders all changes: each revision has one
moment for each kind of change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple

from headwater.attribution.history.revisions import ChangeCause

ALWAYS, NEVER = -(1 << 62), 1 << 62
"""Before and after all moments."""
MOMENTS = 8
"""Moments per revision."""
_SECOND = 1_000_000
_FIRST_ORDERS = 2
"""Of a customer; the others don't matter."""


class Rank(IntEnum):
    """The order of changes in one revision. A new event finds the touches and contacts that arrived with it,
    so these come first and aren't causes. New events have a rank per cause, because one can stop another from
    being a customer's first order.
    """

    MERGED = 0
    TOUCHES_GONE = 1
    TOUCHES_NEW = 2
    EVENTS_NEW = 3
    EVENTS_LATE = 4
    EVENTS_REPLACING = 5
    EVENTS_CHANGED = 6


def make_moment(revision: int, rank: Rank) -> int:
    return revision * MOMENTS + rank


class EventVersion(NamedTuple):
    id: int
    contact_id: int
    """Before any merge."""
    name: str
    at: int
    amount: int | None
    currency: str | None
    is_upsell: bool
    """Sold on top of an order; the event name can also make an upsell."""
    start: int
    end: int
    start_cause: ChangeCause
    end_cause: ChangeCause
    from_page: bool = False
    """True while only a page has reported the amount."""


class TouchVersion(NamedTuple):
    id: int
    contact_id: int
    at: int
    source_id: int
    tag_set_id: int
    start: int
    end: int
    start_cause: ChangeCause
    end_cause: ChangeCause


class MergeSpan(NamedTuple):
    """A merge of two contacts until it was undone."""

    merged_id: int
    survivor_id: int
    start: int
    end: int


@dataclass
class Family:
    """Contacts that were ever one, with events and touches."""

    events: list[EventVersion] = field(default_factory=list[EventVersion])
    touches: list[TouchVersion] = field(default_factory=list[TouchVersion])
    merges: list[MergeSpan] = field(default_factory=list[MergeSpan])


def gather_families(
    events: Iterable[EventVersion], touches: Iterable[TouchVersion], merges: Sequence[MergeSpan]
) -> list[Family]:
    """Omit families without events."""
    parents: dict[int, int] = {}
    for merge in merges:
        first_root, second_root = _find_root(merge.merged_id, parents), _find_root(merge.survivor_id, parents)
        if first_root != second_root:
            parents[max(first_root, second_root)] = min(first_root, second_root)
    families: dict[int, Family] = {}
    for event in events:
        families.setdefault(_find_root(event.contact_id, parents), Family()).events.append(event)
    for touch in touches:
        if (family := families.get(_find_root(touch.contact_id, parents))) is not None:
            family.touches.append(touch)
    for merge in merges:
        if (family := families.get(_find_root(merge.merged_id, parents))) is not None:
            family.merges.append(merge)
    return list(families.values())


def _find_root(contact_id: int, parents: dict[int, int]) -> int:
    """Return the lowest contact id of a family, and compress the path to it."""
    root = find_survivor(contact_id, parents)
    while contact_id != root:
        parents[contact_id], contact_id = root, parents[contact_id]
    return root


def find_survivor(contact_id: int, survivors: Mapping[int, int]) -> int:
    """Follow all merges."""
    while contact_id in survivors:
        contact_id = survivors[contact_id]
    return contact_id


class StateTouch(NamedTuple):
    at: int
    source_id: int
    tag_set_id: int


class EventState(NamedTuple):
    """All that reports read of an event."""

    contact_id: int
    name: str
    at: int
    amount: int | None
    currency: str | None
    path: tuple[StateTouch, ...]
    is_upsell: bool = False
    is_first: bool = False
    """A customer's first order; only if needed."""
    orders_until: int = 0
    """Up to the event's second, at most 2; only if needed."""
    from_page: bool = False
    """True while only a page has reported the amount."""


class Transition(NamedTuple):
    """None is a missing event."""

    moment: int
    cause: ChangeCause
    event_id: int
    before: EventState | None
    after: EventState | None


class _Step(NamedTuple):
    """A change that can alter the states of all events from a time on."""

    moment: int
    cause: ChangeCause
    first_time: int


class FamilyHistory:
    def __init__(
        self,
        family: Family,
        since: int,
        order_names: Collection[str] | None = None,
        window: int | None = None,
    ) -> None:
        """`order_names` are the events that can be first orders: empty means all, None skips these. Paths
        have the touches of a window before the event, in microseconds; None means all.
        """
        self._family, self._since, self._window = family, since, window
        self._orders = [] if order_names is None else _find_orders(family, order_names)
        self._orders_by_time = sorted(self._orders, key=lambda order: (order.at // _SECOND, order.id))
        self._customers = {order.contact_id for order in self._orders}
        self._touches = [
            (touch, StateTouch(touch.at, touch.source_id, touch.tag_set_id))
            for touch in sorted(family.touches, key=lambda touch: (touch.at, touch.id))
        ]
        self._steps = self._list_steps()
        self._earliest = [*accumulate((step.first_time for step in reversed(self._steps)), min)][::-1]
        """For each step, the earliest time that it or a later one alters."""
        self._survivors: dict[int, Mapping[int, int]] = {}
        self._firsts: dict[int, Mapping[int, Sequence[tuple[int, int]]]] = {}
        self.work = 0
        """Touches and orders read so far."""

    def transitions(self, first: int = ALWAYS) -> Iterator[Transition]:
        """Yield each event's transitions from a time on."""
        versions: dict[int, list[EventVersion]] = {}
        events = (event for event in self._family.events if event.at >= first)
        for event in sorted(events, key=lambda event: event.start):
            versions.setdefault(event.id, []).append(event)
        for event_id, event_versions in versions.items():
            before = self._state(event_versions, self._since)
            for moment, cause in self._find_steps(event_versions):
                after = self._state(event_versions, moment)
                if after != before:
                    yield Transition(moment, cause, event_id, before, after)
                before = after

    def _list_steps(self) -> list[_Step]:
        """Return one step for each moment and cause, in order."""
        first_times: dict[tuple[int, ChangeCause], int] = {}
        for moment, cause, first_time in self._common_steps():
            if self._since < moment < NEVER:
                key = (moment, cause)
                first_times[key] = min(first_time, first_times.get(key, NEVER))
        return sorted(_Step(*key, first_time) for key, first_time in first_times.items())

    def _common_steps(self) -> Iterator[_Step]:
        for merge in self._family.merges:
            yield _Step(merge.start, ChangeCause.MERGES, ALWAYS)
            yield _Step(merge.end, ChangeCause.UNMERGES, ALWAYS)
        for touch in self._family.touches:
            yield _Step(touch.start, touch.start_cause, touch.at)
            yield _Step(touch.end, touch.end_cause, touch.at)
        yield from self._order_steps()

    def _order_steps(self) -> Iterator[_Step]:
        """A changed order decides whether orders from its second on are first."""
        order_ids: set[int] = set()
        for order in self._orders:
            second = order.at - order.at % _SECOND
            if order.id not in order_ids:
                order_ids.add(order.id)
                yield _Step(order.start, order.start_cause, second)
            yield _Step(order.end, order.end_cause, second)

    def _find_steps(self, versions: list[EventVersion]) -> list[tuple[int, ChangeCause]]:
        """Return the moments of possible changes, in order."""
        first_moment, occurred_at = versions[0].start, versions[0].at
        index = bisect_left(self._steps, first_moment, key=lambda step: step.moment)
        steps: dict[int, ChangeCause] = {}
        while index < len(self._steps) and self._earliest[index] <= occurred_at:
            step = self._steps[index]
            if step.first_time <= occurred_at:
                steps[step.moment] = step.cause
            index += 1
        for version in versions:
            steps[version.end] = version.end_cause
        steps[first_moment] = versions[0].start_cause
        return sorted((m, cause) for m, cause in steps.items() if self._since < m < NEVER)

    def _state(self, versions: list[EventVersion], moment: int) -> EventState | None:
        event = next((version for version in versions if version.start <= moment < version.end), None)
        if event is None:
            return None
        survivors = self._survivors_at(moment)
        owner = find_survivor(event.contact_id, survivors)
        path = tuple(
            state_touch
            for touch, state_touch in self._find_touches(event.at)
            if touch.start <= moment < touch.end
            and (find_survivor(touch.contact_id, survivors) if survivors else touch.contact_id) == owner
        )
        return EventState(
            owner,
            event.name,
            event.at,
            event.amount,
            event.currency,
            path,
            event.is_upsell,
            *self._order_place(event, owner, moment),
            event.from_page,
        )

    def _order_place(self, event: EventVersion, owner: int, moment: int) -> tuple[bool, int]:
        """Return whether an event is its customer's first order, and the orders up to it, at most 2."""
        if not self._orders:
            return False, 0
        if moment not in self._firsts:
            self._firsts[moment] = self._first_orders(moment)
        first_orders = self._firsts[moment].get(owner, ())
        is_first = bool(first_orders) and first_orders[0][1] == event.id
        return is_first, sum(second <= event.at // _SECOND for second, _ in first_orders)

    def _first_orders(self, moment: int) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Return the first two orders by second, ties by id."""
        first_orders: dict[int, list[tuple[int, int]]] = {}
        survivors = self._survivors_at(moment)
        incomplete_owners = {find_survivor(contact_id, survivors) for contact_id in self._customers}
        for order in self._orders_by_time:
            if not incomplete_owners:
                break
            self.work += 1
            if order.start <= moment < order.end and (order.amount or 0) > 0:
                owner = find_survivor(order.contact_id, survivors)
                orders = first_orders.setdefault(owner, [])
                if len(orders) < _FIRST_ORDERS:
                    orders.append((order.at // _SECOND, order.id))
                if len(orders) == _FIRST_ORDERS:
                    incomplete_owners.discard(owner)
        return first_orders

    def _find_touches(self, occurred_at: int) -> list[tuple[TouchVersion, StateTouch]]:
        """Return the touches up to an event, in its window."""
        end = bisect_left(self._touches, occurred_at + 1, key=lambda touch: touch[0].at)
        first = 0
        if self._window is not None:
            first = bisect_left(self._touches, occurred_at - self._window, key=lambda touch: touch[0].at)
        self.work += end - first
        return self._touches[first:end]

    def _survivors_at(self, moment: int) -> Mapping[int, int]:
        if moment not in self._survivors:
            self._survivors[moment] = {
                merge.merged_id: merge.survivor_id
                for merge in self._family.merges
                if merge.start <= moment < merge.end
            }
        return self._survivors[moment]


def _find_orders(family: Family, names: Collection[str]) -> list[EventVersion]:
    """Return all versions of events that were ever orders, earliest first."""
    ids = {event.id for event in family.events if (event.amount or 0) > 0}
    orders = [e for e in family.events if e.id in ids and (not names or e.name in names)]
    return sorted(orders, key=lambda order: order.start)
