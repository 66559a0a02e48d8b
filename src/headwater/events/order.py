"""The order of a page: the sort keys of rows, and the conditions that a position puts on them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg.sql import SQL, Composable, Composed, Placeholder

from headwater.http.decimals import AMOUNT_STEP
from headwater.http.inputs.pagination import Position, from_key

NEWEST_FIRST, OLDEST_FIRST = SQL("DESC"), SQL("ASC")


class SortKey(NamedTuple):
    """The sort key of rows, newest first; the second member is the event's id."""

    inside: tuple[SQL, ...]
    """Inside the page's query."""
    outside: tuple[SQL, ...]
    """In its result."""
    packed: SQL
    """The same as octets, as only the first and the last row's are ever read."""


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
"""The beginning of PostgreSQL's time, in microseconds since 1970."""


def unpack_key(values: tuple[bytes]) -> tuple[int, ...]:
    """The key of a row, with instants in microseconds since 1970."""
    numbers = struct.unpack(f">{len(values[0]) // 8}q", values[0])
    return tuple(number if place % 2 else number + _2000 for place, number in enumerate(numbers))


def unpack_amount_key(values: tuple[bytes]) -> tuple[int, ...]:
    """The key of a row by amount, in its smallest step."""
    return struct.unpack(">2q", values[0])


def bound_key(key: tuple[int, ...], *, by_amount: bool) -> dict[str, Any]:
    """The values that the conditions of `beyond` bind."""
    values: list[Any] = [key[0] * AMOUNT_STEP, key[1]] if by_amount else from_key(key)
    return {f"key_{place}": value for place, value in enumerate(values)}


def beyond(at: Position | None, event_key: Sequence[SQL], *, events: bool) -> list[Composable]:
    """The condition on rows past a position, or on the events that can have such rows: a position
    between two touches of one event leaves rows of that event.
    """
    if at is None:
        return []
    strictly, first = comparison(backward=at.backward)
    key = CREDIT_KEY[0] if len(at.key) > len(event_key) else event_key
    places = [Placeholder(f"key_{place}") for place in range(len(key))]
    if events and len(key) > len(event_key):
        strictly, key, places = first, key[:2], places[:2]
    comma = SQL(", ")
    return [SQL("({}) {} ({})").format(comma.join(key), strictly, comma.join(places))]


def direction_of(at: Position | None) -> SQL:
    """The direction in which the page at a position is read."""
    return OLDEST_FIRST if at and at.backward else NEWEST_FIRST


def comparison(*, backward: bool) -> tuple[SQL, SQL]:
    """The operators for rows strictly beyond a position, and for rows at or beyond it."""
    return (SQL(">"), SQL(">=")) if backward else (SQL("<"), SQL("<="))


def sorted_by(key: Sequence[SQL], direction: SQL) -> Composed:
    """The list of an ORDER BY."""
    return SQL(", ").join(SQL("{} {}").format(part, direction) for part in key)
