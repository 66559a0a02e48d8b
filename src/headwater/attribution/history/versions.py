"""Versions of events and touchpoints, and the merges between contacts, each with the time for which
it held. Pure.

Time is counted in moments: every change has some, one for each kind of thing that it does, in the
order in which these are put down to causes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from headwater.attribution.history.causes import ChangeCause

ALWAYS, NEVER = -(1 << 62), 1 << 62
"""The moments before all others, and after."""


class Rank(IntEnum):
    """The order of what one change does. A new event finds the touches and contacts that came with
    it, so these come first and are no cause of their own. Events that come in have one for each
    cause, as one may take from another what it is to be a customer's first.
    """

    MERGED = 0
    TOUCHES_GONE = 1
    TOUCHES_NEW = 2
    EVENTS_NEW = 3
    EVENTS_LATE = 4
    EVENTS_REPLACING = 5
    EVENTS_CHANGED = 6


def moment(revision: int, rank: Rank) -> int:
    """Return the moment of a change at which it does one thing."""
    return revision * 8 + rank


class EventVersion(NamedTuple):
    """An event as it was for a time."""

    id: int
    contact_id: int
    """Whose it was at first."""
    name: str
    at: int
    """In microseconds since 1970, as all times."""
    amount: int | None
    """In ten-thousandths."""
    currency: str | None
    is_upsell: bool
    """Marked as sold on top of an order; by its name it may be so as well."""
    start: int
    """The moment from which on it was so, unless it always was."""
    end: int
    """The moment at which it was no longer so."""
    start_cause: ChangeCause
    end_cause: ChangeCause
    from_page: bool = False
    """True while only a page had reported the amount."""


class TouchVersion(NamedTuple):
    """A touchpoint as it was for a time."""

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
    """The time for which a contact was part of another."""

    merged_id: int
    survivor_id: int
    start: int
    end: int


@dataclass
class Family:
    """Contacts that were, at one time or another, one; with all that they have."""

    events: list[EventVersion] = field(default_factory=list[EventVersion])
    touches: list[TouchVersion] = field(default_factory=list[TouchVersion])
    merges: list[MergeSpan] = field(default_factory=list[MergeSpan])


class _Groups:
    """Contacts put together by the merges between them."""

    def __init__(self, merges: Iterable[MergeSpan]) -> None:
        self._above: dict[int, int] = {}
        for merge in merges:
            one, other = self.of(merge.merged_id), self.of(merge.survivor_id)
            self._above[max(one, other)] = min(one, other)

    def of(self, contact_id: int) -> int:
        """Return the least contact of a contact's group, as far as is known."""
        path = [contact_id]
        while (above := self._above.get(path[-1], path[-1])) != path[-1]:
            path.append(above)
        for passed in path:
            self._above[passed] = path[-1]
        return path[-1]


def gather_families(
    events: Iterable[EventVersion], touches: Iterable[TouchVersion], merges: Sequence[MergeSpan]
) -> list[Family]:
    """Return what belongs together; what has no event is left out."""
    groups = _Groups(merges)
    families: dict[int, Family] = {}
    for event in events:
        families.setdefault(groups.of(event.contact_id), Family()).events.append(event)
    for touch in touches:
        if (family := families.get(groups.of(touch.contact_id))) is not None:
            family.touches.append(touch)
    for merge in merges:
        if (family := families.get(groups.of(merge.merged_id))) is not None:
            family.merges.append(merge)
    return list(families.values())


def survivor_of(contact_id: int, survivors: Mapping[int, int]) -> int:
    """Return the contact that one is part of, by who was merged into whom."""
    while contact_id in survivors:
        contact_id = survivors[contact_id]
    return contact_id
