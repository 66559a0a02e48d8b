"""Read the stored visits that a batch's page views belong to, and write the visits they become. The
caller holds the Space's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec
from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.events.browsing.clicks import Clicks
from headwater.events.browsing.views import ViewOrigin
from headwater.people.identity.moves import ContactSplit

queries = Queries(__name__, "browsing.sql")

REASSIGN_VISITS, REASSIGN_HITS = queries["reassign_visits"], queries["reassign_hits"]
"""Each binds a ContactMove."""
RESTORE_VISITS, RESTORE_HITS = queries["restore_visits"], queries["restore_hits"]
"""Each binds a ContactSplit."""


class VisitSpan(msgspec.Struct, frozen=True, gc=False):
    """A contact's browser, and the time in which to look for its visits, in µs since 1970: after
    `since`, and before `until`.
    """

    contact_id: int
    device: str
    since: int
    until: int


class StoredVisit(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A visit's row. Times are µs since 1970."""

    id: int
    contact_id: int
    device: str
    started_at: int
    last_hit_at: int
    origin_id: int | None = None
    company_id: int | None = None


class StoredHit(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A page view's row as it is first written. Times are µs since 1970."""

    id: int
    key: str
    contact_id: int
    visit_id: int
    occurred_at: int
    event_name: str
    url: str
    origin_id: int | None = None
    referrer_host: str | None = None
    source_id: int | None = None
    country: str | None = None
    device_type: str | None = None
    browser: str | None = None
    os: str | None = None
    language: str | None = None
    campaign: str | None = None
    touch: ViewOrigin | None = None


class AbsorbedVisit(msgspec.Struct, frozen=True, gc=False):
    """A stored visit that has become part of another, and the span of its page views."""

    id: int
    contact_id: int
    into: int
    first: int
    last: int


def request_keys(connection: Connection[Any], space_id: int, keys: Collection[str]) -> Callable[[], set[str]]:
    """Ask for the keys that stored page views have; calling the result fetches them."""
    if not keys:
        return set
    cursor = connection.execute(queries["find_keys"], {"space_id": space_id, "keys": list(keys)})
    return lambda: {row[0] for row in cursor.fetchall()}


def request_clicks(
    connection: Connection[Any], space_id: int, clicks: Collection[str]
) -> Callable[[], Clicks]:
    """Ask for stored clicks by their hashes; calling the result fetches them."""
    if not clicks:
        return Clicks
    values = {"space_id": space_id, "clicks": list(clicks)}
    cursor = connection.execute(queries["find_clicks"], values)

    def fetch() -> Clicks:
        stored = Clicks()
        for row in cursor.fetchall():
            stored.add_stored(*row)
        return stored

    return fetch


def request_visits(
    connection: Connection[Any], space_id: int, spans: Collection[VisitSpan]
) -> Callable[[], list[tuple[Any, ...]]]:
    """Ask for visits with their page views that matter; calling the result fetches the rows."""
    values = {"space_id": space_id, "spans": rows(spans)}
    return connection.execute(queries["find_visits"], values).fetchall


def request_beginnings(
    connection: Connection[Any], space_id: int, spans: Collection[object]
) -> Callable[[], list[tuple[Any, ...]]]:
    """Ask for page views that begin visits; calling the result fetches the rows. A span names a
    contact_id, and the `first` and `last` moment in µs since 1970.
    """
    if not spans:
        return list
    values = {"space_id": space_id, "spans": rows(spans)}
    return connection.execute(queries["find_beginnings"], values).fetchall


def write_visits(
    connection: Connection[Any],
    space_id: int,
    visits: Collection[StoredVisit],
    joined: Collection[AbsorbedVisit],
) -> None:
    """Store visits that are new or have grown, and put those that were joined into the others."""
    if visits:
        connection.execute(queries["write_visits"], {"space_id": space_id, "visits": rows(visits)})
    if joined:
        absorbed = [{"space_id": space_id, **msgspec.structs.asdict(visit)} for visit in joined]
        connection.cursor().executemany(queries["join_hits"], absorbed)
        gone = [visit.id for visit in joined]
        connection.execute(queries["delete_visits"], {"space_id": space_id, "ids": gone})


def write_hits(connection: Connection[Any], space_id: int, hits: Collection[StoredHit]) -> None:
    """Store new page views."""
    if hits:
        connection.execute(queries["write_hits"], {"space_id": space_id, "hits": rows(hits)})


def write_origins(connection: Connection[Any], space_id: int, origins: Mapping[int, ViewOrigin]) -> None:
    """Give stored page views, by id, other sources. Those that made a touchpoint are told from
    others by it, so it has to get the same one.
    """
    if origins:
        hits = [
            {"id": view_id, "source_id": origin.source_id, "touch": origin}
            for view_id, origin in origins.items()
        ]
        values = {"space_id": space_id, "hits": rows(hits)}
        connection.execute(queries["write_origins"], values)


def write_clicks(connection: Connection[Any], space_id: int, clicks: Clicks) -> None:
    """Store clicks that are new, or were seen earlier than the stored time."""
    new = [{"click": click, "device": device, "first_seen": at} for click, (at, device) in clicks.new.items()]
    if new:
        connection.execute(queries["write_clicks"], {"space_id": space_id, "clicks": rows(new)})


async def divide_visits(connection: AsyncConnection, space_id: int, split: ContactSplit) -> None:
    """Divide visits that have page views of a contact and of the survivor it left. Both contacts
    must have their companies already.
    """
    values = split.values(space_id)
    divided = await connection.execute(queries["divide_visits"], values)
    if divided.rowcount:
        await connection.execute(queries["bound_visits"], values)
