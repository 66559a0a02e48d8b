"""Records of events whose paths or amounts change, written by the changing transaction. Reports read them
from the tables until they are in a segment again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL

from headwater.attribution.paths.reader import OF_IDS
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries

queries = Queries(__name__, "changes.sql")

# Statements, not functions: the pipeline's connection is synchronous, the API's asynchronous.
NOTE_EVENTS = queries["events"].format(condition=OF_IDS)
"""Binds `space_id` and `event_ids`. Run before events are deleted, after any other change."""
NOTE_MOVES = queries["moves"]
"""Binds `space_id` and `moves`, rows of ContactMoves. Run before the moves."""
NOTE_CONTACTS = queries["events"].format(
    condition=SQL("e.contact_id = ANY(ARRAY[%(contact_id)s, %(survivor_id)s]::bigint[])")
)
"""Records every event of two contacts. Binds `space_id`, `contact_id` and `survivor_id`."""


def note_new_events(connection: Connection[Any], space_id: int, events: Iterable[tuple[int, int]]) -> None:
    """Record ids and times in Unix microseconds."""
    event_rows = [{"id": event_id, "event_time": event_time} for event_id, event_time in events]
    if event_rows:
        values = {"space_id": space_id, "events": rows(event_rows)}
        connection.execute(queries["new_events"], values)


def note_events(connection: Connection[Any], space_id: int, event_ids: list[int]) -> None:
    """Call before the deletion."""
    if event_ids:
        connection.execute(NOTE_EVENTS, {"space_id": space_id, "event_ids": event_ids})


def note_touches(connection: Connection[Any], space_id: int, touches: Iterable[tuple[int, int]]) -> None:
    """Record the stored events after new or withdrawn touches, given as contact and Unix microseconds."""
    earliest: dict[int, int] = {}
    for contact_id, occurred_at in touches:
        earliest[contact_id] = min(occurred_at, earliest.get(contact_id, occurred_at))
    if earliest:
        touch_rows = [
            {"contact_id": contact, "occurred_at": occurred_at} for contact, occurred_at in earliest.items()
        ]
        values = {"space_id": space_id, "touches": rows(touch_rows)}
        connection.execute(queries["after_touches"], values)
