"""The history of a Space's data. Revisions number its changes in commit order: a snapshot that sees a number
sees exactly the changes up to it. Former rows are copies of events, touchpoints and spend before each change,
with its cause; the changing transaction writes them and the ids of added rows. A background job deletes old
ones.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from psycopg import AsyncConnection, Connection

from headwater.attribution.paths.path_data import NO_NUMBERS, IntArray
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "revisions.sql")

DRAW_REVISION = queries["draw"]
"""Binds `space_id`. Run once in a transaction that changes report data, before its first change and after any
lock on the Space.
"""


class ChangeCause(StrEnum):
    """The cause of a change, in the order of causes within a revision."""

    NEW_EVENTS = "new_events"
    """An event later than the earlier snapshot."""
    LATE_EVENTS = "late_events"
    """An earlier event that arrived after the earlier snapshot."""
    LATE_TOUCHES = "late_touches"
    """A touchpoint that arrived after its event."""
    WITHDRAWN_TOUCHES = "withdrawn_touches"
    """A page view that no longer starts a visit because an earlier one arrived."""
    MERGES = "merges"
    UNMERGES = "unmerges"
    EDITS = "edits"
    DELETIONS = "deletions"
    REPLACEMENTS = "replacements"
    """A browser event was replaced by the same event from a server."""
    CLASSIFICATION = "classification"
    """Source names were applied to stored touchpoints."""
    SPEND_DELETIONS = "spend_deletions"
    SPEND_REPLACEMENTS = "spend_replacements"
    """A platform restated its spend."""
    SPEND_IMPORTS = "spend_imports"
    """Spend was added."""
    RATES = "rates"
    TRAINED_MODELS = "trained_models"
    """Another trained model was used."""
    HALF_LIFE = "half_life"


OF_SPEND = (ChangeCause.SPEND_DELETIONS, ChangeCause.SPEND_REPLACEMENTS, ChangeCause.SPEND_IMPORTS)
"""Causes in the spend ledger, in their order within a revision."""


class Point(NamedTuple):
    revision: int
    era: int
    """Changes with a restore: revisions of different eras can't be compared."""


class Latest(NamedTuple):
    point: Point
    known_from: int
    """The first revision whose changes are still stored."""
    at: datetime


async def fetch_latest(connection: AsyncConnection, space_id: int) -> Latest:
    """Return the latest visible revision's numbers."""
    row = await fetch_one(connection, queries["latest"], {"space_id": space_id})
    revision, era, known_from, taken_at = row
    return Latest(Point(revision, era), known_from, taken_at)


async def fetch_revision_at(connection: AsyncConnection, space_id: int, moment: datetime) -> int | None:
    """Return None if no longer stored."""
    values = {"space_id": space_id, "moment": moment}
    row = await (await connection.execute(queries["at"], values)).fetchone()
    return row[0] if row is not None else None


def begin_era(connection: Connection[Any]) -> None:
    """Make earlier revisions incomparable in all Spaces."""
    connection.execute(queries["begin_era"], {"era": secrets.randbelow(2**31 - 1) + 1})


RETENTION = timedelta(days=400)
"""Report snapshots of at most this age can be compared."""
LOOK_SECONDS = 3600.0

# Statements, not functions: the pipeline's connection is synchronous, the API's asynchronous.
KEEP_EVENTS = queries["keep_events"]
"""Binds `space_id`, `event_ids`, `cause`, and `successor_ids`: the events that replace these, or none. Run
after DRAW_REVISION, before the change.
"""
KEEP_SPEND = queries["keep_spend"]
"""Binds `space_id`, `cause` and the parameters of `rows`, a SELECT of ledger rows. Run at the same time."""
NOTE_ADDED = queries["note_added"]
"""Binds `space_id`, and `event_ids` and `touchpoint_ids` from `pack_ids`."""
NOTE_PULLED = queries["note_pulled"]
"""Binds `space_id` and `pulled_at`. Run after the change, in its transaction."""
_HEAD = 9
"""Bytes before the differences: their width and the lowest id."""


def keep_events(
    connection: Connection[Any],
    space_id: int,
    ids: Sequence[int],
    cause: ChangeCause,
    successor_ids: Sequence[int] = (),
) -> None:
    if ids:
        values = {
            "space_id": space_id,
            "event_ids": [*ids],
            "cause": cause,
            "successor_ids": [*successor_ids],
        }
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


def make_forgetting_duty(seconds: float = LOOK_SECONDS, retention: timedelta = RETENTION) -> Duty:

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
        return NO_NUMBERS
    differences = np.frombuffer(packed[_HEAD:], dtype=f">u{packed[0]}").astype(np.int64)
    return differences + int.from_bytes(packed[1:_HEAD])
