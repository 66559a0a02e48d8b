"""Transitions: every event whose path or amount a change has altered, as it was before and after,
and the cause. Pure.

Between two readings an event goes through states. Each step from one to the next has one cause, so
that the differences of all steps add up to the difference between the readings, whatever is
measured. Of an event of 100, by source:

    reading 1                                                           reading 2
    ────●──────────────┬──────────────────┬──────────────────┬─────────────●────
         not there   it came in late   an ad click came   a merge brought
                                       in late            an e-mail
    nobody             +100               -100
    the ad                                +100                -50
    e-mail                                                    +50
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.attribution.history.causes import ChangeCause
from headwater.attribution.history.versions import (
    ALWAYS,
    NEVER,
    EventVersion,
    Family,
    TouchVersion,
    survivor_of,
)


class FormerTouch(NamedTuple):
    """A touch on an event's path."""

    at: int
    """In microseconds since 1970."""
    source_id: int
    tag_set_id: int


class EventState(NamedTuple):
    """An event with the touches before it: all that a report reads of one."""

    contact_id: int
    name: str
    at: int
    amount: int | None
    currency: str | None
    path: tuple[FormerTouch, ...]
    is_upsell: bool = False
    is_first: bool = False
    """True of its customer's first order, where that is looked at."""
    orders_until: int = 0
    """The number of orders of its customer up to its second, counted to 2, likewise."""
    from_page: bool = False
    """True while only a page has reported the amount."""


class Transition(NamedTuple):
    """A step of one event from one state to another; None is not to be there."""

    moment: int
    cause: ChangeCause
    event_id: int
    before: EventState | None
    after: EventState | None


_SECOND = 1_000_000


def _orders_of(family: Family, names: Collection[str]) -> list[EventVersion]:
    """Return the events that are orders at one time or another, in all versions, the earliest
    version of each first.
    """
    ids = {event.id for event in family.events if (event.amount or 0) > 0}
    orders = [e for e in family.events if e.id in ids and (not names or e.name in names)]
    return sorted(orders, key=lambda order: order.start)


class _Step(NamedTuple):
    """Something that may alter the paths to several events."""

    moment: int
    cause: ChangeCause
    since: int
    """The time from which on events are concerned."""


class FamilyHistory:
    """The events of a family, and their transitions after a moment."""

    def __init__(self, family: Family, since: int, order_names: Collection[str] | None = None) -> None:
        """`order_names` are those of the orders of which the first is looked for; empty is all,
        None is that nobody looks.
        """
        self._family, self._since = family, since
        self._orders = [] if order_names is None else _orders_of(family, order_names)
        self._touches = sorted(family.touches, key=lambda touch: (touch.at, touch.id))
        self._steps = sorted(set(self._common_steps()))
        self._survivors: dict[int, Mapping[int, int]] = {}
        self._firsts: dict[int, Mapping[int, Sequence[tuple[int, int]]]] = {}
        self.work = 0
        """The number of touches that were looked at."""

    def transitions(self, first: int = ALWAYS) -> Iterator[Transition]:
        """Yield the transitions of each event from a time on, in their order."""
        versions: dict[int, list[EventVersion]] = {}
        events = (event for event in self._family.events if event.at >= first)
        for event in sorted(events, key=lambda event: event.start):
            versions.setdefault(event.id, []).append(event)
        for of_event in versions.values():
            yield from self._of_event(of_event)

    def _common_steps(self) -> Iterator[_Step]:
        for merge in self._family.merges:
            yield _Step(merge.start, ChangeCause.MERGES, ALWAYS)
            yield _Step(merge.end, ChangeCause.UNMERGES, ALWAYS)
        for touch in self._family.touches:
            yield _Step(touch.start, touch.start_cause, touch.at)
            yield _Step(touch.end, touch.end_cause, touch.at)
        yield from self._order_steps()

    def _order_steps(self) -> Iterator[_Step]:
        """Yield the steps of orders: one that comes or goes, or changes, makes others of its second
        and later the first or not.
        """
        born: dict[int, EventVersion] = {}
        for order in self._orders:
            born.setdefault(order.id, order)
            yield _Step(order.end, order.end_cause, order.at - order.at % _SECOND)
        for order in born.values():
            yield _Step(order.start, order.start_cause, order.at - order.at % _SECOND)

    def _of_event(self, versions: list[EventVersion]) -> Iterator[Transition]:
        at, event_id = versions[0].at, versions[0].id
        before = self._state(versions, self._since)
        for moment, cause in self._steps_of(versions):
            after = self._state(versions, moment)
            if after != before:
                yield Transition(moment, cause, event_id, before, after)
            before = after
        assert all(version.at == at for version in versions)

    def _steps_of(self, versions: list[EventVersion]) -> list[tuple[int, ChangeCause]]:
        """Return the moments at which the state of an event may change, in order, with causes."""
        born, at = versions[0].start, versions[0].at
        first = bisect_left(self._steps, max(born, self._since + 1), key=lambda step: step.moment)
        steps = {
            step.moment: step.cause
            for step in self._steps[first:]
            if step.since <= at and step.moment < NEVER
        }
        for version in versions:
            steps[version.end] = version.end_cause
        steps[born] = versions[0].start_cause
        return sorted((m, cause) for m, cause in steps.items() if self._since < m < NEVER)

    def _state(self, versions: list[EventVersion], moment: int) -> EventState | None:
        event = next((each for each in versions if each.start <= moment < each.end), None)
        if event is None:
            return None
        survivors = self._survivors_at(moment)
        owner = survivor_of(event.contact_id, survivors)
        path = tuple(
            FormerTouch(touch.at, touch.source_id, touch.tag_set_id)
            for touch in self._touches_until(event.at)
            if touch.start <= moment < touch.end and survivor_of(touch.contact_id, survivors) == owner
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
        """Return whether an event is its customer's first order at a moment, and how many orders
        the customer has up to its second, counted to 2.
        """
        if not self._orders:
            return False, 0
        if moment not in self._firsts:
            self._firsts[moment] = self._first_orders(moment)
        firsts = self._firsts[moment].get(owner, ())
        is_first = bool(firsts) and firsts[0][1] == event.id
        return is_first, sum(second <= event.at // _SECOND for second, _ in firsts)

    def _first_orders(self, moment: int) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Return the second and the id of every customer's first two orders: the earliest by the
        second, in one second those with the lowest ids.
        """
        firsts: dict[int, list[tuple[int, int]]] = {}
        survivors = self._survivors_at(moment)
        self.work += len(self._orders)
        for order in self._orders:
            if order.start <= moment < order.end and (order.amount or 0) > 0:
                owner = survivor_of(order.contact_id, survivors)
                place = (order.at // _SECOND, order.id)
                firsts[owner] = sorted([*firsts.get(owner, ()), place])[:2]
        return firsts

    def _touches_until(self, at: int) -> list[TouchVersion]:
        end = bisect_left(self._touches, at + 1, key=lambda touch: touch.at)
        self.work += end
        return self._touches[:end]

    def _survivors_at(self, moment: int) -> Mapping[int, int]:
        """Return who is merged into whom."""
        if moment not in self._survivors:
            self._survivors[moment] = {
                merge.merged_id: merge.survivor_id
                for merge in self._family.merges
                if merge.start <= moment < merge.end
            }
        return self._survivors[moment]
