"""Read stored touchpoints that a batch may repeat, and write its own. The caller holds the Space's lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import msgspec
from psycopg import Connection
from psycopg.sql import Composed

from headwater.database.bulk_values import array, rows
from headwater.database.queries import Queries
from headwater.events.touchpoints.models import DIRECTLY, TouchpointKey
from headwater.events.touchpoints.tag_sets import TagSets
from headwater.people.identity.senders import Sender

queries = Queries(__name__, "batch_store.sql")

REASSIGN = queries["reassign"]
"""Binds a ContactMove."""
RESTORE = queries["restore"]
"""Binds a ContactSplit."""

TAG_SET = queries["tag_set"]
"""The number of a row's tag set. The row `r` has its index among the bound `digests`."""
_WRITE, _WRITE_SOURCES = (queries[name].format(tag_set=TAG_SET) for name in ("write", "write_sources"))


class StoredTouchpoint(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    id: int
    contact_id: int
    occurred_at: int
    source_id: int
    source_rule: str
    tag_set: int | None = None
    origin_id: int | None = None
    company_id: int | None = None
    url: str | None = None
    referrer_host: str | None = None
    sent: bool = False
    by_hit: bool = False
    cookies: dict[str, str] | None = None
    warnings: list[str] | None = None
    sender: Sender = Sender.BROWSER


class TouchpointRange(msgspec.Struct, frozen=True, gc=False):
    """The part of a contact's path to load, in µs since 1970, inclusive."""

    contact_id: int
    first: int
    last: int


class StoredTouch(NamedTuple):
    """The part of a stored touch that other touches depend on."""

    contact_id: int
    id: int
    occurred_at: int
    is_direct_view: bool
    """True for a page view's touch whose source is unknown."""
    key: TouchpointKey


def request_touches(
    connection: Connection[Any], space_id: int, spans: Collection[TouchpointRange]
) -> Callable[[], Iterable[StoredTouch]]:
    """Start loading stored touches in these spans; the result fetches each once."""
    if not spans:
        return tuple
    values = {"space_id": space_id, "spans": rows(spans), "directly": DIRECTLY}
    cursor = connection.execute(queries["load"], values)

    def fetch() -> Iterable[StoredTouch]:
        touches = (StoredTouch(*row[:4], key=row[4:]) for row in cursor.fetchall())
        return {touch.id: touch for touch in touches}.values()

    return fetch


class TouchpointSource(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A stored touchpoint's new source."""

    id: int
    source_id: int
    source_rule: str
    tag_set: int | None = None


def delete_touchpoints(connection: Connection[Any], space_id: int, ids: Collection[int]) -> None:
    if ids:
        connection.execute(queries["delete"], {"space_id": space_id, "ids": list(ids)})


def write_tag_sets(connection: Connection[Any], space_id: int, tag_sets: TagSets) -> None:
    """Store the tag sets added since the last call."""
    if unwritten := tag_sets.take_unwritten():
        values = {"space_id": space_id, "tag_sets": rows(unwritten)}
        connection.execute(queries["write_tag_sets"], values)


def write_touchpoints(
    connection: Connection[Any], space_id: int, touchpoints: Collection[StoredTouchpoint], tag_sets: TagSets
) -> None:
    _write(connection, space_id, _WRITE, touchpoints, tag_sets)


def write_sources(
    connection: Connection[Any], space_id: int, sources: Collection[TouchpointSource], tag_sets: TagSets
) -> None:
    _write(connection, space_id, _WRITE_SOURCES, sources, tag_sets)


def _write(
    connection: Connection[Any],
    space_id: int,
    statement: Composed,
    touchpoints: Collection[StoredTouchpoint | TouchpointSource],
    tag_sets: TagSets,
) -> None:
    write_tag_sets(connection, space_id, tag_sets)
    if touchpoints:
        values = {"space_id": space_id, "touchpoints": rows(touchpoints), "digests": array(tag_sets.digests)}
        connection.execute(statement, values)
