"""Iterate over a selection's events from a page position on, in page order: all, or only those credited to
the requested sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable

from headwater.attribution.paths.credit_scan import CreditScan, SourceCredit
from headwater.attribution.query import Attribution, narrow, narrow_by_mask
from headwater.database.queries import Queries
from headwater.events.models import ListEvents
from headwater.events.order import AMOUNT_KEY, EVENT_KEY, SortKey, beyond, bound_key, comparison, sorted_by
from headwater.http.inputs.pagination import from_key, sort_direction

queries = Queries(__name__, "page_walk.sql")

MAX_CANDIDATES = 5_000
"""Credited events that a page checks. With more, scanning all events is as fast."""
_GROWTH = 4
"""Growth of the batch after a page that isn't full."""
_UNTIL = SQL("e.event_time < to_timestamp(%(stopped_at)s)")
_FROM = SQL("e.event_time >= to_timestamp(%(stopped_at)s)")


@dataclass
class PageEvents:
    connection: AsyncConnection
    space_id: int
    request: ListEvents
    conditions: list[Composable]
    bound: dict[str, Any]
    is_by_key: bool = False

    def __post_init__(self) -> None:
        position = self.request.position
        self.conditions += beyond(position, self.event_key.inside, events=True)
        if position:
            self.bound |= bound_key(position.key, by_amount=self.request.by_amount)
        if self.request.by_amount:
            self.conditions.append(SQL("e.amount IS NOT NULL"))

    @property
    def event_key(self) -> SortKey:
        return AMOUNT_KEY if self.request.by_amount else EVENT_KEY

    @property
    def backward(self) -> bool:
        return bool(self.request.position and self.request.position.backward)

    @property
    def direction(self) -> SQL:
        return sort_direction(self.request.position)

    async def plan(self, *, by_key: bool) -> None:
        """Plan once, for lookups by key, or separately for their values."""
        if self.is_by_key is not by_key:
            await self.connection.execute(queries["by_key" if by_key else "by_values"])
            self.is_by_key = by_key


def start_walk(walked: PageEvents) -> _EveryEvent | _Narrowed | _Credited:
    """Return an iterator over events in page order: `next_events` returns the next ids, enough for about
    `limit` rows, none at the end. `unmet` are conditions that these events may not meet.
    """
    attribution = walked.request.selection.attribution
    if attribution is None:
        return _EveryEvent(walked)
    if attribution.by_company or not attribution.creditable():
        return _Narrowed(walked, attribution)
    return _Credited(walked, attribution)


class _EveryEvent:
    def __init__(self, walked: PageEvents) -> None:
        self._walked, self._bound = walked, dict(walked.bound)
        self._conditions = list(walked.conditions)
        self._is_finished = False
        self.unmet: Sequence[Composable] = ()

    async def next_events(self, limit: int) -> list[int]:
        if self._is_finished:
            return []
        key = self._walked.event_key.inside
        statement = queries["every_event"].format(
            key=SQL(", ").join(key),
            condition=SQL(" AND ").join(self._conditions),
            order=sorted_by(key, self._walked.direction),
        )
        await self._walked.plan(by_key=False)
        # Not prepared: a plan that doesn't know the limit and the sources may not stop
        # early.
        bound = self._bound | {"limit": limit}
        cursor = await self._walked.connection.execute(statement, bound, prepare=False)
        keys = await cursor.fetchall()
        self._is_finished = len(keys) < limit
        if not self._is_finished:
            self._bound |= {"seen_key": keys[-1][0], "seen_id": keys[-1][1]}
            after = SQL("({}) {} (%(seen_key)s, %(seen_id)s)")
            operator = comparison(backward=self._walked.backward)[0]
            self._conditions.append(after.format(SQL(", ").join(key), operator))
        return [event_id for _, event_id in keys]


class _Narrowed:
    """Scans only events whose contacts have touches of the sources."""

    def __init__(self, walked: PageEvents, attribution: Attribution, *, are_common: bool = False) -> None:
        """Look up contacts with touches, unless the sources are common."""
        self._walked, self._attribution, self._are_common = walked, attribution, are_common
        self._walk: _EveryEvent | None = None
        self.unmet: Sequence[Composable] = ()

    async def next_events(self, limit: int) -> list[int]:
        if self._walk is None:
            page_events = self._walked
            await page_events.plan(by_key=False)
            narrowing = (
                narrow_by_mask(self._attribution)
                if self._are_common
                else await narrow(page_events.connection, page_events.space_id, self._attribution)
            )
            page_events.conditions.append(narrowing.condition)
            page_events.bound |= narrowing.parameters
            self._walk = _EveryEvent(page_events)
        return await self._walk.next_events(limit)


class _Credited:
    """Events credited to the sources. After many misses it continues with an index scan."""

    def __init__(self, walked: PageEvents, attribution: Attribution) -> None:
        self._walked, self._attribution = walked, attribution
        credit = SourceCredit(attribution.creditable(), attribution.model, attribution.window_days)
        self._walk = CreditScan(
            walked.connection, walked.space_id, credit, self._time_span(), backward=walked.backward
        )
        self._checked, self._batch_size = 0, 0
        self._remaining: _Narrowed | None = None

    @property
    def unmet(self) -> Sequence[Composable]:
        return self._walked.conditions if self._remaining is None else ()

    async def next_events(self, limit: int) -> list[int]:
        if self._remaining is None:
            if event_ids := await self._next_credited(limit):
                return event_ids
            if self._walk.stopped_at is None:
                return []
            self._remaining = self._scan_remaining(self._walk.stopped_at)
        return await self._remaining.next_events(limit)

    async def _next_credited(self, limit: int) -> list[int]:
        if self._checked >= MAX_CANDIDATES:
            self._walk.stop()
        self._batch_size = max(limit, _GROWTH * self._batch_size)
        await self._walked.plan(by_key=True)
        event_ids = await self._walk.next_events(self._batch_size)
        self._checked += len(event_ids)
        return event_ids

    def _scan_remaining(self, stopped_at: int) -> _Narrowed:
        self._walked.conditions.append(_FROM if self._walked.backward else _UNTIL)
        self._walked.bound["stopped_at"] = stopped_at
        return _Narrowed(self._walked, self._attribution, are_common=self._walk.has_common)

    def _time_span(self) -> tuple[datetime, datetime]:
        """Return the time range past the position."""
        time, position = self._walked.request.selection.time, self._walked.request.position
        if position is None:
            return time.start, time.end
        moment = from_key(position.key)[0]
        assert isinstance(moment, datetime)
        return (moment, time.end) if position.backward else (time.start, moment)
