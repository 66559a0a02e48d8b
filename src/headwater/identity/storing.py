"""Reading the stored part of a Directory, and writing back what a batch changed in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from psycopg import Connection

from headwater.database.rows import rows
from headwater.database.statements import Statements
from headwater.identity.directory import CROWD, EMAIL, Contact, Directory, Link

SQL = Statements(__name__, "identity.sql")

StoredLink = tuple[str, str, int, int, int, int]
"""kind, value, contact id, recency, first and last seen."""


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
    for kind, value, contact_id, recency, first_seen, last_seen in links:
        link = Link(first_seen, last_seen, recency, touched=False)
        directory.add_link(directory.contacts[contact_id], (kind, value), link)


def write_merges(connection: Connection[Any], space_id: int, directory: Directory) -> None:
    """Bring the stored identifiers and the merge map in line with the directory's merges."""
    if not directory.merges:
        return
    merged = [
        {"merged_id": merge.loser.id, "survivor_id": merge.loser.final().id}
        for merge in directory.merges
        if not merge.loser.is_new
    ]
    if merged:
        each = [{"space_id": space_id, **pair} for pair in merged]
        for name in ("move_links", "flatten_merges"):
            connection.cursor().executemany(SQL[name], each)
    log = {"space_id": space_id, "merges": rows(_log(directory))}
    connection.execute(SQL["log_merges"], log)


def _log(directory: Directory) -> list[dict[str, object]]:
    return [
        {
            "merged_id": merge.loser.id,
            "survivor_id": merge.survivor.id,
            "cause": merge.cause,
            "receipt_id": merge.receipt_id,
        }
        for merge in directory.merges
    ]


def write_links(connection: Connection[Any], space_id: int, directory: Directory) -> None:
    """Store every link the batch made or renewed."""
    links = [
        {
            "kind": kind,
            "value": value,
            "contact_id": contact.id,
            "first_seen": link.first_seen,
            "last_seen": link.last_seen,
            "recency": link.recency,
        }
        for (kind, value), contact, link in directory.touched()
    ]
    if links:
        connection.execute(SQL["write_links"], {"space_id": space_id, "links": rows(links)})


def request_numbers(connection: Connection[Any], directory: Directory) -> Callable[[], None]:
    """Ask for the ids of new contacts; calling the result gives them out by age."""
    if not directory.created:
        return lambda: None
    cursor = connection.execute(SQL["draw_contact_ids"], {"count": len(directory.created)})
    return lambda: _number(directory.created, [row[0] for row in cursor])


def _number(contacts: list[Contact], ids: list[int]) -> None:
    for contact, number in zip(contacts, sorted(ids), strict=True):
        contact.id = number
