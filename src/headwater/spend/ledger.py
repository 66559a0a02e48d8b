from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed

from headwater.attribution.history.revisions import (
    DRAW_REVISION,
    KEEP_SPEND,
    NOTE_ADDED,
    NOTE_PULLED,
    ChangeCause,
)
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.http.errors import Invalid
from headwater.http.inputs.pagination import Page, Position, day_bounds, make_page, sort_direction, to_key
from headwater.sources.source_names import SourceNames
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.models import Space
from headwater.spaces.networks import fetch_sources
from headwater.spend.ads.catalogue import AdName, put_names
from headwater.spend.answers import SpendDeletion
from headwater.spend.breakdown import LedgerRow, SpendPart, break_down
from headwater.spend.changes import SpendVersion
from headwater.spend.copy_lines import SpendLine, SpendPrefix
from headwater.spend.models import SpendRow
from headwater.spend.parameters import SpendChoice

queries = Queries(__name__, "spend.sql")

_LATEST_ROWS, _LATEST_IN_FILE = (
    queries["latest"].format(rows=new_rows)
    for new_rows in (queries["rows_of_request"], SQL("arriving_spend AS r"))
)
_PATH = queries["path"]
_ROWS, _FORMER_ROWS = (
    queries[name].format(broken_down=queries["broken_down"].format(path=_PATH))
    for name in ("rows", "former_rows")
)
_PERIOD = queries["period"].format(path=_PATH)
IS_COMPLETE = queries["complete"]
"""An expression: the row `s` was reported after the end of its day."""
_NOTHING_ADDED = {"event_ids": b"", "touchpoint_ids": b""}


async def put_report(
    connection: AsyncConnection, space_id: int, spend: Sequence[SpendRow], as_of: datetime
) -> None:
    await put_figures(connection, space_id, spend, as_of)
    await put_row_names(connection, space_id, spend)


async def put_figures(
    connection: AsyncConnection, space_id: int, spend: Sequence[SpendRow], as_of: datetime
) -> None:
    """Store rows without their names."""
    values = [
        {
            **msgspec.structs.asdict(row),
            "key": rf"\x{row.key().hex()}",
            "as_of": as_of,
            "place": index,
            "names": None,
        }
        for index, row in enumerate(spend)
    ]
    await _put(connection, _LATEST_ROWS, {"space_id": space_id, "rows": rows(values)})


async def put_pulled(
    connection: AsyncConnection, space_id: int, spend: Sequence[SpendRow], pulled_at: datetime
) -> None:
    """Store rows that a pull got, without their names."""
    await put_figures(connection, space_id, spend, pulled_at)
    await connection.execute(NOTE_PULLED, {"space_id": space_id, "pulled_at": pulled_at})


async def find_pulls(
    connection: AsyncConnection, space_id: int, revisions: Collection[int]
) -> dict[int, datetime]:
    """Return when the spend of some changes was pulled, without changes of other origins."""
    bound = {"space_id": space_id, "revisions": list(revisions)}
    return dict(await fetch_all(connection, queries["pulls"], bound))


async def put_batch(connection: AsyncConnection, space_id: int, spend: Sequence[SpendLine]) -> None:
    await connection.execute(queries["make_room"])
    async with connection.cursor() as cursor, cursor.copy(queries["fill"]) as copy:
        await copy.write("".join([row.text for row in spend]))
    await _put(connection, _LATEST_IN_FILE, {"space_id": space_id})
    await put_row_names(connection, space_id, [row.prefix for row in spend])


async def _put(connection: AsyncConnection, latest_rows: Composed, values: Mapping[str, Any]) -> None:
    await connection.execute(DRAW_REVISION, values)
    replaced, store = (queries[name].format(rows=latest_rows) for name in ("replaced", "put"))
    await _save_former(connection, replaced, values, ChangeCause.SPEND_REPLACEMENTS)
    await connection.execute(store, values)
    await connection.execute(NOTE_ADDED, {**values, **_NOTHING_ADDED})


async def _save_former(
    connection: AsyncConnection, former_rows: Composed, values: Mapping[str, Any], cause: ChangeCause
) -> None:
    await connection.execute(KEEP_SPEND.format(rows=former_rows), {**values, "cause": cause})


async def put_row_names(
    connection: AsyncConnection, space_id: int, spend: Sequence[SpendRow | SpendPrefix]
) -> None:
    """Keep the last name of an id."""
    latest_names = dict.fromkeys((row.names, row.platform) for row in reversed(spend) if row.names)
    ad_names = [AdName(*name, platform) for names, platform in reversed(latest_names) for name in names]
    if ad_names:
        await put_names(connection, space_id, ad_names)


async def list_spend(
    connection: AsyncConnection, space_id: int, choice: SpendChoice, per_page: int, position: Position | None
) -> Page:
    """Return one page, latest days first."""
    bound = choice.bound(space_id) | {"limit": per_page + 1} | day_bounds(position)
    statement = queries["page"].format(
        order=sort_direction(position), chosen=queries["chosen"], complete=IS_COMPLETE
    )
    # Not prepared: a plan that doesn't know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return make_page(await cursor.fetchall(), per_page, position, to_key)


class LedgerDay(NamedTuple):
    day: date
    currency: str
    rows: int


async def list_days(
    connection: AsyncConnection, space_id: int, first_day: date, last_day: date
) -> list[LedgerDay]:
    """Return the days with spend, the earliest first, each with the number of its rows by currency."""
    bound = {"space_id": space_id, "first_day": first_day, "last_day": last_day}
    return [LedgerDay(*row) for row in await fetch_all(connection, queries["days"], bound)]


async def read_parts(
    connection: AsyncConnection, space_id: int, first_day: date, last_day: date
) -> list[SpendPart]:
    bound = {"space_id": space_id, "first_day": first_day, "last_day": last_day}
    sources = await fetch_sources(connection, space_id)
    ledger_rows = await fetch_all(connection, _ROWS, bound)
    return list(break_down(_row(columns, sources) for *columns, _ in ledger_rows))


class SpendDetail(NamedTuple):
    """What sums of spend are by."""

    step: str | None
    """Day, week or month; None for the whole period."""
    depth: int
    """How many names of the path: 2 for campaigns."""


async def read_summed_parts(
    connection: AsyncConnection, space_id: int, days: tuple[date, date], currency: str, detail: SpendDetail
) -> list[SpendPart]:
    """Return the parts of some days, summed if they are in one currency. Others keep their day and path, and
    rows at several levels are not summed.
    """
    bound = {"space_id": space_id, "first_day": days[0], "last_day": days[1]}
    sources = await fetch_sources(connection, space_id)
    ledger_rows = await fetch_all(connection, _PERIOD, bound | {"currency": currency} | detail._asdict())
    return await asyncio.to_thread(_break_down_period, ledger_rows, sources)


def _break_down_period(ledger_rows: Sequence[Sequence[Any]], sources: SourceNames) -> list[SpendPart]:
    disjoint_rows, other_rows = list[LedgerRow](), list[LedgerRow]()
    for *place, amount, impressions, clicks, conversions, revenue, is_disjoint in ledger_rows:
        figures = map(int, (amount, impressions, clicks, conversions, revenue))
        rows = disjoint_rows if is_disjoint else other_rows
        rows.append(_row([*place, *figures], sources))
    return [*(SpendPart(row, is_remainder=False) for row in disjoint_rows), *break_down(other_rows)]


async def read_versions(
    connection: AsyncConnection, space_id: int, days: tuple[date, date], since: int
) -> list[SpendVersion]:
    """Return the current rows of some days, and those current after revision `since`."""
    bound = {"space_id": space_id, "first_day": days[0], "last_day": days[1], "revision": since}
    sources = await fetch_sources(connection, space_id)
    current_rows = await fetch_all(connection, _ROWS, bound)
    former_rows = await fetch_all(connection, _FORMER_ROWS, bound)
    return await asyncio.to_thread(_list_versions, current_rows, former_rows, sources)


def _list_versions(
    current_rows: Iterable[Sequence[Any]], former_rows: Iterable[Sequence[Any]], sources: SourceNames
) -> list[SpendVersion]:
    return [
        *(SpendVersion(_row(columns, sources), start) for *columns, start in current_rows),
        *(
            SpendVersion(_row(columns, sources), start, end, ChangeCause(cause))
            for *columns, start, end, cause in former_rows
        ),
    ]


def _row(columns: Sequence[Any], sources: SourceNames) -> LedgerRow:
    day, platform, currency, path, country, *figures = columns
    return LedgerRow(
        day,
        platform,
        currency,
        tuple(path),
        country,
        tuple(figures),
        sources.source_named(platform),
        sources.platform_named(platform),
    )


async def require_platform(connection: AsyncConnection, space: Space, choice: SpendChoice) -> None:
    """Raise Invalid for a platform that can't have spend, unless the ledger has some."""
    if choice.platform is None:
        return
    rule = refuse_platform(choice.platform, space.sources)
    if rule is not None:
        bound = {"space_id": space.id, "platform": choice.platform}
        (is_stored,) = await fetch_one(connection, queries["has_platform"], bound)
        if not is_stored:
            raise Invalid.of("platform", rule)


async def count_spend(connection: AsyncConnection, space_id: int, choice: SpendChoice) -> SpendDeletion:
    statement = queries["count"].format(chosen=queries["chosen"])
    count, first_day, last_day = await fetch_one(connection, statement, choice.bound(space_id))
    return SpendDeletion(count, deleted=False, first_day=first_day, last_day=last_day)


async def delete_spend(connection: AsyncConnection, space_id: int, choice: SpendChoice) -> SpendDeletion:
    values = choice.bound(space_id)
    await connection.execute(DRAW_REVISION, values)
    deletion = await count_spend(connection, space_id, choice)
    former_query, delete_query = (
        queries[name].format(chosen=queries["chosen"]) for name in ("deleted", "delete")
    )
    await _save_former(connection, former_query, values, ChangeCause.SPEND_DELETIONS)
    await connection.execute(delete_query, values)
    await connection.execute(NOTE_ADDED, {**values, **_NOTHING_ADDED})
    return msgspec.structs.replace(deletion, deleted=True)
