"""A selection of stored events as lines of an export: the rows that List Events would return."""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.sql import SQL

from headwater.attribution.models import MODELS
from headwater.attribution.query import credited_rows, holders_query, narrowing
from headwater.database.json_lines import Lines
from headwater.events import fields
from headwater.events.models import EventSelection
from headwater.events.queries import (
    CREDIT_KEY,
    EVENT_KEY,
    NEWEST_FIRST,
    conditions_of,
    queries,
    sorted_by,
)
from headwater.sources.catalogue import SOURCES


def event_lines(connection: Connection[Any], space_id: int, selection: EventSelection) -> Lines:
    """The rows of a selection, newest first. Needs the transaction in which they will be read."""
    conditions, bound = conditions_of(selection)
    bound |= {"space_id": space_id, "source_names": list(SOURCES)}
    counted = queries["count"].format(only=SQL(" AND ").join(conditions))
    if selection.attribution is None:
        query = queries["plain_lines"].format(
            columns=fields.columns(selection.fields, SQL("c.amount")),
            joins=fields.joins(selection.fields, {"e"}),
            only=SQL(" AND ").join(conditions),
            order=sorted_by(EVENT_KEY[0], NEWEST_FIRST),
        )
        return Lines(query, counted, "events", bound)
    attribution = selection.attribution
    holders = connection.execute(*holders_query(attribution, space_id)).fetchone()
    narrowed = narrowing(attribution, holders)
    bound |= narrowed.parameters | attribution.parameters()
    rows = credited_rows(attribution, SQL(" AND ").join([*conditions, narrowed.only]))
    query = queries["credited_lines"].format(
        columns=fields.columns(selection.fields, MODELS[attribution.model].credit),
        rows=rows,
        joins=fields.joins(selection.fields),
        order=sorted_by(CREDIT_KEY[1], NEWEST_FIRST),
    )
    return Lines(query, counted, "events", bound)
