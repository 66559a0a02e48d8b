"""Read stored events: a page of a selection, or one event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, LiteralString, cast

from msgspec import Struct
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
    sorted_by,
    unpack_amount_key,
    unpack_key,
)
from headwater.events.page_walk import PageEvents, start_walk
from headwater.events.space_amounts import (
    AMOUNT_COLUMNS,
    EventAmount,
    compose_exchange,
    exchange_amounts,
    show_amount,
)
from headwater.http.errors import require_found
from headwater.http.inputs.pagination import Page, Position, make_page, sort_direction
from headwater.people.contacts.filters import compose_all

queries = Queries(__name__, "events.sql")
_FETCH = queries["fetch"].format(amount=AMOUNT_COLUMNS)
IS_REFUND = queries["is_refund"]
"""The condition that event `r` is a refund of order `e` in Space `s`."""
_REFUNDS = queries["refunds"].format(is_refund=IS_REFUND)

MAX_PAGE_STATEMENTS = 256
"""Statements cached by a process, of about 10,000 characters."""


async def list_events(connection: AsyncConnection, space_id: int, request: ListEvents) -> Page:
    """Return one page, newest first. Needs a transaction with one snapshot.

    Finds events first and reads their rows until the page is full, so that long paths are computed only as
    far as listed.
    """
    selection = request.selection
    conditions, bound = compose_conditions(selection)
    bound |= {"space_id": space_id, "source_names": list(selection.sources.api_names)}
    if selection.attribution:
        bound |= selection.attribution.parameters()
    page_events = PageEvents(connection, space_id, request, conditions, bound)
    walk = start_walk(page_events)
    limit = request.per_page + 1
    rows: list[tuple[Any, ...]] = []
    while len(rows) < limit and (event_ids := await walk.next_events(limit)):
        page = _page(_page_form(request, walk.unmet))
        rows += await _fetch_rows(page_events, page, event_ids, limit - len(rows))
    unpack = unpack_amount_key if request.by_amount else unpack_key
    rows = rows[::-1] if page_events.backward else rows
    return make_page(rows, request.per_page, request.position, unpack)


async def _fetch_rows(
    walked: PageEvents, page: Statement, event_ids: list[int], limit: int
) -> list[tuple[Any, ...]]:
    await walked.plan(by_key=True)
    bound = walked.bound | {"event_ids": array(event_ids), "limit": limit}
    if fields.IN_SPACE_CURRENCY in walked.request.selection.fields:
        bound |= await exchange_amounts(walked.connection, walked.space_id, event_ids)
    return await (await page.execute(walked.connection, bound)).fetchall()


async def fetch_event(connection: AsyncConnection, space_id: int, event_id: int) -> str:
    """Return an event as JSON. Raises NotFound."""
    values: dict[str, Any] = {"space_id": space_id, "event_id": event_id}
    cursor = await connection.execute(_FETCH, values)
    row = require_found(await cursor.fetchone(), "Event")
    line, *columns = row
    amount = await show_amount(connection, space_id, EventAmount._make(columns))
    return amount.add_to(line)


async def find_order(connection: AsyncConnection, space_id: int, number: str, limit: int) -> list[int]:
    """Return event ids, oldest first. `number` is the order's id or name, with or without a leading #."""
    plain_number = number.removeprefix("#")
    values = {"space_id": space_id, "numbers": [number, plain_number, f"#{plain_number}"], "limit": limit}
    return [event_id for (event_id,) in await fetch_all(connection, queries["of_order"], values)]


async def lock_event(connection: AsyncConnection, space_id: int, event_id: int) -> None:
    await connection.execute(queries["lock"], {"space_id": space_id, "event_id": event_id})


async def sum_refunds(connection: AsyncConnection, space_id: int, event_id: int) -> tuple[int, Decimal]:
    """Return the number of refunds, and their sum, which is negative."""
    values = {"space_id": space_id, "event_id": event_id}
    count, amount = await fetch_one(connection, _REFUNDS, values)
    return count, amount


def compose_conditions(selection: EventSelection) -> tuple[list[Composable], dict[str, Any]]:
    """Return conditions on events `e`, and their bound values."""
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
        contact_conditions, values = compose_all(selection.conditions)
        conditions.append(queries["of_contacts"].format(conditions=contact_conditions))
        bound |= values
    return conditions, bound


class _PageForm(Struct, frozen=True):
    fields: tuple[str, ...]
    attribution: Attribution | None
    """Without sources and weights, which are bound as values."""
    position: Position | None
    """With zeros for the values of its key."""
    by_amount: bool
    unmet: str


def _page_form(request: ListEvents, unmet: Sequence[Composable]) -> _PageForm:
    attribution, position = request.selection.attribution, request.position
    return _PageForm(
        request.selection.fields,
        attribution and replace(attribution, source_ids=(), weights=()),
        position and Position(position.backward, (0,) * len(position.key)),
        request.by_amount,
        SQL(" AND ").join(unmet).as_string(),
    )


@lru_cache(maxsize=MAX_PAGE_STATEMENTS)
def _page(form: _PageForm) -> Statement:
    event_key = key = AMOUNT_KEY if form.by_amount else EVENT_KEY
    direction = sort_direction(form.position)
    condition = SQL(" AND ").join([SQL("true"), *beyond(form.position, event_key.inside, events=False)])
    amounts = fields.select_amounts(form.fields)
    is_exchanged = len(amounts) > 1
    events = queries["chosen"].format(**compose_exchange("found", with_amount=is_exchanged))
    event_order = SQL("e.nth")
    if form.unmet:
        event_order = sorted_by(event_key.inside, direction)
        unmet_conditions = SQL(cast("LiteralString", form.unmet))
        events = queries["candidates"].format(
            conditions=unmet_conditions, order=event_order, **compose_exchange("e", with_amount=is_exchanged)
        )
    if form.attribution:
        rows = credited_rows(form.attribution, condition, events, amounts=amounts)
        credit, key = fields.compose_credit(MODELS[form.attribution.model]), CREDIT_KEY
    else:
        extra_columns = SQL(", e.space_amount" if is_exchanged else "")
        rows = queries["plain_rows"].format(events=events, condition=condition, also=extra_columns)
        credit = fields.EVENT_AMOUNTS
    touch_key = key.inside[len(event_key.inside) :]
    return Statement.of(
        queries["page"].format(
            rows=rows,
            order=SQL(", ").join(
                [event_order, *(SQL("{} {}").format(column, direction) for column in touch_key)]
            ),
            line=fields.line(form.fields, credit),
            key=key.packed,
            joins=fields.joins(form.fields),
            page_order=sorted_by(key.outside, direction),
        )
    )
