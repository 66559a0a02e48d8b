"""Export a selection of stored events: the same rows as List Events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL, Composable, Composed

from headwater.attribution.models import MODELS, CreditedTouches
from headwater.attribution.query import Attribution, credited_rows, holders_query, narrowing
from headwater.database.json_lines import Lines
from headwater.events import fields
from headwater.events.models import EventSelection
from headwater.events.order import CREDIT_KEY, EVENT_KEY, sorted_by
from headwater.events.queries import compose_conditions, queries
from headwater.events.space_amounts import compose_exchange, exchange_in_slices
from headwater.events.trained_selection import apply_trained_model
from headwater.http.inputs.pagination import NEWEST_FIRST

SLICE_EVENTS = 50_000
"""Events that are credited, converted and sorted at a time: few enough for the memory of a sort."""
_BY_OWNER = (SQL("e.contact_id, e.event_time"), SQL("e.company_id, e.contact_id, e.event_time"))
"""The order of the index that finds touches, without companies and with them."""
_NEWEST_EVENTS = sorted_by(EVENT_KEY.inside, NEWEST_FIRST)


def compose_event_lines(connection: Connection[Any], space_id: int, selection: EventSelection) -> Lines:
    """Return the newest first. Needs the transaction that will read them. Raises Invalid if the model's
    training run does not exist.
    """
    selection = apply_trained_model(connection, space_id, selection)
    conditions, bound = compose_conditions(selection)
    bound |= {"space_id": space_id, "source_names": list(selection.sources.api_names)}
    row_count_query = queries["count"].format(condition=SQL(" AND ").join(conditions))
    columns = fields.columns(selection.fields)
    attribution = selection.attribution
    if attribution is None:
        query = _plain_lines(selection.fields, conditions)
    else:
        holders = connection.execute(*holders_query(attribution, space_id)).fetchone()
        narrowed = narrowing(attribution, holders)
        conditions.append(narrowed.condition)
        bound |= narrowed.parameters | attribution.parameters()
        query = _credited_lines(attribution, selection.fields, conditions)
    lines = Lines(query, row_count_query, bound, columns)
    is_exchanged = fields.IN_SPACE_CURRENCY in selection.fields
    if not is_exchanged and (attribution is None or MODELS[attribution.model].take is CreditedTouches.EACH):
        return lines
    condition = SQL(" AND ").join(conditions)
    slices = _time_slices(connection, condition, bound)
    return replace(
        lines, parts=exchange_in_slices(connection, slices, condition, bound) if is_exchanged else slices
    )


def _time_slices(
    connection: Connection[Any], condition: Composable, bound: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the `start` and `end` of each slice of a selection, newest first. Events of the same time are in
    the same slice.
    """
    statement = queries["slice_start"].format(condition=condition)
    start, end = None, bound["end"]
    while start != bound["start"]:
        row = connection.execute(statement, {**bound, "end": end, "slice_events": SLICE_EVENTS}).fetchone()
        start = row[0] if row else bound["start"]
        yield {"start": start, "end": end}
        end = start


def _plain_lines(names: Sequence[str], conditions: Sequence[Composable]) -> Composed:
    return queries["plain_lines"].format(
        line=fields.line(names, fields.EVENT_AMOUNTS),
        joins=fields.joins(names, {"e"}),
        condition=SQL(" AND ").join(conditions),
        order=_NEWEST_EVENTS,
        **compose_exchange("e", with_amount=fields.IN_SPACE_CURRENCY in names),
    )


def _credited_lines(
    attribution: Attribution, names: Sequence[str], conditions: Sequence[Composable]
) -> Composed:
    model = MODELS[attribution.model]
    is_shared_out = model.take is CreditedTouches.EACH
    parts = fields.line_parts(names, fields.compose_credit(model))
    shared_parts = [line_part for line_part in parts if line_part.is_per_event and is_shared_out]
    other_names = [name for line_part in parts if line_part not in shared_parts for name in line_part.names]
    columns = [(SQL("e.{}").format(name), name) for name in fields.event_columns(other_names)]
    columns += [(line_part.json, line_part.column) for line_part in shared_parts]
    amounts = fields.select_amounts(names)
    events = queries["credited_events"].format(
        columns=SQL("").join(SQL(", {} AS {}").format(*column) for column in columns),
        joins=fields.joins([name for line_part in shared_parts for name in line_part.names], {"e"}),
        condition=SQL(" AND ").join(conditions),
        order=_NEWEST_EVENTS if is_shared_out else _BY_OWNER[attribution.by_company],
        **compose_exchange("e", with_amount=len(amounts) > 1),
    )
    event_columns = [SQL("e.{}").format(name) for _, name in columns]
    return queries["credited_lines"].format(
        line=SQL(" || ").join(
            SQL("e.{}").format(line_part.column) if line_part in shared_parts else line_part.json
            for line_part in parts
        ),
        rows=credited_rows(attribution, SQL("true"), events, event_columns, amounts),
        columns=SQL(", ").join(SQL("c.{}").format(name) for _, name in columns),
        joins=fields.joins(other_names, {"e"}),
        order=sorted_by(CREDIT_KEY.outside, NEWEST_FIRST),
    )
