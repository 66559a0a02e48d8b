"""Put names into the catalogue, and list them. Readers of touchpoints look names up, so a new name
appears in the next answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.pagination import Page, Position, page_of, to_key

queries = Queries(__name__, "ads.sql")

KINDS = ("campaign", "adset", "ad", "account")

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_BEYOND_ALL = 2**63 - 1


class AdName(msgspec.Struct, frozen=True):
    """The name of an id on an ad platform: of an account, campaign, ad set or ad."""

    kind: str
    """One of KINDS."""
    id: str
    name: str
    platform: str | None = None


def statement_of(space_id: int, names: Iterable[AdName]) -> tuple[SQL, dict[str, Any]]:
    """The statement that puts names into the catalogue, and the values that it binds. Of several
    names for one id the last counts.
    """
    by_id = {(name.kind, name.id): name for name in names}
    return queries["put"], {"space_id": space_id, "names": rows(by_id.values())}


async def put_names(connection: AsyncConnection, space_id: int, names: Iterable[AdName]) -> None:
    """Put names into the catalogue."""
    await connection.execute(*statement_of(space_id, names))


async def fetch_names(
    connection: AsyncConnection, space_id: int, kind: str, ids: Iterable[str]
) -> dict[str, str]:
    """Return what some ids of a kind are called, those that have a name."""
    bound = {"space_id": space_id, "kind": kind, "ids": list(ids)}
    return dict(await fetch_all(connection, queries["names"], bound))


async def list_names(connection: AsyncConnection, space_id: int, per_page: int, at: Position | None) -> Page:
    """One page, those first named most recently first."""
    backward = at is not None and at.backward
    bound: dict[str, Any] = {"space_id": space_id, "limit": per_page + 1}
    bound |= {"after": at.key[0] if at and backward else 0}
    bound |= {"before": at.key[0] if at and not backward else _BEYOND_ALL}
    statement = queries["page"].format(order=_OLDEST_FIRST if backward else _NEWEST_FIRST)
    # Not prepared: a plan that does not know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return page_of(await cursor.fetchall(), per_page, at, to_key)
