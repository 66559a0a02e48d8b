"""Rows as they were before a change, kept by the transaction that makes it, with its cause; and the
ids of rows that came with one. All of it is forgotten after a while.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import Connection

from headwater.attribution.history.causes import ChangeCause
from headwater.attribution.history.id_lists import pack_ids
from headwater.database.bulk_values import rows
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries

queries = Queries(__name__, "former_rows.sql")

KEPT = timedelta(days=400)
"""The time for which readings can be compared."""
LOOK_SECONDS = 3600.0

# A statement, not a function: the pipeline's connection blocks, the API's is asynchronous, and both
# run the same statement.
KEEP_EVENTS = queries["keep_events"]
"""Binds `space_id`, `event_ids` and `cause`. Run after DRAW_REVISION, before the change."""

KEEP_SPEND = queries["keep_spend"]
"""Binds `space_id`, `cause` and what `rows` binds, which selects rows of the ledger. Likewise."""
NOTE_ADDED = queries["note_added"]
"""Binds `space_id`, `event_ids` and `touchpoint_ids`, packed."""


def keep_replaced(connection: Connection[Any], space_id: int, replaced: Collection[object]) -> None:
    """Keep events whose place others take: objects with the `id` of each, and `event_id` of the
    other.
    """
    if replaced:
        values = {"space_id": space_id, "replaced": rows(replaced), "cause": ChangeCause.REPLACEMENTS}
        connection.execute(queries["keep_replaced"], values)


def keep_events(connection: Connection[Any], space_id: int, ids: Collection[int], cause: ChangeCause) -> None:
    """Keep events that are about to change or to go."""
    if ids:
        values = {"space_id": space_id, "event_ids": list(ids), "cause": cause}
        connection.execute(KEEP_EVENTS, values)


def keep_touchpoints(
    connection: Connection[Any], space_id: int, ids: Collection[int], cause: ChangeCause
) -> None:
    """Keep touchpoints that are about to change or to go."""
    if ids:
        values = {"space_id": space_id, "touchpoint_ids": list(ids), "cause": cause}
        connection.execute(queries["keep_touchpoints"], values)


def forget_tag_sets(connection: Connection[Any], space_id: int, ids: Collection[int]) -> None:
    """Forget which former touchpoints had some tag sets, which are gone with a person."""
    values = {"space_id": space_id, "ids": list(ids)}
    connection.execute(queries["forget_tag_sets"], values)


def note_added(
    connection: Connection[Any], space_id: int, event_ids: Collection[int], touchpoint_ids: Collection[int]
) -> None:
    """Note the events and touchpoints that came with a change."""
    if event_ids or touchpoint_ids:
        values = {
            "space_id": space_id,
            "event_ids": pack_ids(event_ids),
            "touchpoint_ids": pack_ids(touchpoint_ids),
        }
        connection.execute(NOTE_ADDED, values)


def make_forgetting_duty(seconds: float = LOOK_SECONDS, kept: timedelta = KEPT) -> Duty:
    """Return the duty to forget what is older than readings are kept for."""

    def waiting(connection: Connection[Any]) -> list[int]:
        values = {"before": datetime.now(UTC) - kept}
        return [space_id for (space_id,) in connection.execute(queries["outdated"], values)]

    def attend(connection: Connection[Any], space_id: int) -> bool:
        forget(connection, space_id, datetime.now(UTC) - kept)
        return False

    return Duty(waiting, attend, pause_seconds=seconds, name="history")


def forget(connection: Connection[Any], space_id: int, before: datetime) -> None:
    """Forget what a Space keeps from before a moment."""
    with connection.transaction():
        connection.execute(queries["forget"], {"space_id": space_id, "before": before})
