"""Read stored events: one page of a selection, or one event.

A page is one statement, composed from fixed tables: the attribution's rows, the conditions
on events, the chosen fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, LiteralString, cast

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Placeholder

from headwater.attribution.models import MODELS
from headwater.attribution.query import Attribution, credited_rows
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, Statement, fetch_all, fetch_one
from headwater.events import fields
from headwater.events.models import EventSelection, ListEvents
from headwater.events.order import (
    AMOUNT_KEY,
    CREDIT_KEY,
    EVENT_KEY,
    beyond,
    direction_of,
    sorted_by,
    unpack_amount_key,
    unpack_key,
)
from headwater.events.page_walk import Walked, start_walk
from headwater.events.space_amounts import (
    AMOUNT_COLUMNS,
    EventAmount,
    exchange_amounts,
    exchanged,
    show_amount,
)
from headwater.http.errors import NotFound
from headwater.http.inputs.pagination import Page, Position, page_of
from headwater.people.contacts.filters import compose_all

queries = Queries(__name__, "events.sql")
_FETCH = queries["fetch"].format(amount=AMOUNT_COLUMNS)

MOST_FORMS = 256
"""The statements of pages that a process keeps, of some ten thousand characters."""


async def list_events(connection: AsyncConnection, space_id: int, request: ListEvents) -> Page:
    """One page, newest first. Needs a transaction in which all statements see the same rows.

    It walks over the events first, and then reads their rows, event by event, until the page is
    full: however long their paths are, only the part that is listed is computed.
    """
    selection = request.selection
    conditions, bound = conditions_of(selection)
    bound |= {"space_id": space_id, "source_names": list(selection.sources.api_names)}
    if selection.attribution:
        bound |= selection.attribution.parameters()
    walked = Walked(connection, space_id, request, conditions, bound)
    walk = start_walk(walked)
    most = request.per_page + 1
    rows: list[tuple[Any, ...]] = []
    while len(rows) < most and (event_ids := await walk.next_events(most)):
        page = _page(_form_of(request, walk.unmet))
        rows += await _rows_of(walked, page, event_ids, most - len(rows))
    key_of = unpack_amount_key if request.by_amount else unpack_key
    rows = rows[::-1] if walked.backward else rows
    return page_of(rows, request.per_page, request.at, key_of)


async def _rows_of(
    walked: Walked, page: Statement, event_ids: list[int], limit: int
) -> list[tuple[Any, ...]]:
    """The first rows of these events, at most `limit`."""
    await walked.plan(by_key=True)
    bound = walked.bound | {"event_ids": array(event_ids), "limit": limit}
    if fields.IN_SPACE_CURRENCY in walked.request.selection.fields:
        bound |= await exchange_amounts(walked.connection, walked.space_id, event_ids)
    return await (await page.execute(walked.connection, bound)).fetchall()


async def fetch_event(connection: AsyncConnection, space_id: int, event_id: int) -> str:
    """One event as JSON. Raises NotFound."""
    values: dict[str, Any] = {"space_id": space_id, "event_id": event_id}
    cursor = await connection.execute(_FETCH, values)
    row = await cursor.fetchone()
    if row is None:
        raise NotFound("Event")
    line, *columns = row
    amount = await show_amount(connection, space_id, EventAmount._make(columns))
    return amount.add_to(line)


async def find_order(connection: AsyncConnection, space_id: int, number: str, limit: int) -> list[int]:
    """Return the ids of an order's events, oldest first and at most `limit`. `number` is the id or
    the name of the order, with or without a leading #.
    """
    bare = number.removeprefix("#")
    values = {"space_id": space_id, "numbers": [number, bare, f"#{bare}"], "limit": limit}
    return [event_id for (event_id,) in await fetch_all(connection, queries["of_order"], values)]


async def lock_event(connection: AsyncConnection, space_id: int, event_id: int) -> None:
    """Keep an event as it is until the end of the transaction."""
    await connection.execute(queries["lock"], {"space_id": space_id, "event_id": event_id})


async def sum_refunds(connection: AsyncConnection, space_id: int, event_id: int) -> tuple[int, Decimal]:
    """The number of refunds of an event's order, and their amounts together, which are negative."""
    values = {"space_id": space_id, "event_id": event_id}
    count, amount = await fetch_one(connection, queries["refunds"], values)
    return count, amount


def conditions_of(selection: EventSelection) -> tuple[list[Composable], dict[str, Any]]:
    """The conditions of a selection on events `e`, and the values that they bind."""
    conditions: list[Composable] = [SQL("e.event_time >= %(start)s AND e.event_time < %(end)s")]
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


@dataclass(frozen=True)
class _PageForm:
    """All that decides the statement of a page."""

    fields: tuple[str, ...]
    attribution: Attribution | None
    """Without sources and weights, which are values."""
    at: Position | None
    """Without the values of its key."""
    by_amount: bool
    unmet: str
    """The conditions that the events have yet to meet, if any."""


def _form_of(request: ListEvents, unmet: Sequence[Composable]) -> _PageForm:
    attribution, at = request.selection.attribution, request.at
    return _PageForm(
        request.selection.fields,
        attribution and replace(attribution, source_ids=(), weights=()),
        at and Position(at.backward, (0,) * len(at.key)),
        request.by_amount,
        SQL(" AND ").join(unmet).as_string(),
    )


@lru_cache(maxsize=MOST_FORMS)
def _page(form: _PageForm) -> Statement:
    event_key = key = AMOUNT_KEY if form.by_amount else EVENT_KEY
    direction = direction_of(form.at)
    only = SQL(" AND ").join([SQL("true"), *beyond(form.at, event_key.inside, events=False)])
    amounts = fields.amounts_of_rows(form.fields)
    is_exchanged = len(amounts) > 1
    chosen = queries["chosen"].format(**exchanged("found", with_amount=is_exchanged))
    in_turn = SQL("e.nth")
    if form.unmet:
        in_turn = sorted_by(event_key.inside, direction)
        unmet = SQL(cast("LiteralString", form.unmet))
        chosen = queries["candidates"].format(
            conditions=unmet, order=in_turn, **exchanged("e", with_amount=is_exchanged)
        )
    if form.attribution:
        rows = credited_rows(form.attribution, only, chosen, amounts=amounts)
        credit, key = fields.credit_of(MODELS[form.attribution.model]), CREDIT_KEY
    else:
        also = SQL(", e.space_amount" if is_exchanged else "")
        rows = queries["plain_rows"].format(events=chosen, only=only, also=also)
        credit = fields.OF_EVENT
    touches = key.inside[len(event_key.inside) :]
    return Statement.of(
        queries["page"].format(
            rows=rows,
            order=SQL(", ").join([in_turn, *(SQL("{} {}").format(part, direction) for part in touches)]),
            line=fields.line(form.fields, credit),
            key=key.packed,
            joins=fields.joins(form.fields),
            page_order=sorted_by(key.outside, direction),
        )
    )
