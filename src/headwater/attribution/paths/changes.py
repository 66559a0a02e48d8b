"""Notes of the events whose paths or amounts change, written by the transaction that changes them.
Until such an event is in a segment anew, reports read it straight from the tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psycopg import Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries

queries = Queries(__name__, "changes.sql")

# Statements, not functions: the pipeline's connection blocks, the API's is asynchronous, and both
# run the same statements.
NOTE_EVENTS = queries["events"]
"""Binds `space_id` and `event_ids`. Run before events are deleted, after any other change."""
NOTE_CONTACTS = queries["contacts"]
"""Notes every event of two contacts. Binds `space_id`, `contact_id` and `survivor_id`."""


def note_new_events(connection: Connection[Any], space_id: int, events: Iterable[tuple[int, int]]) -> None:
    """Note new events, by id and time in microseconds since 1970."""
    noted = [{"id": event_id, "event_time": at} for event_id, at in events]
    if noted:
        values = {"space_id": space_id, "events": rows(noted)}
        connection.execute(queries["new_events"], values)


def note_events(connection: Connection[Any], space_id: int, event_ids: list[int]) -> None:
    """Note stored events that are about to go."""
    if event_ids:
        connection.execute(NOTE_EVENTS, {"space_id": space_id, "event_ids": event_ids})


def note_touches(connection: Connection[Any], space_id: int, touches: Iterable[tuple[int, int]]) -> None:
    """Note the stored events after new or withdrawn touches, by the contact and time of each, in
    microseconds since 1970.
    """
    earliest: dict[int, int] = {}
    for contact_id, at in touches:
        earliest[contact_id] = min(at, earliest.get(contact_id, at))
    if earliest:
        noted = [{"contact_id": contact, "occurred_at": at} for contact, at in earliest.items()]
        values = {"space_id": space_id, "touches": rows(noted)}
        connection.execute(queries["after_touches"], values)
