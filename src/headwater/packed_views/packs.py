"""Read and change the rows of packed page views. Whoever shows page views reads them here and hands
them to the statement that reads the others, both in a transaction that sees the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.identity.moves import ContactSplit
from headwater.packed_views.form import (
    LONGEST_SPAN,
    MOST_IDS,
    OldView,
    ViewPack,
    keys_of,
    pack,
    unpack,
)

queries = Queries(__name__, "packs.sql")

JOIN, REASSIGN, RESTORE = queries["join"], queries["reassign"], queries["restore"]
"""The first binds an AbsorbedVisit, the second a ContactMove, the third a ContactSplit."""

CLOCKS_DIFFER = 10 * 60 * 1_000_000
"""In µs, by how much the time of a page view may differ when it is reported again."""

_SPAN = timedelta(microseconds=LONGEST_SPAN)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class ContactSpan(msgspec.Struct, frozen=True, gc=False):
    """A contact and a span of time, in µs since 1970."""

    contact_id: int
    first: int
    last: int


def write(connection: Connection[Any], space_id: int, views: Iterable[OldView]) -> None:
    """Store page views packed. The rows of their own are still to be deleted."""
    values = {"space_id": space_id, "packs": rows(pack(views))}
    connection.execute(queries["write"], values)


def read_first(connection: Connection[Any], space_id: int, most: int) -> list[tuple[int, int, int]]:
    """Return the ids of the rows whose views arrived first, and when their first and last views
    were, in µs since 1970.
    """
    values = {"space_id": space_id, "most": most}
    return connection.execute(queries["first"], values).fetchall()


def delete(connection: Connection[Any], space_id: int, ids: Collection[int]) -> None:
    """Delete rows by their ids."""
    connection.execute(queries["delete"], {"space_id": space_id, "ids": list(ids)})


def find_keys(
    connection: Connection[Any], space_id: int, spans: Collection[ContactSpan]
) -> set[str]:
    """Return the keys of packed page views near these spans."""
    if not spans:
        return set()
    values = {"space_id": space_id, "spans": rows(spans)}
    bodies = connection.execute(queries["bodies_near"], values).fetchall()
    return {key for (body,) in bodies for key in keys_of(body)}


async def read_before(
    connection: AsyncConnection, space_id: int, contact_id: int, moment: datetime | None, most: int
) -> list[OldView]:
    """Return packed page views of a contact: the last `most` until a moment are among them."""
    until = _LAST if moment is None else moment
    since = await _edge(connection, "edge_before", space_id, contact_id, until, most)
    last = until if until > _LAST - _SPAN else until + _SPAN
    return await _read(connection, space_id, contact_id, since or _FIRST, last)


async def read_after(
    connection: AsyncConnection, space_id: int, contact_id: int, moment: datetime, most: int
) -> list[OldView]:
    """Return packed page views of a contact: the first `most` from a moment on are among them."""
    until = await _edge(connection, "edge_after", space_id, contact_id, moment, most)
    last = _LAST if until is None else until + _SPAN
    return await _read(connection, space_id, contact_id, moment, last)


async def _edge(
    connection: AsyncConnection,
    side: str,
    space_id: int,
    contact_id: int,
    moment: datetime,
    most: int,
) -> datetime | None:
    values = {"space_id": space_id, "contact_id": contact_id, "moment": moment, "most": most}
    row = await fetch_optional(connection, queries[side], values)
    return row[0] if row is not None else None


async def _read(
    connection: AsyncConnection, space_id: int, contact_id: int, first: datetime, last: datetime
) -> list[OldView]:
    values = {"space_id": space_id, "contact_id": contact_id, "first": first, "last": last}
    return await _fetch(connection, "between", values)


async def has_view(connection: AsyncConnection, space_id: int, receipt_id: int) -> bool:
    """Return whether a receipt is that of a packed page view."""
    values = {"space_id": space_id, "id": receipt_id, "most_ids": MOST_IDS}
    views = await _fetch(connection, "around", values)
    return any(view.id == receipt_id for view in views)


async def find_receipts(
    connection: AsyncConnection, space_id: int, contact_id: int, receipt_ids: Collection[int]
) -> set[int]:
    """Return those of some receipts that are packed page views of a contact, or of others that it
    was one with.
    """
    if not receipt_ids:
        return set()
    values = {"space_id": space_id, "contact_id": contact_id, "ids": list(receipt_ids)}
    views = await _fetch(connection, "of_receipts", values)
    return {view.id for view in views}.intersection(receipt_ids)


async def _fetch(
    connection: AsyncConnection, statement: str, values: dict[str, Any]
) -> list[OldView]:
    packed = await _fetch_rows(connection, statement, values)
    return [view for row in packed for view in unpack(row)]


async def _fetch_rows(
    connection: AsyncConnection, statement: str, values: dict[str, Any]
) -> list[ViewPack]:
    cursor = connection.cursor(row_factory=class_row(ViewPack))
    query = queries[statement].format(columns=queries["columns"])
    return await fetch_all(cursor, query, values)


async def take_out_stray(
    connection: AsyncConnection, space_id: int, split: ContactSplit
) -> list[OldView]:
    """Take the page views out of their rows that are not where their visit is, so that this can be
    divided, and return them: they are to be stored singly.
    """
    stray = await _fetch_rows(connection, "stray", split.values(space_id))
    if stray:
        ids = [row.id for row in stray]
        await connection.execute(queries["delete"], {"space_id": space_id, "ids": ids})
    return [view for row in stray for view in unpack(row)]
