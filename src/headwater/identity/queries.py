"""Reading the stored part of a Directory, and writing back what a batch changed in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from psycopg import Connection

from headwater.database.json_rows import rows
from headwater.database.queries import Queries
from headwater.identity.directory import CROWD, EMAIL, Contact, Directory, IdentifierLink, Merge

queries = Queries(__name__, "identity.sql")

KnownLink = tuple[str, str, int, int, int]
"""kind, value, contact id, when last seen, recency."""


class StoredLink(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """An identifier as the batch saw it on `origin_id`. Times are µs since 1970."""

    kind: str
    value: str
    origin_id: int
    first_seen: int
    last_seen: int
    recency: int
    contact_id: int | None = None
    """The survivor, if the origin is merged by now."""
    since: int | None = None
    """The last merge of the batch before it, if there is one."""


def request_links(
    connection: Connection[Any], space_id: int, keys: Iterable[tuple[str, str]]
) -> Callable[[], list[KnownLink]]:
    """Ask for the stored links of these identifiers; calling the result fetches them."""
    emails: list[str] = []
    others: list[dict[str, str]] = []
    for kind, value in keys:
        if kind == EMAIL:
            emails.append(value)
        else:
            others.append({"kind": kind, "value": value})
    asked: list[Any] = []
    if emails:
        shared = {"space_id": space_id, "values": emails}
        asked.append(connection.execute(queries["shared_links"], shared))
    if others:
        recent = {"space_id": space_id, "keys": rows(others), "limit": CROWD + 1}
        asked.append(connection.execute(queries["recent_links"], recent))
    return lambda: [row for cursor in asked for row in cursor.fetchall()]


def add_links(directory: Directory, links: Iterable[KnownLink]) -> None:
    """Put stored links on contacts the directory already holds."""
    for kind, value, contact_id, last_seen, recency in links:
        contact = directory.contacts[contact_id]
        directory.add_link(contact, (kind, value), IdentifierLink(last_seen, recency))


def write_merges(connection: Connection[Any], space_id: int, directory: Directory) -> None:
    """Bring the stored identifiers and the merge map in line with the directory's merges."""
    merged = [
        {"merged_id": merge.loser.id, "survivor_id": merge.loser.final().id}
        for merge in directory.merges
        if not merge.loser.is_new
    ]
    if merged:
        each = [{"space_id": space_id, **pair} for pair in merged]
        for name in ("move_links", "flatten_merges"):
            connection.cursor().executemany(queries[name], each)


def write_links(connection: Connection[Any], space_id: int, directory: Directory) -> None:
    """Store every identifier the batch showed, as its contact's own."""
    since = _numbering(directory.merges)
    links = [
        StoredLink(
            kind=kind,
            value=value,
            origin_id=origin.id,
            first_seen=shown.first_seen,
            last_seen=shown.last_seen,
            recency=shown.last_receipt,
            contact_id=origin.merged_into and origin.final().id,
            since=since(shown.first_receipt),
        )
        for (kind, value), origin, shown in directory.shown()
    ]
    if links:
        values = {"space_id": space_id, "number": directory.number, "links": rows(links)}
        connection.execute(queries["write_links"], values)


def _numbering(merges: list[Merge]) -> Callable[[int], int | None]:
    """Tells the number of the last merge up to a receipt's turn, if there was one."""
    numbers = [None, *(merge.id for merge in merges)]
    receipts = [merge.receipt_id for merge in merges]
    return lambda receipt_id: numbers[bisect_right(receipts, receipt_id)]


def request_numbers(connection: Connection[Any], directory: Directory) -> Callable[[], None]:
    """Ask for the ids of new contacts and merges; calling the result gives them out in order."""
    asked: list[tuple[Sequence[Contact | Merge], Any]] = []
    for name, new in (
        ("draw_contact_ids", directory.created),
        ("draw_merge_ids", directory.merges),
    ):
        if new:
            asked.append((new, connection.execute(queries[name], {"count": len(new)})))

    def number() -> None:
        for new, cursor in asked:
            for one, (drawn,) in zip(new, sorted(cursor), strict=True):
                one.id = drawn

    return number
