"""Change and delete stored events. Attribution isn't stored, so nothing else changes."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from psycopg import AsyncConnection

from headwater.attribution.history.revisions import DRAW_REVISION, KEEP_EVENTS, ChangeCause
from headwater.attribution.paths.changes import NOTE_EVENTS
from headwater.events.models import EventChange
from headwater.events.queries import queries
from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT
from headwater.http.errors import require_any
from headwater.http.inputs.fields import NULL, NUMBER, number, number_text
from headwater.http.inputs.objects import Property, object_of, parse_body


def _round(amount: Decimal) -> Decimal:
    if not 0 <= amount <= MAX_AMOUNT:
        raise ValueError(f"must be from 0 to {MAX_AMOUNT:f}.")
    return amount.quantize(AMOUNT_STEP, ROUND_HALF_EVEN)


_AMOUNT = (
    number("must be a number, a numeric string or null.")
    .then(_round)
    .or_null()
    .documented(
        anyOf=[{"type": "number", "minimum": 0, "maximum": float(MAX_AMOUNT)}, number_text(NUMBER), NULL]
    )
)
CHANGE = object_of(
    {
        "amount": Property(
            _AMOUNT,
            "From 0 to 1e14; numeric strings are accepted; null clears it.",
            missing="is required: at least one updatable field must be given, and only it is updatable.",
        )
    }
).then(lambda values: EventChange(**values))


def read_change(body: dict[str, Any]) -> EventChange:
    return parse_body(CHANGE, body)


async def update_event(
    connection: AsyncConnection, space_id: int, event_id: int, change: EventChange
) -> None:
    """Apply a change. Raises NotFound."""
    await save_state(connection, space_id, event_id, ChangeCause.EDITS)
    cursor = await connection.execute(
        queries["update_amount"], {"space_id": space_id, "event_id": event_id, "amount": change.amount}
    )
    require_any(cursor.rowcount, "Event")
    await connection.execute(NOTE_EVENTS, {"space_id": space_id, "event_ids": [event_id]})


async def delete_event(connection: AsyncConnection, space_id: int, event_id: int) -> None:
    """Delete an event if it exists, after `save_state`. Its deliveries are left to the caller."""
    await connection.execute(NOTE_EVENTS, {"space_id": space_id, "event_ids": [event_id]})
    await connection.execute(queries["delete"], {"space_id": space_id, "event_id": event_id})


async def save_state(connection: AsyncConnection, space_id: int, event_id: int, cause: ChangeCause) -> None:
    """Save the state before a change, so that reports can explain changed figures. Call it before any other
    lock: other changes of the Space wait here.
    """
    await connection.execute(DRAW_REVISION, {"space_id": space_id})
    values = {"space_id": space_id, "event_ids": [event_id], "cause": cause, "successor_ids": []}
    await connection.execute(KEEP_EVENTS, values)
