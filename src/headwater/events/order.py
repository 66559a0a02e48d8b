"""The order of a page: the sort keys of rows, and the conditions that a position puts on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.sql import SQL, Composable, Composed, Placeholder

from headwater.http.decimals import AMOUNT_STEP
from headwater.http.pagination import Position, from_key

NEWEST_FIRST, OLDEST_FIRST = SQL("DESC"), SQL("ASC")

EventKey = tuple[tuple[SQL, ...], tuple[SQL, ...]]

# The sort key of rows, newest first: inside the page's query, and in its result. Its last member of
# an event is the event's id.
EVENT_KEY = ((SQL("e.event_time"), SQL("e.id")), (SQL("c.event_time"), SQL("c.event_id")))
CREDIT_KEY = (
    (*EVENT_KEY[0], SQL("t.occurred_at"), SQL("t.id")),
    (*EVENT_KEY[1], SQL("c.occurred_at"), SQL("c.touchpoint_id")),
)
AMOUNT_KEY = ((SQL("e.amount"), SQL("e.id")), (SQL("c.amount"), SQL("c.event_id")))


def to_amount_key(values: tuple[Any, ...]) -> tuple[int, ...]:
    """An amount, in its smallest step, and an id."""
    amount, event_id = values
    return int(amount / AMOUNT_STEP), event_id


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


def comparison(*, backward: bool) -> tuple[SQL, SQL]:
    """The operators for rows strictly beyond a position, and for rows at or beyond it."""
    return (SQL(">"), SQL(">=")) if backward else (SQL("<"), SQL("<="))


def sorted_by(key: Sequence[SQL], direction: SQL) -> Composed:
    """The list of an ORDER BY."""
    return SQL(", ").join(SQL("{} {}").format(part, direction) for part in key)
