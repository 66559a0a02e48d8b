"""Write events: find and record duplicates, store events, and keep them in step with their
contacts. The caller holds the Space's lock; the unique indexes are the last guard.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import msgspec
from psycopg import Connection, Cursor

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.identity.senders import Sender

queries = Queries(__name__, "batch_store.sql")

REASSIGN = queries["reassign"]
"""Binds a ContactMove."""
RESTORE = queries["restore"]
"""Binds a ContactSplit."""

DAY = 86_400_000_000
"""Microseconds."""

Key = tuple[str, str]
"""An event name with an idempotency key or an order id."""


class StoredEvent(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """An event's row as it is first written. Times are µs since 1970."""

    id: int
    contact_id: int
    event_name: str
    event_time: int
    received_at: int
    source_mask: int
    origin_id: int | None = None
    company_id: int | None = None
    amount: str | None = None
    is_upsell: bool = False
    order_id: str | None = None
    order_name: str | None = None
    checkout_token: str | None = None
    upsell_common_id: str | None = None
    idempotency_key: str | None = None
    company_external_id: str | None = None
    event_url: str | None = None
    user_agent: str | None = None
    ip: str | None = None
    do_not_capi: bool = False
    currency: str | None = None
    ad_user_data: bool | None = None
    ad_personalization: bool | None = None
    cookies: dict[str, str] | None = None
    heard_about_us: str | None = None
    self_reported_source: str | None = None
    """Of the answer, by sources.answers."""
    warnings: list[str] | None = None
    sender: Sender = Sender.API_KEY

    def without_keys(self) -> StoredEvent:
        """Return it without what another event must not have too."""
        return msgspec.structs.replace(self, order_id=None, idempotency_key=None)


class Duplicate(msgspec.Struct, frozen=True, gc=False):
    """A request that was dropped because it repeats another."""

    id: int
    reason: Literal["idempotency_key", "order_id", "repeated_touch", "repeated_hit", "refund"]
    event_id: int | None
    """The stored event; None for a touchpoint that was sent, for a page view, and for a refund
    that waits for its order."""
    received_at: int
    sender: Sender


class Replaced(msgspec.Struct, frozen=True, gc=False):
    """A page's event that an event of the business replaces, and the keys that it repeats: it
    becomes the duplicate.
    """

    id: int
    event_id: int
    reason: Literal["idempotency_key", "order_id"]


class Recorded(NamedTuple):
    """The ids of events by the keys that others may repeat: the business's events, and pages'."""

    business: dict[Key, int]
    browsers: dict[Key, int]

    def of(self, sender: Sender) -> dict[Key, int]:
        """The ids among which an event of this sender is recorded."""
        return self.business if sender.is_trusted else self.browsers


class RecordedEvents(NamedTuple):
    """The stored events that later ones may repeat: by idempotency key, and by order."""

    keys: Recorded
    orders: Recorded


class StoredAnswer(NamedTuple):
    """An answer to the question how somebody heard of the business."""

    event_id: int
    text: str
    source: str
    """What it counts as."""


class SourceSeen(msgspec.Struct, frozen=True, gc=False):
    """A touchpoint's source, as bits, on a contact's path from a moment on."""

    contact_id: int
    occurred_at: int
    source_mask: int


def request_recorded(
    connection: Connection[Any], space_id: int, keys: Collection[Key], orders: Collection[Key]
) -> Callable[[], RecordedEvents]:
    """Ask for the stored ones of idempotency keys and orders; calling the result fetches the ids
    of their events.
    """
    cursors = [
        connection.execute(queries[name], {"space_id": space_id, "keys": _named(wanted)}) if wanted else None
        for name, wanted in (("find_by_idempotency_key", keys), ("find_by_order", orders))
    ]

    return lambda: RecordedEvents(*map(_recorded, cursors))


def _recorded(cursor: Cursor[Any] | None) -> Recorded:
    recorded = Recorded({}, {})
    for name, key, event_id, by_browser in cursor.fetchall() if cursor else ():
        (recorded.browsers if by_browser else recorded.business)[name, key] = event_id
    return recorded


def _named(keys: Iterable[Key]) -> str:
    return rows({"event_name": name, "key": key} for name, key in keys)


def record_events(connection: Connection[Any], space_id: int, events: Collection[StoredEvent]) -> None:
    """Store new events."""
    if events:
        connection.execute(queries["record"], {"space_id": space_id, "events": rows(events)})
    dated = {(event.currency, event.event_time // DAY) for event in events if event.currency}
    if dated:
        noted = rows({"currency": currency, "day": day} for currency, day in dated)
        connection.execute(queries["note_currencies"], {"space_id": space_id, "days": noted})


def release_keys(connection: Connection[Any], space_id: int, event_ids: Collection[int]) -> None:
    """Take their keys from stored events that others are about to replace."""
    if event_ids:
        values = {"space_id": space_id, "event_ids": list(event_ids)}
        connection.execute(queries["release_keys"], values)


def record_duplicates(connection: Connection[Any], space_id: int, duplicates: Collection[Duplicate]) -> None:
    """Record duplicates, so that dropped requests stay visible."""
    if duplicates:
        values = {"space_id": space_id, "duplicates": rows(duplicates)}
        connection.execute(queries["record_duplicates"], values)


def replace_events(connection: Connection[Any], space_id: int, replaced: Collection[Replaced]) -> None:
    """Turn events that others have replaced into duplicates."""
    if replaced:
        values = {"space_id": space_id, "replaced": rows(replaced)}
        connection.execute(queries["replace"], values)


def change_amounts(
    connection: Connection[Any], space_id: int, amounts: Collection[tuple[int, Decimal, str | None]]
) -> None:
    """Correct the amounts of stored events: id, amount and currency."""
    changed = [
        {"space_id": space_id, "id": event_id, "amount": amount, "currency": currency}
        for event_id, amount, currency in amounts
    ]
    if changed:
        connection.cursor().executemany(queries["change_amount"], changed)


def delete_events(connection: Connection[Any], space_id: int, ids: Collection[int]) -> None:
    """Delete stored events. Their deliveries are the caller's to withdraw."""
    if ids:
        values = {"space_id": space_id, "event_ids": list(ids)}
        connection.execute(queries["delete_several"], values)


def request_later(
    connection: Connection[Any], space_id: int, touches: Collection[SourceSeen]
) -> Callable[[], dict[int, int]]:
    """Ask for the stored events that these touches precede; calling the result fetches, by event
    id, the sources they lack.
    """
    if not touches:
        return dict
    values = {"space_id": space_id, "touches": rows(touches)}
    cursor = connection.execute(queries["find_later"], values)
    return lambda: dict(cursor.fetchall())


def add_sources(connection: Connection[Any], space_id: int, sources: dict[int, int]) -> None:
    """Put sources, as bits by event id, on stored events."""
    values = [
        {"space_id": space_id, "id": event_id, "source_mask": bits} for event_id, bits in sources.items()
    ]
    if values:
        connection.cursor().executemany(queries["add_sources"], values)


def add_seen(connection: Connection[Any], space_id: int, touches: Collection[SourceSeen]) -> None:
    """Put the sources of touches on the stored events after them, without loading these first:
    there are hardly ever any.
    """
    sightings = [{"space_id": space_id, **msgspec.structs.asdict(touch)} for touch in touches]
    if sightings:
        connection.cursor().executemany(queries["add_seen"], sightings)


def fetch_answers(
    connection: Connection[Any], space_id: int, after_id: int, until_id: int, most: int
) -> list[StoredAnswer]:
    """The first stored answers of events above an id, up to another, by id."""
    values = {"space_id": space_id, "after_id": after_id, "until_id": until_id, "most": most}
    return [StoredAnswer(*row) for row in connection.execute(queries["answers"], values)]


def write_answer_sources(connection: Connection[Any], space_id: int, sources: dict[int, str]) -> None:
    """Have stored answers count as sources, by event id."""
    if sources:
        changed = [{"id": event_id, "source": source} for event_id, source in sources.items()]
        values = {"space_id": space_id, "sources": rows(changed)}
        connection.execute(queries["write_answer_sources"], values)
