"""Stored events changed and deleted. Nothing attributed is stored, so nothing else follows; that a
deleted event is not forwarded any more is up to whoever deletes it.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from psycopg import AsyncConnection

from headwater.events.models import EventChange
from headwater.events.queries import queries
from headwater.http.errors import Invalid, NotFound

LARGEST = Decimal(10) ** 14
CENT_OF_CENT = Decimal("0.0001")

NUMERIC = r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,2})?"
_NUMBER = re.compile(NUMERIC)


def read_change(body: dict[str, Any]) -> EventChange:
    """What a body asks to change. Raises Invalid."""
    if "amount" not in body:
        rule = "is required: at least one updatable field must be given, and only it is updatable."
        raise Invalid.of("amount", rule)
    value = body["amount"]
    return EventChange(None if value is None else _amount(value))


async def update_event(
    connection: AsyncConnection, space_id: int, event_id: int, change: EventChange
) -> None:
    """Apply a change. Raises NotFound."""
    cursor = await connection.execute(
        queries["update_amount"],
        {"space_id": space_id, "event_id": event_id, "amount": change.amount},
    )
    if cursor.rowcount == 0:
        raise NotFound("Event")


async def delete_event(connection: AsyncConnection, space_id: int, event_id: int) -> None:
    """Delete an event, if there is one by that id. Its deliveries are the caller's to withdraw."""
    await connection.execute(queries["delete"], {"space_id": space_id, "event_id": event_id})


def _amount(value: object) -> Decimal:
    number = _number(value)
    if number is None or not number.is_finite():
        raise Invalid.of("amount", "must be a number, a numeric string or null.")
    if not 0 <= number <= LARGEST:
        raise Invalid.of("amount", f"must be from 0 to {LARGEST:f}.")
    return number.quantize(CENT_OF_CENT, ROUND_HALF_EVEN)


def _number(value: object) -> Decimal | None:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, float):
        return Decimal(repr(value))  # the digits that were sent, not the binary fraction's
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    return None
