"""The work that changes of a Space's names of sources leave to do on what is stored: what is left,
and how far it is. intake/pipeline/reclassification.py does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries, fetch_all

queries = Queries(__name__, "reclassifications.sql")

RECLASSIFIED = "network\n"
"""The beginning of a name that is a paid network of the Space's own. Values of utm_source that a
Space has named hold no such character."""


@dataclass(frozen=True)
class Reclassification:
    """A name whose change is being applied to the past."""

    name: str
    changed: int
    """The touchpoints that have another source or rule since."""
    requested_at: datetime
    share: float
    """The part of it that is done, from 0 to 1, by receipts."""

    @property
    def percentage(self) -> str:
        """The share as text; never 100 %, because a finished job is deleted."""
        return f"{min(99, int(100 * self.share))} %"


def network_in(name: str) -> str | None:
    """Return the network that a name is about; None for a value of utm_source."""
    return name.removeprefix(RECLASSIFIED) if name.startswith(RECLASSIFIED) else None


class WorkPiece(NamedTuple):
    """The names that are least far in a Space, and the ids that they are next to be applied to:
    those above `after_id`, up to `until_id`.
    """

    names: list[str]
    after_id: int
    until_id: int


async def request_reclassification(connection: AsyncConnection, space_id: int, name: str) -> None:
    """Have a changed name applied to what is stored, from the commit on. The caller holds the
    Space's lock.
    """
    await connection.execute(queries["request"], {"space_id": space_id, "name": name})


async def list_reclassifications(connection: AsyncConnection, space_id: int) -> list[Reclassification]:
    """The names of a Space that are still being applied, in alphabetical order."""
    cursor = connection.cursor(row_factory=class_row(Reclassification))
    return await fetch_all(cursor, queries["list"], {"space_id": space_id})


async def list_reclassified_names(connection: AsyncConnection, space_id: int) -> list[Reclassification]:
    """Return those that concern values of utm_source."""
    left = await list_reclassifications(connection, space_id)
    return [each for each in left if network_in(each.name) is None]


async def list_reclassified_networks(
    connection: AsyncConnection, space_id: int
) -> dict[str, Reclassification]:
    """Return those that concern the Space's paid networks, by network."""
    left = await list_reclassifications(connection, space_id)
    return {network: each for each in left if (network := network_in(each.name)) is not None}


def spaces_to_reclassify(connection: Connection[Any]) -> list[int]:
    """The Spaces where something is left to do."""
    return [space_id for (space_id,) in connection.execute(queries["spaces"])]


def next_piece(connection: Connection[Any], space_id: int) -> WorkPiece | None:
    """The next work in a Space; None when nothing is left."""
    row = connection.execute(queries["next"], {"space_id": space_id}).fetchone()
    return WorkPiece(*row) if row is not None else None


def finish_piece(
    connection: Connection[Any], space_id: int, names: list[str], after_id: int, changed: Mapping[str, int]
) -> int:
    """Record that names were applied up to `after_id`, and how many touchpoints each changed. Returns the
    number of finished names.
    """
    values = {"space_id": space_id, "names": names, "after_id": after_id}
    connection.execute(queries["advance"], values | {"changed": Jsonb(dict(changed))})
    return connection.execute(queries["end"], {"space_id": space_id}).rowcount
