"""Revisions: the changes of a Space's report data, numbered in the order of their commits. A database
snapshot that sees a number sees all changes up to it and none after it.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "revisions.sql")

DRAW_REVISION = queries["draw"]
"""Binds `space_id`. Run once in a transaction that changes report data: before its first change, and after
its lock on the Space, if it takes one.
"""


class ChangeCause(StrEnum):
    """The causes of a changed figure, in the order in which one revision can have several."""

    NEW_EVENTS = "new_events"
    """An event later than the earlier snapshot."""
    LATE_EVENTS = "late_events"
    """An earlier event that arrived after the earlier snapshot."""
    LATE_TOUCHES = "late_touches"
    """A touchpoint that arrived after an event that it precedes."""
    WITHDRAWN_TOUCHES = "withdrawn_touches"
    """A page view that no longer starts a visit because an earlier one arrived."""
    MERGES = "merges"
    """Two contacts were merged."""
    UNMERGES = "unmerges"
    """A merge was undone."""
    EDITS = "edits"
    """An amount was changed."""
    DELETIONS = "deletions"
    """An event was deleted."""
    REPLACEMENTS = "replacements"
    """A browser event was replaced by the same event from a server."""
    CLASSIFICATION = "classification"
    """The Space's source names were applied to stored touchpoints."""
    SPEND_DELETIONS = "spend_deletions"
    """Rows of the spend ledger were deleted."""
    SPEND_REPLACEMENTS = "spend_replacements"
    """A platform restated a row of the spend ledger."""
    SPEND_IMPORTS = "spend_imports"
    """A row was added to the spend ledger."""
    RATES = "rates"
    """Exchange rates were added or changed."""
    FITS = "fits"
    """Another trained model was used for credit."""
    HALF_LIFE = "half_life"
    """The Space's half-life was changed."""


OF_SPEND = (ChangeCause.SPEND_DELETIONS, ChangeCause.SPEND_REPLACEMENTS, ChangeCause.SPEND_IMPORTS)
"""Causes in the spend ledger, in the order in which one revision can have several."""


class Point(NamedTuple):
    """A revision of a Space."""

    revision: int
    """The number of the latest change."""
    era: int
    """Differs after the installation was restored: revisions of different eras can't be compared."""


class Latest(NamedTuple):
    """The latest revision of a Space."""

    point: Point
    known_from: int
    """The first revision whose changes are still stored."""
    at: datetime


async def fetch_latest(connection: AsyncConnection, space_id: int) -> Latest:
    """Return the latest revision that the database snapshot sees."""
    row = await fetch_one(connection, queries["latest"], {"space_id": space_id})
    revision, era, known_from, at = row
    return Latest(Point(revision, era), known_from, at)


async def fetch_revision_at(connection: AsyncConnection, space_id: int, moment: datetime) -> int | None:
    """Return the revision at a moment; None when it is no longer stored."""
    values = {"space_id": space_id, "moment": moment}
    row = await (await connection.execute(queries["at"], values)).fetchone()
    return row[0] if row is not None else None


def begin_era(connection: Connection[Any]) -> None:
    """Start a new era in all Spaces: earlier revisions can no longer be compared."""
    connection.execute(queries["begin_era"], {"era": secrets.randbelow(2**31 - 1) + 1})
