"""Put rows into the ledger, list and delete them; what a change does away with is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed

from headwater.attribution.history.former_rows import KEEP_SPEND, NOTE_ADDED
from headwater.attribution.history.revisions import DRAW_REVISION, ChangeCause
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.http.errors import Invalid
from headwater.http.inputs.pagination import Page, Position, page_of, to_key
from headwater.sources.source_names import SourceNames
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.models import Space
from headwater.spaces.networks import fetch_sources
from headwater.spend.ads.catalogue import AdName, put_names
from headwater.spend.answers import SpendDeletion
from headwater.spend.breakdown import LedgerRow, Piece, pieces_of
from headwater.spend.changes import SpendVersion
from headwater.spend.copy_lines import SpendLine, SpendPlace
from headwater.spend.models import SpendRow
from headwater.spend.parameters import SpendChoice

queries = Queries(__name__, "spend.sql")

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_BEYOND_ALL = 2**63 - 1
_EPOCH = date(1970, 1, 1)
_LATEST, _LATEST_OF_FILE = (
    queries["latest"].format(rows=rows_that_come)
    for rows_that_come in (queries["rows_of_request"], SQL("arriving_spend AS r"))
)
_ROWS, _FORMER_ROWS = (
    queries[name].format(broken_down=queries["broken_down"]) for name in ("rows", "former_rows")
)
_NOTHING_ADDED = {"event_ids": b"", "touchpoint_ids": b""}


async def put_report(
    connection: AsyncConnection, space_id: int, spend: Sequence[SpendRow], as_of: datetime
) -> None:
    """Put rows that were reported together into the ledger."""
    values = [
        {
            **msgspec.structs.asdict(row),
            "key": rf"\x{row.key().hex()}",
            "as_of": as_of,
            "place": place,
            "names": None,
        }
        for place, row in enumerate(spend)
    ]
    await _put(connection, _LATEST, {"space_id": space_id, "rows": rows(values)})
    await _put_names(connection, space_id, spend)


async def put_part(connection: AsyncConnection, space_id: int, spend: Sequence[SpendLine]) -> None:
    """Put a part of a file into the ledger, each row with a place and a time of its own."""
    await connection.execute(queries["make_room"])
    async with connection.cursor() as cursor, cursor.copy(queries["fill"]) as copy:
        await copy.write("".join([row.text for row in spend]))
    await _put(connection, _LATEST_OF_FILE, {"space_id": space_id})
    await _put_names(connection, space_id, [row.place for row in spend])


async def _put(connection: AsyncConnection, latest: Composed, values: Mapping[str, Any]) -> None:
    """Put the rows that count of those that come in, as one change of the Space."""
    await connection.execute(DRAW_REVISION, values)
    replaced, put = (queries[name].format(rows=latest) for name in ("replaced", "put"))
    await _keep(connection, replaced, values, ChangeCause.SPEND_REPLACEMENTS)
    await connection.execute(put, values)
    await connection.execute(NOTE_ADDED, {**values, **_NOTHING_ADDED})


async def _keep(
    connection: AsyncConnection, rows_before: Composed, values: Mapping[str, Any], cause: ChangeCause
) -> None:
    await connection.execute(KEEP_SPEND.format(rows=rows_before), {**values, "cause": cause})


async def _put_names(
    connection: AsyncConnection, space_id: int, places: Sequence[SpendRow | SpendPlace]
) -> None:
    """Put what ids are called into the ad catalogue; of several names the last."""
    latest = dict.fromkeys((each.names, each.platform) for each in reversed(places) if each.names)
    named = [AdName(*each, platform) for names, platform in reversed(latest) for each in names]
    if named:
        await put_names(connection, space_id, named)


async def list_spend(
    connection: AsyncConnection, space_id: int, choice: SpendChoice, per_page: int, at: Position | None
) -> Page:
    """One page, the latest days first."""
    backward = at is not None and at.backward
    bound = choice.bound(space_id) | {
        "limit": per_page + 1,
        "after_day": date.min,
        "after": 0,
        "before_day": date.max,
        "before": _BEYOND_ALL,
    }
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
    sources = await fetch_sources(connection, space_id)
    rows_of_days = await fetch_all(connection, _ROWS, bound)
    return list(pieces_of(_row(of, sources) for *of, _ in rows_of_days))


async def read_versions(
    connection: AsyncConnection, space_id: int, days: tuple[date, date], since: int
) -> list[SpendVersion]:
    """Return the ledger of some days as it is, and as it was after a change of that number."""
    bound = {"space_id": space_id, "first_day": days[0], "last_day": days[1], "revision": since}
    sources = await fetch_sources(connection, space_id)
    return [
        *(SpendVersion(_row(of, sources), start) for *of, start in await fetch_all(connection, _ROWS, bound)),
        *(
            SpendVersion(_row(of, sources), start, end, ChangeCause(cause))
            for *of, start, end, cause in await fetch_all(connection, _FORMER_ROWS, bound)
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
    """Raise Invalid for a platform that neither takes spend nor has any in the ledger."""
    if choice.platform is None:
        return
    rule = refuse_platform(choice.platform, space.sources)
    if rule is not None:
        bound = {"space_id": space.id, "platform": choice.platform}
        (is_stored,) = await fetch_one(connection, queries["has_platform"], bound)
        if not is_stored:
            raise Invalid.of("platform", rule)


async def count_spend(connection: AsyncConnection, space_id: int, choice: SpendChoice) -> SpendDeletion:
    """Return what a deletion would take away."""
    statement = queries["count"].format(chosen=queries["chosen"])
    count, first_day, last_day = await fetch_one(connection, statement, choice.bound(space_id))
    return SpendDeletion(count, deleted=False, first_day=first_day, last_day=last_day)


async def delete_spend(connection: AsyncConnection, space_id: int, choice: SpendChoice) -> SpendDeletion:
    """Delete rows, and return what is gone."""
    values = choice.bound(space_id)
    await connection.execute(DRAW_REVISION, values)
    gone = await count_spend(connection, space_id, choice)
    deleted, delete = (queries[name].format(chosen=queries["chosen"]) for name in ("deleted", "delete"))
    await _keep(connection, deleted, values, ChangeCause.SPEND_DELETIONS)
    await connection.execute(delete, values)
    await connection.execute(NOTE_ADDED, {**values, **_NOTHING_ADDED})
    return msgspec.structs.replace(gone, deleted=True)
