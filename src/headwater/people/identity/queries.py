"""Read the stored part of a Directory, and draw the numbers of the contacts and merges that a
batch adds. Contacts themselves are stored by contacts/.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from psycopg import Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.identity.directory import CROWD, EMAIL, Contact, Directory, IdentifierLink, Merge
from headwater.people.identity.joins import WITHIN, Joins

queries = Queries(__name__, "identity.sql")

KnownLink = tuple[str, str, int, int, int]
"""Kind, value, contact id, time last seen, recency."""


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
    cursors: list[Any] = []
    if emails:
        shared = {"space_id": space_id, "values": emails}
        cursors.append(connection.execute(queries["shared_links"], shared))
    if others:
        recent = {"space_id": space_id, "keys": rows(others), "limit": CROWD + 1}
        cursors.append(connection.execute(queries["recent_links"], recent))
    return lambda: [row for cursor in cursors for row in cursor.fetchall()]


PHONE_DIGITS = 7
"""The last digits of a telephone number by which it is looked up."""
MOST_ALIKE = 200
"""The numbers that are read for one, most of which only end alike."""


def request_phones(
    connection: Connection[Any], space_id: int, phones: Iterable[str]
) -> Callable[[], list[KnownLink]]:
    """Ask for the contacts whose telephone numbers may be these; calling the result fetches
    them.
    """
    digits = {phone[-PHONE_DIGITS:] for phone in phones}
    if not digits:
        return list[KnownLink]
    values = {"space_id": space_id, "digits": list(digits), "limit": MOST_ALIKE}
    cursor = connection.execute(queries["phone_links"], values)
    return cursor.fetchall


def add_links(directory: Directory, links: Iterable[KnownLink]) -> None:
    """Put stored links on contacts the directory already holds."""
    for kind, value, contact_id, last_seen, recency in links:
        contact = directory.contacts[contact_id]
        directory.add_link(contact, (kind, value), IdentifierLink(last_seen, recency))


def request_numbers(connection: Connection[Any], directory: Directory) -> Callable[[], None]:
    """Ask for the ids of new contacts and merges; calling the result gives them out in order."""
    drawn_numbers: list[tuple[Sequence[Contact | Merge], Any]] = []
    for name, new in (("draw_contact_ids", directory.created), ("draw_merge_ids", directory.merges)):
        if new:
            drawn_numbers.append((new, connection.execute(queries[name], {"count": len(new)})))

    def number() -> None:
        for new, cursor in drawn_numbers:
            for numbered, (drawn,) in zip(new, sorted(cursor), strict=True):
                numbered.id = drawn

    return number


def request_joins(
    connection: Connection[Any], space_id: int, keys: Collection[str], since: int
) -> Callable[[], Joins]:
    """Ask for the contacts that these browsers joined in the hour before `since` (µs since 1970)
    and after; calling the result fetches them.
    """
    if not keys:
        return Joins
    values = {"space_id": space_id, "keys": list(keys), "since": since - WITHIN}
    cursor = connection.execute(queries["joins"], values)
    return lambda: Joins(cursor.fetchall())


def write_joins(connection: Connection[Any], space_id: int, joins: Joins) -> None:
    """Store the joins of a batch and count those refused, and delete what no longer counts."""
    if joins.added:
        values = [
            {"space_id": space_id, "browser": key, "contact_id": contact.final().id, "joined_at": at}
            for key, contact, at in joins.added
        ]
        oldest = min(at for _, _, at in joins.added) - WITHIN
        connection.execute(queries["forget_joins"], {"space_id": space_id, "before": oldest})
        connection.cursor().executemany(queries["add_join"], values)
    if joins.refused:
        values = [{"space_id": space_id, "at": at} for at in joins.refused.values()]
        connection.cursor().executemany(queries["count_refused_join"], values)
        connection.execute(queries["forget_refused_joins"], {"space_id": space_id})
