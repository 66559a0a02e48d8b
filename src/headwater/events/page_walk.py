"""Walks over the events of a selection, in the order of a page and from its position on: over all
of them, or only over those that the requested sources have credit of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable

from headwater.attribution.paths.credit_walk import CreditOf, CreditWalk
from headwater.attribution.query import Attribution, narrow, narrow_by_mask
from headwater.database.queries import Queries
from headwater.events.models import ListEvents
from headwater.events.order import (
    AMOUNT_KEY,
    EVENT_KEY,
    SortKey,
    beyond,
    bound_key,
    comparison,
    direction_of,
    sorted_by,
)
from headwater.http.inputs.pagination import from_key

queries = Queries(__name__, "page_walk.sql")

MOST_CANDIDATES = 5_000
"""The events with credit that a page looks at; with more, a walk over all is as good."""
_GROWTH = 4
"""After a page that is not full, so many times as many events are looked at."""
_UNTIL = SQL("e.event_time < to_timestamp(%(broken_off)s)")
_FROM = SQL("e.event_time >= to_timestamp(%(broken_off)s)")


@dataclass
class Walked:
    """The events of a request, which meet its conditions."""

    connection: AsyncConnection
    space_id: int
    request: ListEvents
    conditions: list[Composable]
    """On the selection's events; those of the position are the walk's."""
    bound: dict[str, Any]
    """What the conditions bind."""
    is_by_key: bool = False
    """Whether statements are planned to look rows up by their keys."""

    def __post_init__(self) -> None:
        at = self.request.at
        self.conditions += beyond(at, self.event_key.inside, events=True)
        if at:
            self.bound |= bound_key(at.key, by_amount=self.request.by_amount)
        if self.request.by_amount:
            self.conditions.append(SQL("e.amount IS NOT NULL"))

    @property
    def event_key(self) -> SortKey:
        return AMOUNT_KEY if self.request.by_amount else EVENT_KEY

    @property
    def backward(self) -> bool:
        return bool(self.request.at and self.request.at.backward)

    @property
    def direction(self) -> SQL:
        return direction_of(self.request.at)

    async def plan(self, *, by_key: bool) -> None:
        """Have the statements from here on planned once and for all, to look rows up by their keys,
        or else each for its own values.
        """
        if self.is_by_key is not by_key:
            await self.connection.execute(queries["by_key" if by_key else "by_values"])
            self.is_by_key = by_key


class Walk(Protocol):
    """A walk over events in the order of a page, some at a time."""

    @property
    def unmet(self) -> Sequence[Composable]:
        """The conditions that the latest events have yet to meet."""
        ...

    async def next_events(self, limit: int) -> list[int]:
        """Return the ids of the next events; none when there are no more. There should be enough
        for so many rows, unless there are fewer.
        """
        ...


def start_walk(walked: Walked) -> Walk:
    """Return the walk that finds the rows of a request with the least work."""
    attribution = walked.request.selection.attribution
    if attribution is None:
        return _EveryEvent(walked)
    if attribution.by_company or not attribution.creditable():
        return _Narrowed(walked, attribution)
    return _Credited(walked, attribution)


class _EveryEvent:
    """A walk along an index, looking at every event."""

    def __init__(self, walked: Walked) -> None:
        self._walked, self._bound = walked, dict(walked.bound)
        self._conditions = list(walked.conditions)
        self._over = False
        self.unmet: Sequence[Composable] = ()

    async def next_events(self, limit: int) -> list[int]:
        if self._over:
            return []
        key = self._walked.event_key.inside
        statement = queries["every_event"].format(
            key=SQL(", ").join(key),
            only=SQL(" AND ").join(self._conditions),
            order=sorted_by(key, self._walked.direction),
        )
        await self._walked.plan(by_key=False)
        # Not prepared: a plan that does not know the limit and the sources may not stop early.
        bound = self._bound | {"limit": limit}
        cursor = await self._walked.connection.execute(statement, bound, prepare=False)
        passed = await cursor.fetchall()
        self._over = len(passed) < limit
        if not self._over:
            self._bound |= {"seen_key": passed[-1][0], "seen_id": passed[-1][1]}
            further = SQL("({}) {} (%(seen_key)s, %(seen_id)s)")
            strictly = comparison(backward=self._walked.backward)[0]
            self._conditions.append(further.format(SQL(", ").join(key), strictly))
        return [event_id for _, event_id in passed]


class _Narrowed:
    """The same for the credit of sources: only of events whose contacts have touches of them."""

    def __init__(self, walked: Walked, attribution: Attribution, *, are_common: bool = False) -> None:
        """Contacts with touches of the sources are looked up, unless these are common."""
        self._walked, self._attribution, self._are_common = walked, attribution, are_common
        self._walk: _EveryEvent | None = None
        self.unmet: Sequence[Composable] = ()

    async def next_events(self, limit: int) -> list[int]:
        if self._walk is None:
            walked = self._walked
            await walked.plan(by_key=False)
            narrowing = (
                narrow_by_mask(self._attribution)
                if self._are_common
                else await narrow(walked.connection, walked.space_id, self._attribution)
            )
            walked.conditions.append(narrowing.only)
            walked.bound |= narrowing.parameters
            self._walk = _EveryEvent(walked)
        return await self._walk.next_events(limit)


class _Credited:
    """A walk over the events of which sources have credit. When many have been looked at and the
    page is not full, as they do not meet its conditions, it goes on along the index.
    """

    def __init__(self, walked: Walked, attribution: Attribution) -> None:
        self._walked, self._attribution = walked, attribution
        credit = CreditOf(attribution.creditable(), attribution.model, attribution.window_days)
        self._walk = CreditWalk(
            walked.connection, walked.space_id, credit, self._between(), backward=walked.backward
        )
        self._looked_at, self._rows = 0, 0
        self._rest: _Narrowed | None = None

    @property
    def unmet(self) -> Sequence[Composable]:
        return self._walked.conditions if self._rest is None else ()

    async def next_events(self, limit: int) -> list[int]:
        if self._rest is None:
            if event_ids := await self._next_credited(limit):
                return event_ids
            if self._walk.broken_off is None:
                return []
            self._rest = self._walk_over_the_rest(self._walk.broken_off)
        return await self._rest.next_events(limit)

    async def _next_credited(self, limit: int) -> list[int]:
        if self._looked_at >= MOST_CANDIDATES:
            self._walk.break_off()
        self._rows = max(limit, _GROWTH * self._rows)
        await self._walked.plan(by_key=True)
        event_ids = await self._walk.next_events(self._rows)
        self._looked_at += len(event_ids)
        return event_ids

    def _walk_over_the_rest(self, broken_off: int) -> _Narrowed:
        self._walked.conditions.append(_FROM if self._walked.backward else _UNTIL)
        self._walked.bound["broken_off"] = broken_off
        return _Narrowed(self._walked, self._attribution, are_common=self._walk.has_common)

    def _between(self) -> tuple[datetime, datetime]:
        """Return the first and the last moment of the events that are left of the time."""
        time, at = self._walked.request.selection.time, self._walked.request.at
        if at is None:
            return time.start, time.end
        position = from_key(at.key)[0]
        assert isinstance(position, datetime)
        return (position, time.end) if at.backward else (time.start, position)
