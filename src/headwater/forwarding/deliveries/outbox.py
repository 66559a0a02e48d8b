"""A delivery per event and destination, written in the event's transaction. Deliveries certain not to be sent
are skipped here, for users to see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID, uuid5

import msgspec
from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.events.batch_store import Replaced, StoredEvent
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.models import SkipReason

queries = Queries(__name__, "outbox.sql")

NAMESPACE = UUID("58445d59-2e22-4960-acea-3073ed606a85")
"""Must never change: platforms recognize repeats by ids in this namespace."""


_WITHDRAWAL = ("withdraw", "forget_attempts")
"""In order."""


class OutboxDestination(msgspec.Struct, frozen=True, gc=False):
    """The columns that decide what is queued."""

    id: int
    platform: str
    status: Literal["active", "held", "paused"]
    event_names: dict[str, str | None]
    """Its own names for events."""


class NewDelivery(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """Skipped if it has a reason."""

    destination_id: int
    event_id: int
    dedup_id: str
    reason: SkipReason | None = None


def read_targets(rows: list[dict[str, Any]] | None) -> list[OutboxDestination]:
    return msgspec.convert(rows or [], list[OutboxDestination])


def queue_deliveries(
    connection: Connection[Any],
    space_id: int,
    events: Collection[StoredEvent],
    targets: Collection[OutboxDestination],
) -> None:
    if events and targets:
        deliveries = rows(make_deliveries(space_id, events, targets))
        connection.execute(queries["queue"], {"space_id": space_id, "deliveries": deliveries})


def hand_over_deliveries(connection: Connection[Any], space_id: int, replaced: Collection[Replaced]) -> None:
    """Move deliveries to replacement events. A delivered event isn't sent again, and one that may have been
    received keeps its id.
    """
    moves = [
        {
            "space_id": space_id,
            "event_id": event.id,
            "successor_id": event.event_id,
            "reason": SkipReason.REPLACED,
        }
        for event in replaced
    ]
    for statuses in (["delivered", "counted"], ["queued", "retrying"]):
        batch = [{**values, "statuses": statuses} for values in moves]
        connection.cursor().executemany(queries["hand_over"], batch)
    for name in _WITHDRAWAL:
        connection.cursor().executemany(queries[name], moves)


async def withdraw_deliveries(connection: AsyncConnection, space_id: int, event_id: int) -> None:
    """End deliveries and delete their content, in the caller's transaction."""
    values = {"space_id": space_id, "event_id": event_id, "reason": SkipReason.DELETED}
    for name in _WITHDRAWAL:
        await connection.execute(queries[name], values)


def withdraw_all(connection: Connection[Any], space_id: int, event_ids: Collection[int]) -> None:
    withdrawals = [
        {"space_id": space_id, "event_id": event_id, "reason": SkipReason.DELETED} for event_id in event_ids
    ]
    if withdrawals:
        for name in _WITHDRAWAL:
            connection.cursor().executemany(queries[name], withdrawals)


def make_deliveries(
    space_id: int, events: Iterable[StoredEvent], targets: Collection[OutboxDestination]
) -> Iterator[NewDelivery]:
    for event in events:
        dedup_id = event.idempotency_key or make_dedup_id(space_id, event.id)
        for target in targets:
            yield NewDelivery(target.id, event.id, dedup_id, skip_reason(event, target))


def make_dedup_id(space_id: int, event_id: int) -> str:
    """Return a constant id for an event without an idempotency key."""
    return str(uuid5(NAMESPACE, f"{space_id}:{event_id}"))


def is_refund(event: StoredEvent) -> bool:
    return event.amount is not None and Decimal(event.amount) < 0


def skip_reason(event: StoredEvent, target: OutboxDestination) -> SkipReason | None:
    if event.do_not_capi:
        return SkipReason.DO_NOT_CAPI
    if is_refund(event):
        return SkipReason.REFUND
    if target.status == "paused":
        return SkipReason.PAUSED
    platform = registry.PLATFORMS.get(target.platform)
    if platform is None or platform.sent_as(event.event_name, target.event_names) is None:
        return SkipReason.NO_MAPPING
    return None
