"""Pending reclassifications after a change of a Space's source names. intake/pipeline/reclassification.py
runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct
from psycopg import AsyncConnection, Connection
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries, fetch_all, make_cursor

queries = Queries(__name__, "reclassifications.sql")

RECLASSIFIED = "network\n"
"""The prefix of a name that is a paid network. No name for utm_source contains this character."""


class Reclassification(Struct, frozen=True):
    """A name whose change is being applied to stored rows."""

    name: str
    changed: int
    """Touchpoints with a new source or rule."""
    requested_at: datetime
    share: float
    """The finished share, from 0 to 1, by receipts."""

    @property
    def percentage(self) -> str:
        """The share as text; never 100 %, because a finished job is deleted."""
        return f"{min(99, int(100 * self.share))} %"


def network_in(name: str) -> str | None:
    """Return None for a name of utm_source."""
    return name.removeprefix(RECLASSIFIED) if name.startswith(RECLASSIFIED) else None


class WorkPiece(NamedTuple):
    """The names with the least progress in a Space, and the next ids to process: above `after_id`, up to
    `until_id`.
    """

    names: list[str]
    after_id: int
    until_id: int


async def request_reclassification(connection: AsyncConnection, space_id: int, name: str) -> None:
    """Have a changed name applied to stored rows after the commit. The caller holds the Space's lock."""
    await connection.execute(queries["request"], {"space_id": space_id, "name": name})


async def list_reclassifications(connection: AsyncConnection, space_id: int) -> list[Reclassification]:
    return await fetch_all(make_cursor(connection, Reclassification), queries["list"], {"space_id": space_id})


async def list_reclassified_names(connection: AsyncConnection, space_id: int) -> list[Reclassification]:
    pending = await list_reclassifications(connection, space_id)
    return [reclassification for reclassification in pending if network_in(reclassification.name) is None]


async def list_reclassified_networks(
    connection: AsyncConnection, space_id: int
) -> dict[str, Reclassification]:
    pending = await list_reclassifications(connection, space_id)
    return {
        network: reclassification
        for reclassification in pending
        if (network := network_in(reclassification.name)) is not None
    }


def spaces_to_reclassify(connection: Connection[Any]) -> list[int]:
    return [space_id for (space_id,) in connection.execute(queries["spaces"])]


def next_piece(connection: Connection[Any], space_id: int) -> WorkPiece | None:
    """Return None without work."""
    row = connection.execute(queries["next"], {"space_id": space_id}).fetchone()
    return WorkPiece(*row) if row is not None else None


def finish_piece(
    connection: Connection[Any],
    space_id: int,
    names: list[str],
    after_id: int,
    change_counts: Mapping[str, int],
) -> int:
    """Record progress and changed touchpoints; return the finished names."""
    values = {"space_id": space_id, "names": names, "after_id": after_id}
    connection.execute(queries["advance"], values | {"changed": Jsonb(dict(change_counts))})
    return connection.execute(queries["end"], {"space_id": space_id}).rowcount
