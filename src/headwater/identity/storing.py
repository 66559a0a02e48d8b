"""Reading the stored part of a Directory, and writing back what a batch changed in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from psycopg import Connection

from headwater.database.rows import rows
from headwater.database.statements import Statements
from headwater.identity.directory import CROWD, EMAIL, Contact, Directory, Link, Merge

SQL = Statements(__name__, "identity.sql")

StoredLink = tuple[str, str, int, int, int]
"""kind, value, contact id, when last seen, recency."""


def request_links(
    connection: Connection[Any], space_id: int, keys: Iterable[tuple[str, str]]
) -> Callable[[], list[StoredLink]]:
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
        asked.append(connection.execute(SQL["shared_links"], shared))
    if others:
        recent = {"space_id": space_id, "keys": rows(others), "limit": CROWD + 1}
        asked.append(connection.execute(SQL["recent_links"], recent))
    return lambda: [row for cursor in asked for row in cursor.fetchall()]


def add_links(directory: Directory, links: Iterable[StoredLink]) -> None:
    """Put stored links on contacts the directory already holds."""
    for kind, value, contact_id, last_seen, recency in links:
        contact = directory.contacts[contact_id]
        directory.add_link(contact, (kind, value), Link(last_seen, recency))


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
            connection.cursor().executemany(SQL[name], each)


def write_links(connection: Connection[Any], space_id: int, directory: Directory) -> None:
    """Store every identifier the batch showed, as its contact's own."""
    since = _numbering(directory)
    links = [
        {
            "kind": kind,
            "value": value,
            "contact_id": origin.final().id,
            "origin_id": origin.id,
            "first_seen": shown.first_seen,
            "last_seen": shown.last_seen,
            "since": since(shown.first_receipt),
            "recency": shown.last_receipt,
        }
        for (kind, value), origin, shown in directory.shown()
    ]
    if links:
        connection.execute(SQL["write_links"], {"space_id": space_id, "links": rows(links)})


def _numbering(directory: Directory) -> Callable[[int], int]:
    """Tells the number that stands for a receipt's turn: that of the last merge up to it."""
    numbers = [directory.number, *(merge.id for merge in directory.merges)]
    receipts = [merge.receipt_id for merge in directory.merges]
    return lambda receipt_id: numbers[bisect_right(receipts, receipt_id)]


def request_numbers(connection: Connection[Any], directory: Directory) -> Callable[[], None]:
    """Ask for the ids of new contacts and merges; calling the result gives them out in order."""
    asked: list[tuple[Sequence[Contact | Merge], Any]] = []
    for name, new in (
        ("draw_contact_ids", directory.created),
        ("draw_merge_ids", directory.merges),
    ):
        if new:
            asked.append((new, connection.execute(SQL[name], {"count": len(new)})))

    def number() -> None:
        for new, cursor in asked:
            for one, (drawn,) in zip(new, sorted(cursor), strict=True):
                one.id = drawn

    return number
