"""Read stored visits of a batch's page views, and write changed ones. The caller holds the Space's lock."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec
from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import array, rows
from headwater.database.queries import Queries
from headwater.events.browsing.clicks import Clicks
from headwater.events.browsing.views import ViewOrigin
from headwater.events.touchpoints.batch_store import TAG_SET
from headwater.events.touchpoints.tag_sets import TagSets
from headwater.people.identity.moves import ContactSplit

queries = Queries(__name__, "browsing.sql")

REASSIGN_VISITS, REASSIGN_HITS = queries["reassign_visits"], queries["reassign_hits"]
"""Each binds a ContactMove."""
RESTORE_VISITS, RESTORE_HITS = queries["restore_visits"], queries["restore_hits"]
"""Each binds a ContactSplit."""
_WRITE_HITS, _WRITE_ORIGINS = (
    queries[name].format(tag_set=TAG_SET) for name in ("write_hits", "write_origins")
)


class VisitSpan(msgspec.Struct, frozen=True, gc=False):
    """A contact's browser and the open interval, in µs since 1970, of its visits."""

    contact_id: int
    device: str
    since: int
    until: int


class StoredVisit(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A visit's row. Times are in µs since 1970."""

    id: int
    contact_id: int
    device: str
    started_at: int
    last_hit_at: int
    origin_id: int | None = None
    company_id: int | None = None


class StoredHit(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A new row of a page view. Times are in µs since 1970."""

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
    tag_set: int | None = None
    """An index in the batch's TagSets."""


class HitOrigin(msgspec.Struct, frozen=True, gc=False):
    """The new origin of a stored page view."""

    id: int
    source_id: int
    touch: ViewOrigin
    tag_set: int | None


class AbsorbedVisit(msgspec.Struct, frozen=True, gc=False):
    """A stored visit merged into another, and the time span of its page views."""

    id: int
    contact_id: int
    into: int
    first: int
    last: int


def request_keys(connection: Connection[Any], space_id: int, keys: Collection[str]) -> Callable[[], set[str]]:
    if not keys:
        return set
    cursor = connection.execute(queries["find_keys"], {"space_id": space_id, "keys": list(keys)})
    return lambda: {row[0] for row in cursor.fetchall()}


def request_clicks(
    connection: Connection[Any], space_id: int, clicks: Collection[str]
) -> Callable[[], Clicks]:
    if not clicks:
        return Clicks
    values = {"space_id": space_id, "clicks": list(clicks)}
    cursor = connection.execute(queries["find_clicks"], values)

    def fetch() -> Clicks:
        clicks = Clicks()
        for row in cursor.fetchall():
            clicks.add_stored(*row)
        return clicks

    return fetch


def request_visits(
    connection: Connection[Any], space_id: int, spans: Collection[VisitSpan]
) -> Callable[[], list[tuple[Any, ...]]]:
    """Start looking up visits with relevant page views; the result fetches them."""
    values = {"space_id": space_id, "spans": rows(spans)}
    return connection.execute(queries["find_visits"], values).fetchall


def request_beginnings(
    connection: Connection[Any], space_id: int, spans: Collection[object]
) -> Callable[[], list[tuple[Any, ...]]]:
    """Start looking up page views that begin visits; the result fetches them.

    A span has a `contact_id`, and `first` and `last` in µs since 1970.
    """
    if not spans:
        return list
    values = {"space_id": space_id, "spans": rows(spans)}
    return connection.execute(queries["find_beginnings"], values).fetchall


def write_visits(
    connection: Connection[Any],
    space_id: int,
    visits: Collection[StoredVisit],
    absorbed: Collection[AbsorbedVisit],
) -> None:
    """Store visits, and merge absorbed ones. Their page views must be stored, because visits copy the origin
    of their first one.
    """
    if absorbed:
        moves = [{"space_id": space_id, **msgspec.structs.asdict(visit)} for visit in absorbed]
        connection.cursor().executemany(queries["join_hits"], moves)
    if visits:
        connection.execute(queries["write_visits"], {"space_id": space_id, "visits": rows(visits)})
    if absorbed:
        ids = [visit.id for visit in absorbed]
        connection.execute(queries["delete_visits"], {"space_id": space_id, "ids": ids})


def write_hits(
    connection: Connection[Any], space_id: int, hits: Collection[StoredHit], tag_sets: TagSets
) -> None:
    """Store page views. Their tag sets must be stored."""
    if hits:
        values = {"space_id": space_id, "hits": rows(hits), "digests": array(tag_sets.digests)}
        connection.execute(_WRITE_HITS, values)


def write_origins(
    connection: Connection[Any], space_id: int, origins: Collection[HitOrigin], tag_sets: TagSets
) -> None:
    """Change the origins of stored page views, and of visits that they begin. Their tag sets must be stored.
    The source links a page view to its touchpoint, so both must be equal.
    """
    if origins:
        values = {"space_id": space_id, "hits": rows(origins), "digests": array(tag_sets.digests)}
        connection.execute(_WRITE_ORIGINS, values)
        ids = [origin.id for origin in origins]
        connection.execute(queries["copy_origins"], {"space_id": space_id, "ids": ids})


def write_clicks(connection: Connection[Any], space_id: int, clicks: Clicks) -> None:
    sightings = [
        {"click": click, "device": device, "first_seen": first_seen}
        for click, (first_seen, device) in clicks.new.items()
    ]
    if sightings:
        connection.execute(queries["write_clicks"], {"space_id": space_id, "clicks": rows(sightings)})


async def divide_visits(connection: AsyncConnection, space_id: int, split: ContactSplit) -> None:
    """Split visits shared by a split contact and its survivor. Both must already have their companies."""
    values = split.values(space_id)
    divided = await connection.execute(queries["divide_visits"], values)
    if divided.rowcount:
        await connection.execute(queries["bound_visits"], values)
        await connection.execute(queries["copy_origins_of_divided"], values)
