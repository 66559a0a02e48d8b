"""Find duplicates, store and update events. The caller holds the Space's lock; the unique indexes are the
last guard.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

import msgspec
from psycopg import Connection, Cursor
from psycopg.sql import SQL, Identifier

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.events.accepted import EventColumns
from headwater.people.identity.senders import Sender

queries = Queries(__name__, "batch_store.sql")

REASSIGN = queries["reassign"]
"""Binds a ContactMove."""
RESTORE = queries["restore"]
"""Binds a ContactSplit."""

_FIND_BY_IDEMPOTENCY_KEY, _FIND_BY_ORDER = (
    queries["find_by_key"].format(key=key, kind=kind)
    for key, kind in (
        (SQL("known.idempotency_key = k.key"), "idempotency_key"),
        (queries["is_order"], "order_id"),
    )
)

_ADD_SEEN = queries["add_seen"].format(rows=queries["find_later"])

DAY_MICROSECONDS = 86_400_000_000

Key = tuple[str, str]


class StoredEvent(EventColumns, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A new row of the events table. Times are in µs since 1970."""

    id: int
    contact_id: int
    event_name: str
    event_time: int
    received_at: int
    source_mask: int
    origin_id: int | None = None
    company_id: int | None = None
    event_url: str | None = None
    cookies: dict[str, str] | None = None
    self_reported_source: str | None = None
    """The source derived from `heard_about_us`."""
    warnings: list[str] | None = None
    sender: Sender = Sender.API_KEY

    def without_keys(self) -> StoredEvent:
        return msgspec.structs.replace(self, order_id=None, idempotency_key=None)


class Duplicate(msgspec.Struct, frozen=True, gc=False):
    """A request dropped as a repetition."""

    id: int
    reason: Literal["idempotency_key", "order_id", "repeated_touch", "repeated_hit", "refund"]
    event_id: int | None
    """The stored event. None for a sent touchpoint, a page view, and a refund waiting for its order."""
    received_at: int
    sender: Sender


class Replaced(msgspec.Struct, frozen=True, gc=False):
    """A browser event replaced by a server event with the same key, named by `reason`."""

    id: int
    event_id: int
    reason: Literal["idempotency_key", "order_id"]


class Recorded(NamedTuple):
    """Ids of stored events by their key, from servers and from browsers."""

    business: dict[Key, int]
    browsers: dict[Key, int]

    def by_sender(self, sender: Sender) -> dict[Key, int]:
        return self.business if sender.is_trusted else self.browsers


class RecordedEvents(NamedTuple):
    """Stored events that new ones may repeat, by idempotency key and by order."""

    keys: Recorded
    orders: Recorded


class StoredAnswer(NamedTuple):
    event_id: int
    text: str
    source: str


class SourceSeen(msgspec.Struct, frozen=True, gc=False):
    """Source bits that a touchpoint adds to a contact's path from `occurred_at` on."""

    contact_id: int
    occurred_at: int
    source_mask: int


def request_recorded(
    connection: Connection[Any], space_id: int, keys: Collection[Key], orders: Collection[Key]
) -> Callable[[], RecordedEvents]:
    """Start looking up keys and orders; the result fetches their events' ids."""
    cursors = [
        connection.execute(query, {"space_id": space_id, "keys": _key_rows(pairs)}) if pairs else None
        for query, pairs in ((_FIND_BY_IDEMPOTENCY_KEY, keys), (_FIND_BY_ORDER, orders))
    ]
    return lambda: RecordedEvents(*map(_read_recorded, cursors))


def _read_recorded(cursor: Cursor[Any] | None) -> Recorded:
    recorded = Recorded({}, {})
    for name, key, event_id, by_browser in cursor.fetchall() if cursor else ():
        (recorded.browsers if by_browser else recorded.business)[name, key] = event_id
    return recorded


def _key_rows(keys: Iterable[Key]) -> str:
    return rows({"event_name": name, "key": key} for name, key in keys)


def _compose_record() -> bytes:
    """Compose the statement that stores rows."""
    columns = {name: Identifier(name) for name in EventColumns.__struct_fields__}
    types = {name: _column_type(name, hint) for name, hint in get_type_hints(EventColumns).items()}
    values = [
        SQL("coalesce(r.{}, false)" if default is False else "r.{}").format(column)
        for column, default in zip(columns.values(), EventColumns.__struct_defaults__, strict=True)
    ]
    return (
        queries["record"]
        .format(
            columns=SQL(", ").join(columns.values()),
            values=SQL(", ").join(values),
            types=SQL(", ").join(SQL("{} {}").format(columns[name], type_) for name, type_ in types.items()),
        )
        .as_bytes()
    )


def _column_type(name: str, hint: Any) -> SQL:
    if name == "amount":
        return SQL("numeric")
    return SQL("boolean") if bool in (hint, *get_args(hint)) else SQL("text")


_RECORD = _compose_record()


def record_events(connection: Connection[Any], space_id: int, events: Collection[StoredEvent]) -> None:
    if events:
        connection.execute(_RECORD, {"space_id": space_id, "events": rows(events)})
    currency_days = {
        (event.currency, event.event_time // DAY_MICROSECONDS) for event in events if event.currency
    }
    if currency_days:
        days = rows({"currency": currency, "day": day} for currency, day in currency_days)
        connection.execute(queries["note_currencies"], {"space_id": space_id, "days": days})


def release_keys(connection: Connection[Any], space_id: int, event_ids: Collection[int]) -> None:
    if event_ids:
        values = {"space_id": space_id, "event_ids": list(event_ids)}
        connection.execute(queries["release_keys"], values)


def record_duplicates(connection: Connection[Any], space_id: int, duplicates: Collection[Duplicate]) -> None:
    """Keep dropped requests visible."""
    if duplicates:
        values = {"space_id": space_id, "duplicates": rows(duplicates)}
        connection.execute(queries["record_duplicates"], values)


def replace_events(connection: Connection[Any], space_id: int, replaced: Collection[Replaced]) -> None:
    if replaced:
        values = {"space_id": space_id, "replaced": rows(replaced)}
        connection.execute(queries["replace"], values)


def change_amounts(
    connection: Connection[Any], space_id: int, amounts: Collection[tuple[int, Decimal, str | None]]
) -> None:
    """Correct amounts, given as id, amount and currency."""
    changed_rows = [
        {"space_id": space_id, "id": event_id, "amount": amount, "currency": currency}
        for event_id, amount, currency in amounts
    ]
    if changed_rows:
        connection.cursor().executemany(queries["change_amount"], changed_rows)


def follow_orders(connection: Connection[Any], space_id: int, orders: dict[int, int]) -> None:
    """Give refunds the contact, company and names of their orders, given by refund."""
    changed_rows = [
        {"space_id": space_id, "id": refund_id, "order": event_id} for refund_id, event_id in orders.items()
    ]
    if changed_rows:
        connection.cursor().executemany(queries["follow_order"], changed_rows)


def delete_events(connection: Connection[Any], space_id: int, ids: Collection[int]) -> None:
    """Delete events. The caller withdraws their deliveries."""
    if ids:
        values = {"space_id": space_id, "event_ids": list(ids)}
        connection.execute(queries["delete_several"], values)


def request_missing_sources(
    connection: Connection[Any], space_id: int, touches: Collection[SourceSeen]
) -> Callable[[], dict[int, int]]:
    """Start looking up stored events after these touches; the result fetches missing bits by event id."""
    if not touches:
        return dict
    values = {"space_id": space_id, "touches": rows(touches)}
    cursor = connection.execute(queries["find_later"], values)
    return lambda: dict(cursor.fetchall())


def add_sources(connection: Connection[Any], space_id: int, sources: dict[int, int]) -> None:
    if sources:
        changed_rows = [{"id": event_id, "source_mask": bits} for event_id, bits in sources.items()]
        values = {"space_id": space_id, "sources": rows(changed_rows)}
        connection.execute(queries["add_sources"], values)


def add_seen_sources(connection: Connection[Any], space_id: int, touches: Collection[SourceSeen]) -> None:
    if touches:
        values = {"space_id": space_id, "touches": rows(touches)}
        connection.execute(_ADD_SEEN, values)


def fetch_answers(
    connection: Connection[Any], space_id: int, after_id: int, until_id: int, limit: int
) -> list[StoredAnswer]:
    """Return answers with event ids above `after_id` and up to `until_id`, by id."""
    values = {"space_id": space_id, "after_id": after_id, "until_id": until_id, "most": limit}
    return [StoredAnswer(*row) for row in connection.execute(queries["answers"], values)]


def write_answer_sources(connection: Connection[Any], space_id: int, sources: dict[int, str]) -> None:
    if sources:
        changed_rows = [{"id": event_id, "source": source} for event_id, source in sources.items()]
        values = {"space_id": space_id, "sources": rows(changed_rows)}
        connection.execute(queries["write_answer_sources"], values)
