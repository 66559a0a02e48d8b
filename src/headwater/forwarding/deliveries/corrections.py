"""Corrections of conversions that a platform has: queue them, and load what they are to say.

A correction has the order's worth when it is sent, so several changes can end in one:

    order 100 ──▶ conversion 100 ──▶ accepted ──▶ correction 1: 20 ──▶ accepted ──▶ correction 2: 0
                  refund of 30    refund of 50                  refund of 20

Who changes an order's worth asks for corrections in the same transaction, and so does who records that a
platform accepted, refused or never judged something: one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all
from headwater.events.queries import IS_REFUND
from headwater.forwarding.deliveries.queue import DeliveryRecord
from headwater.forwarding.platforms.models import Correction, Destination
from headwater.forwarding.platforms.registry import PLATFORMS

queries = Queries(__name__, "corrections.sql")

_ACCEPTED_STATUSES = {
    name: platform.corrections.accepted
    for name, platform in PLATFORMS.items()
    if platform.corrections is not None
}
_PLATFORMS = rows({"name": name, "accepted": status} for name, status in _ACCEPTED_STATUSES.items())
_ORDERS = queries["orders"].format(is_refund=IS_REFUND)
ORDER_AMOUNT = queries["worth"].format(is_refund=IS_REFUND)
"""A row with the `amount` and `currency` of conversion `o`'s order now; none once it is deleted."""
HELD_AMOUNT = queries["held"]
"""A row with the `amount` and `currency` that platform `p` is known to have of conversion `o`."""
_FIND = queries["find"].format(worth=ORDER_AMOUNT, held=HELD_AMOUNT)
_FIND_EVENTS = queries["find_events"].format(worth=ORDER_AMOUNT)
_LOAD = queries["load"].format(worth=ORDER_AMOUNT, held=HELD_AMOUNT)


def list_accepted(platform: str) -> str:
    """Return the status of what a platform is known to have, as a row."""
    return rows([{"accepted": _ACCEPTED_STATUSES.get(platform, "delivered")}])


def find_orders(connection: Connection[Any], space_id: int, event_ids: Collection[int]) -> list[int]:
    """Return the events, and for refunds their orders. Call it before a refund is deleted."""
    values = {"space_id": space_id, "event_ids": list(event_ids)}
    return [row[0] for row in connection.execute(_ORDERS, values)] if event_ids else []


def queue_corrections(connection: Connection[Any], space_id: int, event_ids: Collection[int]) -> None:
    """Queue what platforms must learn of changed orders, in the transaction of the change and after it."""
    if event_ids:
        values = _queue_values(space_id, event_ids)
        connection.execute(queries["lock"], values)
        event_rows = connection.execute(_FIND, values).fetchall()
        if event_rows:
            connection.execute(queries["queue"], values | {"corrections": _list_corrections(event_rows)})


async def fetch_orders(connection: AsyncConnection, space_id: int, event_id: int) -> list[int]:
    """Return the event, and for a refund its order. Call it before a refund is deleted."""
    cursor = await connection.execute(_ORDERS, {"space_id": space_id, "event_ids": [event_id]})
    return [row[0] for row in await cursor.fetchall()]


async def correct_orders(connection: AsyncConnection, space_id: int, event_ids: Collection[int]) -> None:
    """Do the same as `queue_corrections`."""
    values = _queue_values(space_id, event_ids)
    await connection.execute(queries["lock"], values)
    await _queue_found(connection, values)


async def correct_ended(
    connection: AsyncConnection, destination: Destination, ended: Collection[DeliveryRecord]
) -> None:
    """Queue corrections of orders that changed during a destination's calls, in the transaction that records
    its answer or gives it up. A refused amount that an order still has is not sent again.
    """
    if ended:
        values = {"space_id": destination.space_id, "ended": rows(ended)}
        event_ids = [row[0] for row in await fetch_all(connection, _FIND_EVENTS, values)]
        await _queue_found(connection, _queue_values(destination.space_id, event_ids, destination.id))


async def _queue_found(connection: AsyncConnection, values: dict[str, Any]) -> None:
    if event_rows := await fetch_all(connection, _FIND, values):
        await connection.execute(queries["queue"], values | {"corrections": _list_corrections(event_rows)})


def _list_corrections(numbers: Iterable[tuple[int, int]]) -> str:
    return rows({"id": delivery_id, "number": number} for delivery_id, number in numbers)


async def load_corrections(
    connection: AsyncConnection, space_id: int, delivery_ids: Collection[int]
) -> dict[int, Correction]:
    """Return what corrections are to say, by delivery; none while the conversion is sent again."""
    values = {"space_id": space_id, "delivery_ids": list(delivery_ids), "platforms": _PLATFORMS}
    return {row[0]: Correction(*row[1:]) for row in await fetch_all(connection, _LOAD, values)}


def _queue_values(
    space_id: int, event_ids: Collection[int], destination_id: int | None = None
) -> dict[str, Any]:
    values = {"space_id": space_id, "event_ids": list(event_ids), "platforms": _PLATFORMS}
    return values | {"destination_id": destination_id}
