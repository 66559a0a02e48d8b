from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg.sql import SQL, Composable, Composed, Placeholder

from headwater.http.decimals import AMOUNT_STEP
from headwater.http.inputs.pagination import Position, from_key


class SortKey(NamedTuple):
    """The sort key of rows, newest first. The second member is the event's id."""

    inside: tuple[SQL, ...]
    outside: tuple[SQL, ...]
    packed: SQL
    """The key as bytes, because only the first and last row's keys are ever read."""


EVENT_KEY = SortKey(
    (SQL("e.event_time"), SQL("e.id")),
    (SQL("c.event_time"), SQL("c.event_id")),
    SQL("timestamptz_send(c.event_time) || int8send(c.event_id)"),
)
CREDIT_KEY = SortKey(
    (*EVENT_KEY.inside, SQL("t.occurred_at"), SQL("t.id")),
    (*EVENT_KEY.outside, SQL("c.occurred_at"), SQL("c.touchpoint_id")),
    SQL(
        "timestamptz_send(c.event_time) || int8send(c.event_id)"
        " || timestamptz_send(c.occurred_at) || int8send(c.touchpoint_id)"
    ),
)
AMOUNT_KEY = SortKey(
    (SQL("e.amount"), SQL("e.id")),
    (SQL("c.amount"), SQL("c.event_id")),
    SQL("int8send((c.amount * 10000)::bigint) || int8send(c.event_id)"),
)
_2000 = 946_684_800_000_000
"""PostgreSQL's epoch, in µs since 1970."""


def unpack_key(values: tuple[bytes]) -> tuple[int, ...]:
    """Convert instants to µs since 1970."""
    numbers = struct.unpack(f">{len(values[0]) // 8}q", values[0])
    return tuple(number if index % 2 else number + _2000 for index, number in enumerate(numbers))


def unpack_amount_key(values: tuple[bytes]) -> tuple[int, ...]:
    """Convert the amount to ten-thousandths."""
    return struct.unpack(">2q", values[0])


def bound_key(key: tuple[int, ...], *, by_amount: bool) -> dict[str, Any]:
    values: list[Any] = [key[0] * AMOUNT_STEP, key[1]] if by_amount else from_key(key)
    return {f"key_{index}": value for index, value in enumerate(values)}


def beyond(position: Position | None, event_key: Sequence[SQL], *, events: bool) -> list[Composable]:
    """Return the condition on rows past a position, or on events with such rows, including the position's
    event between two of its touches.
    """
    if position is None:
        return []
    operator, inclusive = comparison(backward=position.backward)
    key = CREDIT_KEY[0] if len(position.key) > len(event_key) else event_key
    values = [Placeholder(f"key_{index}") for index in range(len(key))]
    if events and len(key) > len(event_key):
        operator, key, values = inclusive, key[:2], values[:2]
    comma = SQL(", ")
    return [SQL("({}) {} ({})").format(comma.join(key), operator, comma.join(values))]


def comparison(*, backward: bool) -> tuple[SQL, SQL]:
    """Return operators for rows strictly past a position, and at or past it."""
    return (SQL(">"), SQL(">=")) if backward else (SQL("<"), SQL("<="))


def sorted_by(key: Sequence[SQL], direction: SQL) -> Composed:
    return SQL(", ").join(SQL("{} {}").format(column, direction) for column in key)
