"""Revisions: the changes of what a Space's reports are made of, counted. A report that reads in one
snapshot has read exactly the changes up to the number that it sees there.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "revisions.sql")

DRAW_REVISION = queries["draw"]
"""Binds `space_id`. Run once in a transaction that changes events, touchpoints or merges, before
its first change; after the lock on the Space, where it has one.
"""


class Point(NamedTuple):
    """A moment in a Space's past."""

    revision: int
    """The number of the latest change by then."""
    era: int
    """Points of different eras have no past in common."""


class Latest(NamedTuple):
    """The present of a Space."""

    point: Point
    known_from: int
    """The number from which on changes are known."""
    at: datetime


async def fetch_latest(connection: AsyncConnection, space_id: int) -> Latest:
    """Return the present that a snapshot sees."""
    row = await fetch_one(connection, queries["latest"], {"space_id": space_id})
    revision, era, known_from, at = row
    return Latest(Point(revision, era), known_from, at)


async def fetch_revision_at(connection: AsyncConnection, space_id: int, moment: datetime) -> int | None:
    """Return the number of the latest change by a moment; None where it is not known any more."""
    values = {"space_id": space_id, "moment": moment}
    row = await (await connection.execute(queries["at"], values)).fetchone()
    return row[0] if row is not None else None


def begin_era(connection: Connection[Any]) -> None:
    """Make points of before this moment those of another past, in all Spaces."""
    connection.execute(queries["begin_era"], {"era": secrets.randbelow(2**31 - 1) + 1})
