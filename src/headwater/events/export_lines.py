"""Export a selection of stored events: the same rows as List Events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL, Composable, Composed

from headwater.attribution.models import MODELS
from headwater.attribution.query import Attribution, credited_rows, holders_query, narrowing
from headwater.database.json_lines import Lines
from headwater.events import fields
from headwater.events.models import EventSelection
from headwater.events.order import CREDIT_KEY, EVENT_KEY, sorted_by
from headwater.events.queries import compose_conditions, queries
from headwater.events.space_amounts import compose_exchange, exchange_in_parts
from headwater.events.trained_selection import apply_trained_model
from headwater.http.inputs.pagination import NEWEST_FIRST

_NEWEST_EVENTS = sorted_by(EVENT_KEY.inside, NEWEST_FIRST)


def compose_event_lines(connection: Connection[Any], space_id: int, selection: EventSelection) -> Lines:
    """Return the newest first. Needs the transaction that will read them. Raises Invalid if the model's
    training run does not exist.
    """
    selection = apply_trained_model(connection, space_id, selection)
    conditions, bound = compose_conditions(selection)
    bound |= {"space_id": space_id, "source_names": list(selection.sources.api_names)}
    counted = queries["count"].format(only=SQL(" AND ").join(conditions))
    columns = fields.columns(selection.fields)
    attribution = selection.attribution
    if attribution is None:
        query = _plain_lines(selection.fields, conditions)
    else:
        holders = connection.execute(*holders_query(attribution, space_id)).fetchone()
        narrowed = narrowing(attribution, holders)
        conditions.append(narrowed.only)
        bound |= narrowed.parameters | attribution.parameters()
        query = _credited_lines(attribution, selection.fields, conditions)
    lines = Lines(query, counted, "events", bound, columns)
    if fields.IN_SPACE_CURRENCY not in selection.fields:
        return lines
    only = SQL(" AND ").join(conditions)
    return replace(lines, parts=exchange_in_parts(connection, only, bound))


def _plain_lines(names: Sequence[str], conditions: Sequence[Composable]) -> Composed:
    return queries["plain_lines"].format(
        line=fields.line(names, fields.EVENT_AMOUNTS),
        joins=fields.joins(names, {"e"}),
        only=SQL(" AND ").join(conditions),
        order=_NEWEST_EVENTS,
        **compose_exchange("e", with_amount=fields.IN_SPACE_CURRENCY in names),
    )


def _credited_lines(
    attribution: Attribution, names: Sequence[str], conditions: Sequence[Composable]
) -> Composed:
    parts = fields.line_parts(names, fields.compose_credit(MODELS[attribution.model]))
    amounts = fields.select_amounts(names)
    shared = [line_part for line_part in parts if line_part.is_per_event]
    varying = [line_part for line_part in parts if not line_part.is_per_event]
    events = queries["events_in_parts"].format(
        parts=SQL(", ").join(
            SQL("{} AS {}").format(line_part.json, line_part.column) for line_part in shared
        ),
        joins=fields.joins([name for line_part in shared for name in line_part.names], {"e"}),
        only=SQL(" AND ").join(conditions),
        order=_NEWEST_EVENTS,
        **compose_exchange("e", with_amount=len(amounts) > 1),
    )
    also = [SQL("e.{}").format(line_part.column) for line_part in shared]
    return queries["credited_lines"].format(
        line=SQL(" || ").join(
            SQL("c.{}").format(line_part.column) if line_part.is_per_event else line_part.json
            for line_part in parts
        ),
        rows=credited_rows(attribution, SQL("true"), events, also, amounts),
        joins=fields.joins([name for line_part in varying for name in line_part.names]),
        order=sorted_by(CREDIT_KEY.outside, NEWEST_FIRST),
    )
