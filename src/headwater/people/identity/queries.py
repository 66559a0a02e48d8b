"""Read the stored part of a Directory, and draw new ids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from psycopg import Connection
from psycopg.sql import Literal

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.identity.directory import EMAIL, MAX_SHARED_CONTACTS, Directory, IdentifierLink
from headwater.people.identity.joins import JOIN_PERIOD, Joins

queries = Queries(__name__, "identity.sql")

_DRAW_IDS = {
    sequence: queries["draw_ids"].format(sequence=Literal(sequence))
    for sequence in ("contact_ids", "receipt_ids", "company_ids")
}

StoredLink = tuple[str, str, int, int, int]
"""Kind, value, contact id, time last seen, recency."""


def request_links(
    connection: Connection[Any], space_id: int, keys: Iterable[tuple[str, str]]
) -> Callable[[], list[StoredLink]]:
    """Start loading stored links; the result fetches them."""
    emails: list[str] = []
    other_keys: list[dict[str, str]] = []
    for kind, value in keys:
        if kind == EMAIL:
            emails.append(value)
        else:
            other_keys.append({"kind": kind, "value": value})
    cursors: list[Any] = []
    if emails:
        email_values = {"space_id": space_id, "values": emails}
        cursors.append(connection.execute(queries["shared_links"], email_values))
    if other_keys:
        recent = {"space_id": space_id, "keys": rows(other_keys), "limit": MAX_SHARED_CONTACTS + 1}
        cursors.append(connection.execute(queries["recent_links"], recent))
    return lambda: [row for cursor in cursors for row in cursor.fetchall()]


PHONE_DIGITS = 7
MAX_PHONE_MATCHES = 200


def request_phones(
    connection: Connection[Any], space_id: int, phones: Iterable[str]
) -> Callable[[], list[StoredLink]]:
    """Start loading contacts whose numbers may match; the result fetches them."""
    digits = {phone[-PHONE_DIGITS:] for phone in phones}
    if not digits:
        return list[StoredLink]
    values = {"space_id": space_id, "digits": list(digits), "limit": MAX_PHONE_MATCHES}
    return connection.execute(queries["phone_links"], values).fetchall


def add_links(directory: Directory, links: Iterable[StoredLink]) -> None:
    for kind, value, contact_id, last_seen, recency in links:
        contact = directory.contacts[contact_id]
        directory.add_link(contact, (kind, value), IdentifierLink(last_seen, recency))


class Numbered(Protocol):
    id: int


def request_ids(
    connection: Connection[Any], new_items: Mapping[str, Sequence[Numbered]]
) -> Callable[[], None]:
    """Start drawing ids from sequences for the new items of each; the result assigns them in order."""
    requests = [
        (items, connection.execute(_DRAW_IDS[sequence], {"count": len(items)}))
        for sequence, items in new_items.items()
        if items
    ]

    def assign() -> None:
        for items, cursor in requests:
            for item, (item_id,) in zip(items, sorted(cursor), strict=True):
                item.id = item_id

    return assign


def request_joins(
    connection: Connection[Any], space_id: int, keys: Collection[str], since: int
) -> Callable[[], Joins]:
    """Start loading contacts that browsers joined from an hour before `since` (µs since 1970); the result
    fetches them.
    """
    if not keys:
        return Joins
    values = {"space_id": space_id, "keys": list(keys), "since": since - JOIN_PERIOD}
    cursor = connection.execute(queries["joins"], values)
    return lambda: Joins(cursor.fetchall())


def write_joins(connection: Connection[Any], space_id: int, joins: Joins) -> None:
    """Count refused joins, and delete expired ones."""
    if joins.added_joins:
        values = [
            {"space_id": space_id, "browser": key, "contact_id": contact.final().id, "joined_at": joined_at}
            for key, contact, joined_at in joins.added_joins
        ]
        oldest = min(joined_at for _, _, joined_at in joins.added_joins) - JOIN_PERIOD
        connection.execute(queries["forget_joins"], {"space_id": space_id, "before": oldest})
        connection.cursor().executemany(queries["add_join"], values)
    if joins.refused_receipts:
        values = [{"space_id": space_id, "at": refused_at} for refused_at in joins.refused_receipts.values()]
        connection.cursor().executemany(queries["count_refused_join"], values)
        connection.execute(queries["forget_refused_joins"], {"space_id": space_id})
