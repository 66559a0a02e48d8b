"""Read stored events: one page of a selection, or one event.

A page is one statement, composed from fixed tables: the attribution's rows, the conditions
on events, the chosen fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Composed, Placeholder

from headwater.attribution.models import MODELS
from headwater.attribution.query import credited_rows, narrow
from headwater.contacts.filters import compose_all
from headwater.database.queries import Queries, fetch_one
from headwater.events import fields
from headwater.events.models import EventSelection, ListEvents
from headwater.http.decimals import AMOUNT_STEP
from headwater.http.errors import NotFound
from headwater.http.pagination import Page, Position, from_key, page_of, to_key
from headwater.sources.catalogue import SOURCES

queries = Queries(__name__, "events.sql")

NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")

EventKey = tuple[tuple[SQL, ...], tuple[SQL, ...]]

# The sort key of rows, newest first: inside the page's query, and in its result. Its last member of
# an event is the event's id.
EVENT_KEY = ((SQL("e.event_time"), SQL("e.id")), (SQL("c.event_time"), SQL("c.event_id")))
CREDIT_KEY = (
    (*EVENT_KEY[0], SQL("t.occurred_at"), SQL("t.id")),
    (*EVENT_KEY[1], SQL("c.occurred_at"), SQL("c.touchpoint_id")),
)
_AMOUNT_KEY = ((SQL("e.amount"), SQL("e.id")), (SQL("c.amount"), SQL("c.event_id")))
_NTH = SQL("e.nth")


async def list_events(connection: AsyncConnection, space_id: int, request: ListEvents) -> Page:
    """One page, newest first. Needs a transaction in which all statements see the same rows.

    It walks over the events first, and then reads their rows, event by event, until the page is
    full: however long their paths are, only the part that is listed is computed.
    """
    selection, at = request.selection, request.at
    conditions, bound = conditions_of(selection)
    bound |= {"space_id": space_id, "source_names": list(SOURCES)}
    if selection.attribution:
        narrowing = await narrow(connection, space_id, selection.attribution)
        conditions.append(narrowing.only)
        bound |= narrowing.parameters | selection.attribution.parameters()
    most = request.per_page + 1
    walk = _Walk(connection, request, conditions, bound)
    rows: list[tuple[Any, ...]] = []
    while len(rows) < most and (event_ids := await walk.next_events(most)):
        rows += await walk.rows_of(event_ids, most - len(rows))
    key_of = _to_amount_key if request.by_amount else to_key
    return page_of(rows[::-1] if walk.backward else rows, request.per_page, at, key_of)


def _to_amount_key(values: tuple[Any, ...]) -> tuple[int, ...]:
    """An amount, in its smallest step, and an id."""
    amount, event_id = values
    return int(amount / AMOUNT_STEP), event_id


def _bound_key(key: tuple[int, ...], *, by_amount: bool) -> dict[str, Any]:
    values = [key[0] * AMOUNT_STEP, key[1]] if by_amount else from_key(key)
    return {f"key_{place}": value for place, value in enumerate(values)}


class _Walk:
    """A walk over the events that meet conditions, from the requested position on."""

    def __init__(
        self,
        connection: AsyncConnection,
        request: ListEvents,
        conditions: list[Composable],
        bound: dict[str, Any],
    ) -> None:
        self._connection, self._selection, self._at = connection, request.selection, request.at
        self._event_key = _AMOUNT_KEY if request.by_amount else EVENT_KEY
        self.backward = bool(request.at and request.at.backward)
        self._direction = _OLDEST_FIRST if self.backward else NEWEST_FIRST
        self._bound = bound
        self._conditions = [*conditions, *_beyond(request.at, self._event_key[0], events=True)]
        if request.by_amount:
            self._conditions.append(SQL("e.amount IS NOT NULL"))
        if request.at:
            bound |= _bound_key(request.at.key, by_amount=request.by_amount)
        self._over = False

    async def next_events(self, limit: int) -> list[int]:
        """The ids of the next events, at most `limit`; none when there are no more."""
        if self._over:
            return []
        key = self._event_key[0]
        statement = queries["walk"].format(
            key=SQL(", ").join(key),
            only=SQL(" AND ").join(self._conditions),
            order=sorted_by(key, self._direction),
        )
        # Not prepared: a plan that does not know the limit and the sources may not stop early.
        bound = self._bound | {"limit": limit}
        cursor = await self._connection.execute(statement, bound, prepare=False)
        walked = await cursor.fetchall()
        self._over = len(walked) < limit
        if not self._over:
            self._bound |= {"seen_key": walked[-1][0], "seen_id": walked[-1][1]}
            beyond = SQL("({}) {} (%(seen_key)s, %(seen_id)s)")
            comparison = _comparison(backward=self.backward)[0]
            self._conditions.append(beyond.format(SQL(", ").join(key), comparison))
        return [event_id for _, event_id in walked]

    async def rows_of(self, event_ids: list[int], limit: int) -> list[tuple[Any, ...]]:
        """The first rows of these events, at most `limit`."""
        await self._connection.execute(queries["keep_order"])
        only = [SQL("true"), *_beyond(self._at, self._event_key[0], events=False)]
        statement = _page(
            self._selection, self._event_key, SQL(" AND ").join(only), self._direction
        )
        bound = self._bound | {"event_ids": event_ids, "limit": limit}
        cursor = await self._connection.execute(statement, bound, prepare=False)
        return await cursor.fetchall()


async def fetch_event(connection: AsyncConnection, space_id: int, event_id: int) -> str:
    """One event as JSON. Raises NotFound."""
    cursor = await connection.execute(
        queries["fetch"], {"space_id": space_id, "event_id": event_id}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFound("Event")
    return row[0]


async def lock_event(connection: AsyncConnection, space_id: int, event_id: int) -> None:
    """Keep an event as it is until the end of the transaction."""
    await connection.execute(queries["lock"], {"space_id": space_id, "event_id": event_id})


async def sum_refunds(
    connection: AsyncConnection, space_id: int, event_id: int
) -> tuple[int, Decimal]:
    """The number of refunds of an event's order, and their amounts together, which are negative."""
    values = {"space_id": space_id, "event_id": event_id}
    count, amount = await fetch_one(connection, queries["refunds"], values)
    return count, amount


def conditions_of(selection: EventSelection) -> tuple[list[Composable], dict[str, Any]]:
    """The conditions of a selection on events `e`, and the values that they bind."""
    conditions: list[Composable] = [
        SQL("e.event_time >= %(start)s AND e.event_time < %(end)s"),
    ]
    bound: dict[str, Any] = {"start": selection.time.start, "end": selection.time.end}
    if selection.event_names:
        conditions.append(SQL("e.event_name = ANY(%(event_names)s)"))
        bound["event_names"] = list(selection.event_names)
    for name, comparison in (("amount_min", SQL(">=")), ("amount_max", SQL("<="))):
        if (amount := getattr(selection, name)) is not None:
            conditions.append(SQL("e.amount {} {}").format(comparison, Placeholder(name)))
            bound[name] = amount
    if selection.conditions:
        of_fields, values = compose_all(selection.conditions)
        conditions.append(queries["of_contacts"].format(conditions=of_fields))
        bound |= values
    return conditions, bound


def _comparison(*, backward: bool) -> tuple[SQL, SQL]:
    """The operators for rows strictly beyond a position, and for rows at or beyond it."""
    return (SQL(">"), SQL(">=")) if backward else (SQL("<"), SQL("<="))


def _beyond(at: Position | None, event_key: Sequence[SQL], *, events: bool) -> list[Composable]:
    """The condition on rows past a position, or on the events that can have such rows: a position
    between two touches of one event leaves rows of that event.
    """
    if at is None:
        return []
    strictly, first = _comparison(backward=at.backward)
    key = CREDIT_KEY[0] if len(at.key) > len(event_key) else event_key
    places = [Placeholder(f"key_{place}") for place in range(len(key))]
    if events and len(key) > len(event_key):
        strictly, key, places = first, key[:2], places[:2]
    comma = SQL(", ")
    return [SQL("({}) {} ({})").format(comma.join(key), strictly, comma.join(places))]


def _page(
    selection: EventSelection, event_key: EventKey, only: Composable, direction: SQL
) -> Composed:
    attribution = selection.attribution
    chosen = queries["chosen"]
    if attribution:
        rows = credited_rows(attribution, only, chosen)
        credit, (inner, outer) = MODELS[attribution.model].credit, CREDIT_KEY
    else:
        rows = queries["plain_rows"].format(events=chosen, only=only)
        credit, (inner, outer) = SQL("c.amount"), event_key
    touches = inner[len(event_key[0]) :]
    in_turn = [_NTH, *(SQL("{} {}").format(part, direction) for part in touches)]
    return queries["page"].format(
        rows=rows,
        order=SQL(", ").join(in_turn),
        line=fields.line(selection.fields, credit),
        key=SQL(", ").join(outer),
        joins=fields.joins(selection.fields),
        page_order=sorted_by(outer, direction),
    )


def sorted_by(key: Sequence[SQL], direction: SQL) -> Composed:
    return SQL(", ").join(SQL("{} {}").format(part, direction) for part in key)
