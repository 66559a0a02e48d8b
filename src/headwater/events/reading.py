"""Stored events read back: one page of a selection, or one event.

A page is one statement, put together from closed tables: the attribution's rows, the conditions
on events, the chosen fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Composed, Placeholder

from headwater.attribution.models import MODELS
from headwater.attribution.query import credited_rows, narrow
from headwater.database.statements import Statements
from headwater.events import fields
from headwater.events.models import EventSelection, ListEvents
from headwater.http.errors import NotFound
from headwater.http.pagination import Page, Position, from_key, page_of, to_key
from headwater.sources.catalogue import SOURCES

STATEMENTS = Statements(__name__, "events.sql")

NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")

# What rows are sorted by, newest first: inside the page's query, and in its result.
EVENT_KEY = ((SQL("e.event_time"), SQL("e.id")), (SQL("c.event_time"), SQL("c.event_id")))
CREDIT_KEY = (
    (*EVENT_KEY[0], SQL("t.occurred_at"), SQL("t.id")),
    (*EVENT_KEY[1], SQL("c.occurred_at"), SQL("c.touchpoint_id")),
)


async def list_events(connection: AsyncConnection, space_id: int, asked: ListEvents) -> Page:
    """One page, newest first. Wants a transaction in which all statements see the same rows."""
    selection, at = asked.selection, asked.at
    conditions, bound = conditions_of(selection)
    bound |= {"space_id": space_id, "limit": asked.per_page + 1, "source_names": list(SOURCES)}
    if selection.attribution:
        narrowing = await narrow(connection, space_id, selection.attribution)
        conditions.append(narrowing.only)
        bound |= narrowing.parameters | selection.attribution.parameters()
    if at:
        conditions += _beyond(at)
        bound |= {f"key_{place}": value for place, value in enumerate(from_key(at.key))}
    statement = _page(selection, SQL(" AND ").join(conditions), backward=bool(at and at.backward))
    # Not prepared: a plan that does not know the limit and the sources may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return page_of(await cursor.fetchall(), asked.per_page, at, to_key)


async def fetch_event(connection: AsyncConnection, space_id: int, event_id: int) -> str:
    """One event as JSON. Raises NotFound."""
    cursor = await connection.execute(
        STATEMENTS["fetch"], {"space_id": space_id, "event_id": event_id}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFound("Event")
    return row[0]


def conditions_of(selection: EventSelection) -> tuple[list[Composable], dict[str, Any]]:
    """What a selection asks of events `e`, and what that binds."""
    conditions: list[Composable] = [
        SQL("e.event_time >= %(start)s AND e.event_time < %(end)s"),
    ]
    bound: dict[str, Any] = {"start": selection.time.start, "end": selection.time.end}
    if selection.event_names:
        conditions.append(SQL("e.event_name = ANY(%(event_names)s)"))
        bound["event_names"] = list(selection.event_names)
    if selection.conditions:
        composed = [each.compose(number) for number, each in enumerate(selection.conditions)]
        asked = SQL(" AND ").join(fragment for fragment, _ in composed)
        conditions.append(STATEMENTS["of_contacts"].format(asked=asked))
        for _, values in composed:
            bound |= values
    return conditions, bound


def _beyond(at: Position) -> list[Composable]:
    """Rows past a position. The first condition is implied by the second, and is what lets the
    walk over the index begin at the position.
    """
    strictly, first = (SQL(">"), SQL(">=")) if at.backward else (SQL("<"), SQL("<="))
    key = CREDIT_KEY[0] if len(at.key) > len(EVENT_KEY[0]) else EVENT_KEY[0]
    places = [Placeholder(f"key_{place}") for place in range(len(key))]
    compared, comma = SQL("({}) {} ({})"), SQL(", ")
    return [
        compared.format(comma.join(key[:2]), first, comma.join(places[:2])),
        compared.format(comma.join(key), strictly, comma.join(places)),
    ]


def _page(selection: EventSelection, only: Composable, *, backward: bool) -> Composed:
    attribution = selection.attribution
    if attribution:
        rows = credited_rows(attribution, only)
        credit, (inner, outer) = MODELS[attribution.model].credit, CREDIT_KEY
    else:
        rows = STATEMENTS["plain_rows"].format(only=only)
        credit, (inner, outer) = SQL("c.amount"), EVENT_KEY
    return STATEMENTS["page"].format(
        rows=rows,
        order=sorted_by(inner, _OLDEST_FIRST if backward else NEWEST_FIRST),
        columns=fields.columns(selection.fields, credit),
        key=SQL(", ").join(outer),
        joins=fields.joins(selection.fields),
        reading_order=sorted_by(outer, NEWEST_FIRST),
    )


def sorted_by(key: Sequence[SQL], direction: SQL) -> Composed:
    return SQL(", ").join(SQL("{} {}").format(part, direction) for part in key)
