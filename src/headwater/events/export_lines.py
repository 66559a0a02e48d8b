"""A selection of stored events as lines of an export: the rows that List Events would return."""

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
from headwater.events.fitted_selection import load_fitted
from headwater.events.models import EventSelection
from headwater.events.order import CREDIT_KEY, EVENT_KEY, NEWEST_FIRST, sorted_by
from headwater.events.queries import conditions_of, queries
from headwater.events.space_amounts import exchange_in_parts, exchanged

_NEWEST_EVENTS = sorted_by(EVENT_KEY.inside, NEWEST_FIRST)


def event_lines(connection: Connection[Any], space_id: int, selection: EventSelection) -> Lines:
    """The rows of a selection, newest first. Needs the transaction in which they will be read.
    Raises Invalid where its model goes by a fit that there is not.
    """
    selection = load_fitted(connection, space_id, selection)
    conditions, bound = conditions_of(selection)
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
        line=fields.line(names, fields.OF_EVENT),
        joins=fields.joins(names, {"e"}),
        only=SQL(" AND ").join(conditions),
        order=_NEWEST_EVENTS,
        **exchanged("e", with_amount=fields.IN_SPACE_CURRENCY in names),
    )


def _credited_lines(
    attribution: Attribution, names: Sequence[str], conditions: Sequence[Composable]
) -> Composed:
    parts = fields.line_parts(names, fields.credit_of(MODELS[attribution.model]))
    amounts = fields.amounts_of_rows(names)
    once = [part for part in parts if part.of_event]
    each = [part for part in parts if not part.of_event]
    events = queries["events_in_parts"].format(
        parts=SQL(", ").join(SQL("{} AS {}").format(part.json, part.column) for part in once),
        joins=fields.joins([name for part in once for name in part.names], {"e"}),
        only=SQL(" AND ").join(conditions),
        order=_NEWEST_EVENTS,
        **exchanged("e", with_amount=len(amounts) > 1),
    )
    also = [SQL("e.{}").format(part.column) for part in once]
    return queries["credited_lines"].format(
        line=SQL(" || ").join(
            SQL("c.{}").format(part.column) if part.of_event else part.json for part in parts
        ),
        rows=credited_rows(attribution, SQL("true"), events, also, amounts),
        joins=fields.joins([name for part in each for name in part.names]),
        order=sorted_by(CREDIT_KEY.outside, NEWEST_FIRST),
    )
