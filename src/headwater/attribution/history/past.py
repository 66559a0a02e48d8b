"""Read the contacts changed since a revision, with all versions of their events and touchpoints. Needs a
transaction with one snapshot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.attribution.history.revisions import ChangeCause, unpack_ids
from headwater.attribution.history.states import (
    ALWAYS,
    NEVER,
    EventVersion,
    Family,
    MergeSpan,
    Rank,
    TouchVersion,
    gather_families,
    make_moment,
)
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all

queries = Queries(__name__, "past.sql")

Row = tuple[Any, ...]
BeforeEach = Callable[[], Awaitable[None]]


class PastSpan(Struct, frozen=True):
    revision: int
    """Read only later changes."""
    taken_at: int
    """The revision's time in Unix microseconds: later events are new, earlier ones late."""
    days: tuple[date, date]
    """UTC days of the events."""


@dataclass
class _Added:
    """The revisions that added rows, by id."""

    events: dict[int, int]
    touches: dict[int, list[int]]


class PastReader:
    def __init__(
        self, connection: AsyncConnection, space_id: int, span: PastSpan, before_each: BeforeEach
    ) -> None:
        """`before_each` is awaited before every statement."""
        self._connection, self._span, self._before_each = connection, span, before_each
        first_day, last_day = span.days
        self._values = {
            "space_id": space_id,
            "revision": span.revision,
            "first_day": first_day,
            "last_day": last_day,
        }

    async def families(self) -> list[Family]:
        """Rows become versions in threads, because a period can have a hundred thousand."""
        added_rows = await self._fetch_added()
        former_events = await self._fetch("former_events")
        former_touches = await self._fetch("former_touchpoints")
        contacts = array(await self._find_contacts(added_rows, former_events, former_touches))
        merges = [_merge_span(self._span, *row) for row in await self._fetch("merges", contact_ids=contacts)]
        events = await self._fetch("events", contact_ids=contacts)
        versions = _Versions(self._span, added_rows)
        event_versions = await asyncio.to_thread(lambda: list(versions.list_events(events, former_events)))
        if not event_versions:
            return []
        touches = await self._fetch("touchpoints", contact_ids=contacts)
        touch_versions = versions.list_touches(touches, former_touches)
        return await asyncio.to_thread(gather_families, event_versions, touch_versions, merges)

    async def _fetch_added(self) -> _Added:
        added_rows = _Added({}, {})
        for revision, event_ids, touch_ids in await self._fetch("added"):
            for event_id in unpack_ids(event_ids).tolist():
                added_rows.events[event_id] = revision
            for touch_id in unpack_ids(touch_ids).tolist():
                added_rows.touches.setdefault(touch_id, []).append(revision)
        return added_rows

    async def _find_contacts(
        self, added_rows: _Added, former_events: Sequence[Row], former_touches: Sequence[Row]
    ) -> list[int]:
        contacts = {row[1] for row in (*former_events, *former_touches)}
        for name, ids in (
            ("contacts_of_events", added_rows.events),
            ("contacts_of_touchpoints", added_rows.touches),
        ):
            if ids:
                contacts.update(row[0] for row in await self._fetch(name, ids=array(ids)))
        contacts.update(contact for pair in await self._fetch("merged_since") for contact in pair)
        return [row[0] for row in await self._fetch("survivors", ids=array(contacts))]

    async def _fetch(self, name: str, **values: Any) -> list[Row]:
        await self._before_each()
        return await fetch_all(self._connection, queries[name], self._values | values)


_RANKS = {
    ChangeCause.NEW_EVENTS: Rank.EVENTS_NEW,
    ChangeCause.LATE_EVENTS: Rank.EVENTS_LATE,
    ChangeCause.REPLACEMENTS: Rank.EVENTS_REPLACING,
}


class _Versions:
    def __init__(self, span: PastSpan, added_rows: _Added) -> None:
        self._span, self._added_rows = span, added_rows

    def list_events(
        self, current_rows: Iterable[Row], former_rows: Collection[Row]
    ) -> Iterable[EventVersion]:
        successors = {(row[10], row[8]) for row in former_rows if row[10] is not None}
        last: dict[int, int] = {}

        def version(row: Row, end: int, end_cause: ChangeCause) -> EventVersion:
            event_id, contact_id, name, occurred_at, amount, currency, is_upsell, from_page = row[:8]
            revision = self._added_rows.events.get(event_id)
            cause = ChangeCause.NEW_EVENTS if occurred_at >= self._span.taken_at else ChangeCause.LATE_EVENTS
            if (event_id, revision) in successors:
                cause = ChangeCause.REPLACEMENTS
            first_moment = ALWAYS if revision is None else make_moment(revision, _RANKS[cause])
            start = last.get(event_id, first_moment)
            last[event_id] = end
            return EventVersion(
                event_id,
                contact_id,
                name,
                occurred_at,
                amount,
                currency,
                is_upsell,
                start,
                end,
                cause,
                end_cause,
                from_page,
            )

        for row in former_rows:
            yield version(row, make_moment(row[8], Rank.EVENTS_CHANGED), ChangeCause(row[9]))
        for row in current_rows:
            yield version(row, NEVER, ChangeCause.EDITS)

    # There is a gap after a touchpoint was withdrawn until it is added again. Reclassifying leaves no gap:
    #
    #     added 3       withdrawn 5      added 8        reclassified 9
    #     ├──── former ──┤               ├─── former ────┼─── present ─────▶

    def list_touches(
        self, current_rows: Iterable[Row], former_rows: Collection[Row]
    ) -> Iterable[TouchVersion]:
        creations = {touch_id: sorted(times) for touch_id, times in self._added_rows.touches.items()}
        last: dict[int, int] = {}

        def find_start(touch_id: int, until: int) -> tuple[int, ChangeCause]:
            if touch_id in last:
                return last[touch_id], ChangeCause.CLASSIFICATION
            times = creations.get(touch_id, [])
            if times and times[0] < until:
                return make_moment(times.pop(0), Rank.TOUCHES_NEW), ChangeCause.LATE_TOUCHES
            return ALWAYS, ChangeCause.LATE_TOUCHES

        for row in former_rows:
            touch_id, contact_id, occurred_at, source_id, tag_set_id, until, cause_name = row
            cause = ChangeCause(cause_name)
            start, start_cause = find_start(touch_id, until)
            last.pop(touch_id, None)
            is_withdrawn = cause is ChangeCause.WITHDRAWN_TOUCHES
            end = make_moment(until, Rank.TOUCHES_GONE if is_withdrawn else Rank.TOUCHES_NEW)
            if not is_withdrawn:
                last[touch_id] = end
            yield TouchVersion(
                touch_id, contact_id, occurred_at, source_id, tag_set_id, start, end, start_cause, cause
            )
        for touch_id, contact_id, occurred_at, source_id, tag_set_id in current_rows:
            start, start_cause = find_start(touch_id, NEVER)
            yield TouchVersion(
                touch_id,
                contact_id,
                occurred_at,
                source_id,
                tag_set_id,
                start,
                NEVER,
                start_cause,
                ChangeCause.WITHDRAWN_TOUCHES,
            )


def _merge_span(
    span: PastSpan, merged_id: int, survivor_id: int, merged_at: int, undone: int | None
) -> MergeSpan:
    start = make_moment(merged_at, Rank.MERGED) if merged_at > span.revision else ALWAYS
    return MergeSpan(
        merged_id, survivor_id, start, NEVER if undone is None else make_moment(undone, Rank.MERGED)
    )
