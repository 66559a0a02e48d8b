"""Store and list names in the ad catalogue. Touchpoints look names up when read, so a new name takes effect
immediately.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.pagination import Page, Position, make_page, sort_direction, to_key

queries = Queries(__name__, "ads.sql")

KINDS = ("campaign", "adset", "ad", "account")

_MAX_ID = 2**63 - 1


class AdName(msgspec.Struct, frozen=True):
    kind: str
    id: str
    name: str
    platform: str | None = None


async def put_names(connection: AsyncConnection, space_id: int, names: Iterable[AdName]) -> None:
    """Store names in the catalogue. The last name of an id wins."""
    by_id = {(name.kind, name.id): name for name in names}
    await connection.execute(queries["put"], {"space_id": space_id, "names": rows(by_id.values())})


async def fetch_names(
    connection: AsyncConnection, space_id: int, kind: str, ids: Iterable[str]
) -> dict[str, str]:
    bound = {"space_id": space_id, "kind": kind, "ids": list(ids)}
    return dict(await fetch_all(connection, queries["names"], bound))


async def list_names(
    connection: AsyncConnection, space_id: int, per_page: int, position: Position | None
) -> Page:
    """Return one page, ordered by the first naming, newest first."""
    bound: dict[str, Any] = {"space_id": space_id, "limit": per_page + 1, "after": 0, "before": _MAX_ID}
    if position is not None:
        bound["after" if position.backward else "before"] = position.key[0]
    statement = queries["page"].format(order=sort_direction(position))
    # Not prepared: a plan that doesn't know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return make_page(await cursor.fetchall(), per_page, position, to_key)
