"""Former rows: copies of events, touchpoints and spend before each change, with its cause, and the ids of
added rows. The changing transaction writes them; a background job deletes old ones.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from psycopg import Connection

from headwater.attribution.history.revisions import ChangeCause
from headwater.attribution.paths.path_data import IntArray
from headwater.database.bulk_values import rows
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries

queries = Queries(__name__, "former_rows.sql")

KEPT = timedelta(days=400)
"""Report snapshots of at most this age can be compared."""
LOOK_SECONDS = 3600.0

# Statements, not functions: the pipeline's connection is synchronous, the API's asynchronous.
KEEP_EVENTS = queries["keep_events"]
"""Binds `space_id`, `event_ids` and `cause`. Run after DRAW_REVISION, before the change."""
KEEP_SPEND = queries["keep_spend"]
"""Binds `space_id`, `cause` and the parameters of `rows`, a SELECT of ledger rows. Run at the same time."""
NOTE_ADDED = queries["note_added"]
"""Binds `space_id`, and `event_ids` and `touchpoint_ids` from `pack_ids`."""
_HEAD = 9
"""Bytes before the differences: their width and the lowest id."""


def keep_replaced(connection: Connection[Any], space_id: int, replaced: Collection[object]) -> None:
    """Store events before their replacement; items have `id` and its `event_id`."""
    if replaced:
        values = {"space_id": space_id, "replaced": rows(replaced), "cause": ChangeCause.REPLACEMENTS}
        connection.execute(queries["keep_replaced"], values)


def keep_events(connection: Connection[Any], space_id: int, ids: Collection[int], cause: ChangeCause) -> None:
    if ids:
        values = {"space_id": space_id, "event_ids": list(ids), "cause": cause}
        connection.execute(KEEP_EVENTS, values)


def keep_touchpoints(
    connection: Connection[Any], space_id: int, ids: Collection[int], cause: ChangeCause
) -> None:
    if ids:
        values = {"space_id": space_id, "touchpoint_ids": list(ids), "cause": cause}
        connection.execute(queries["keep_touchpoints"], values)


def forget_tag_sets(connection: Connection[Any], space_id: int, ids: Collection[int]) -> None:
    values = {"space_id": space_id, "ids": list(ids)}
    connection.execute(queries["forget_tag_sets"], values)


def note_added(
    connection: Connection[Any], space_id: int, event_ids: Collection[int], touchpoint_ids: Collection[int]
) -> None:
    if event_ids or touchpoint_ids:
        values = {
            "space_id": space_id,
            "event_ids": pack_ids(event_ids),
            "touchpoint_ids": pack_ids(touchpoint_ids),
        }
        connection.execute(NOTE_ADDED, values)


def make_forgetting_duty(seconds: float = LOOK_SECONDS, retention: timedelta = KEPT) -> Duty:

    def waiting(connection: Connection[Any]) -> list[int]:
        values = {"before": datetime.now(UTC) - retention}
        return [space_id for (space_id,) in connection.execute(queries["outdated"], values)]

    def attend(connection: Connection[Any], space_id: int) -> bool:
        forget(connection, space_id, datetime.now(UTC) - retention)
        return False

    return Duty(waiting, attend, pause_seconds=seconds, name="history")


def forget(connection: Connection[Any], space_id: int, before: datetime) -> None:
    with connection.transaction():
        connection.execute(queries["forget"], {"space_id": space_id, "before": before})


def pack_ids(ids: Collection[int]) -> bytes:
    """Pack ids into bytes: the width of differences (1, 2, 4 or 8), the lowest id, and each difference. A
    batch's ids are close together, and take one or two bytes.
    """
    if not ids:
        return b""
    values = np.array(sorted(ids), dtype=np.int64)
    differences = values - values[0]
    width = np.min_scalar_type(int(differences[-1])).itemsize
    return bytes([width]) + int(values[0]).to_bytes(8) + differences.astype(f">u{width}").tobytes()


def unpack_ids(packed: bytes) -> IntArray:
    if not packed:
        return np.array([], dtype=np.int64)
    differences = np.frombuffer(packed[_HEAD:], dtype=f">u{packed[0]}").astype(np.int64)
    return differences + int.from_bytes(packed[1:_HEAD])
