"""Put rows into the ledger, list and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL

from headwater.ads.catalogue import AdName, put_names
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.http.pagination import Page, Position, page_of, to_key
from headwater.spend.breakdown import LedgerRow, Piece, pieces_of
from headwater.spend.copy_lines import SpendLine, SpendPlace
from headwater.spend.models import SpendRow
from headwater.spend.parameters import SpendChoice

queries = Queries(__name__, "spend.sql")

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_BEYOND_ALL = 2**63 - 1
_EPOCH = date(1970, 1, 1)
_PUT = queries["put"].format(rows=queries["rows_of_request"])
_PUT_FILE = queries["put"].format(rows=SQL("arriving_spend AS r"))


@dataclass(frozen=True)
class Deletion:
    """Rows that a deletion takes away, and the first and the last of their days."""

    rows: int
    first_day: date | None
    last_day: date | None


async def put_report(
    connection: AsyncConnection, space_id: int, spend: Sequence[SpendRow], as_of: datetime
) -> None:
    """Put rows that were reported together into the ledger."""
    values = [
        {**msgspec.structs.asdict(row), "key": rf"\x{row.key().hex()}", "as_of": as_of,
         "place": place, "names": None}
        for place, row in enumerate(spend)
    ]  # fmt: skip
    await connection.execute(_PUT, {"space_id": space_id, "rows": rows(values)})
    await _put_names(connection, space_id, spend)


async def put_part(connection: AsyncConnection, space_id: int, spend: Sequence[SpendLine]) -> None:
    """Put a part of a file into the ledger, each row with a place and a time of its own."""
    await connection.execute(queries["make_room"])
    async with connection.cursor() as cursor, cursor.copy(queries["fill"]) as copy:
        await copy.write("".join([row.text for row in spend]))
    await connection.execute(_PUT_FILE, {"space_id": space_id})
    await _put_names(connection, space_id, [row.place for row in spend])


async def _put_names(
    connection: AsyncConnection, space_id: int, places: Sequence[SpendRow | SpendPlace]
) -> None:
    """Put what ids are called into the ad catalogue; of several names the last."""
    latest = dict.fromkeys((each.names, each.platform) for each in reversed(places) if each.names)
    named = [AdName(*each, platform) for names, platform in reversed(latest) for each in names]
    if named:
        await put_names(connection, space_id, named)


async def list_spend(
    connection: AsyncConnection,
    space_id: int,
    choice: SpendChoice,
    per_page: int,
    at: Position | None,
) -> Page:
    """One page, the latest days first."""
    backward = at is not None and at.backward
    bound = choice.bound(space_id) | {
        "limit": per_page + 1, "after_day": date.min, "after": 0,
        "before_day": date.max, "before": _BEYOND_ALL,
    }  # fmt: skip
    if at is not None:
        day, number = date.fromordinal(_EPOCH.toordinal() + at.key[0]), at.key[1]
        end = "after" if backward else "before"
        bound |= {f"{end}_day": day, end: number}
    order = _OLDEST_FIRST if backward else _NEWEST_FIRST
    statement = queries["page"].format(order=order, chosen=queries["chosen"])
    # Not prepared: a plan that does not know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return page_of(await cursor.fetchall(), per_page, at, to_key)


async def read_pieces(
    connection: AsyncConnection, space_id: int, first_day: date, last_day: date
) -> list[Piece]:
    """Return what was spent on some days, each part once."""
    bound = {"space_id": space_id, "first_day": first_day, "last_day": last_day}
    rows_of_days = await fetch_all(connection, queries["rows"], bound)
    return list(pieces_of(
        LedgerRow(day, platform, currency, tuple(path), country, tuple(figures))
        for day, platform, currency, path, country, *figures in rows_of_days
    ))  # fmt: skip


async def count_spend(connection: AsyncConnection, space_id: int, choice: SpendChoice) -> Deletion:
    """Return what a deletion would take away."""
    statement = queries["count"].format(chosen=queries["chosen"])
    return Deletion(*await fetch_one(connection, statement, choice.bound(space_id)))


async def delete_spend(connection: AsyncConnection, space_id: int, choice: SpendChoice) -> Deletion:
    """Delete rows, and return what is gone."""
    gone = await count_spend(connection, space_id, choice)
    statement = queries["delete"].format(chosen=queries["chosen"])
    await connection.execute(statement, choice.bound(space_id))
    return gone


def deletion_answer(deletion: Deletion, *, deleted: bool) -> dict[str, Any]:
    """Return a deletion, or its preview, as it is answered."""
    return {
        "rows": deletion.rows, "deleted": deleted, "first_day": deletion.first_day,
        "last_day": deletion.last_day,
    }  # fmt: skip
