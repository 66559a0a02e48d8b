"""Revisions: numbers of a Space's data changes in commit order. A snapshot that sees a number sees exactly
the changes up to it.
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
