"""Put rates, list them, and load those that amounts of some days need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import msgspec
from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL

from headwater.attribution.history.former_rows import NOTE_ADDED
from headwater.attribution.history.revisions import DRAW_REVISION
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.http.inputs.pagination import Page, Position, page_of, to_key
from headwater.spend.rates.exchange import RateTable, days_before

queries = Queries(__name__, "rates.sql")

K = TypeVar("K")
_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_BEYOND_ALL = 2**63 - 1
_EPOCH = date(1970, 1, 1)


class Rate(msgspec.Struct, frozen=True):
    """The worth of one unit of a currency in another, on a day."""

    date: date
    base: str
    currency: str
    rate: Decimal
    """Units of `currency` for one of `base`."""


class RatePoint(NamedTuple):
    """A moment in the past of rates."""

    revision: int
    """The number of the latest change of the Space by then."""
    reference: int
    """That of the latest change of the rates for all Spaces."""


class ReferenceRate(msgspec.Struct, frozen=True):
    """A rate for all Spaces."""

    date: date
    currency: str
    per_euro: Decimal


async def put_rates(connection: AsyncConnection, space_id: int, rates: Sequence[Rate]) -> None:
    """Put a Space's own rates. Of one day and pair the last counts."""
    by_key = {(rate.date, rate.base, rate.currency): rate for rate in rates}
    values = {"space_id": space_id, "rates": rows(by_key.values())}
    await connection.execute(DRAW_REVISION, values)
    await connection.execute(queries["keep"], values)
    await connection.execute(queries["put"], values)
    await connection.execute(NOTE_ADDED, values | {"event_ids": b"", "touchpoint_ids": b""})


async def put_reference_rates(connection: AsyncConnection, rates: Sequence[ReferenceRate]) -> None:
    """Put rates for all Spaces. Of one day and currency the last counts."""
    by_key = {(rate.date, rate.currency): rate for rate in rates}
    values = {"rates": rows(by_key.values())}
    await connection.execute(queries["lock_reference"])
    for statement in ("draw_reference", "keep_reference", "put_reference"):
        await connection.execute(queries[statement], values)


async def fetch_reference_revision(connection: AsyncConnection, moment: datetime | None = None) -> int:
    """Return the number of the latest change of the rates for all Spaces, by a moment or by now."""
    (revision,) = await fetch_one(connection, queries["reference_revision"], {"moment": moment})
    return revision


async def have_changed(connection: AsyncConnection, space_id: int, start: RatePoint, end: RatePoint) -> bool:
    """Return whether rates that a Space goes by were changed between two points."""
    values = {
        "space_id": space_id,
        "revision": start.revision,
        "reference": start.reference,
        "until_revision": end.revision,
        "until_reference": end.reference,
    }
    (changed,) = await fetch_one(connection, queries["changed"], values)
    return changed


async def list_rates(connection: AsyncConnection, space_id: int, per_page: int, at: Position | None) -> Page:
    """One page of a Space's own rates, the latest days first."""
    backward = at is not None and at.backward
    bound: dict[str, Any] = {
        "space_id": space_id,
        "limit": per_page + 1,
        "after_day": date.min,
        "after": 0,
        "before_day": date.max,
        "before": _BEYOND_ALL,
    }
    if at is not None:
        end = "after" if backward else "before"
        day = date.fromordinal(_EPOCH.toordinal() + at.key[0])
        bound |= {f"{end}_day": day, end: at.key[1]}
    statement = queries["page"].format(order=_OLDEST_FIRST if backward else _NEWEST_FIRST)
    cursor = await connection.execute(statement, bound, prepare=False)
    return page_of(await cursor.fetchall(), per_page, at, to_key)


async def fetch_reference_day(connection: AsyncConnection) -> date | None:
    """Return the latest day with rates for all Spaces; None where there are none."""
    (day,) = await fetch_one(connection, queries["reference_day"], {})
    return day


async def load_rates(
    connection: AsyncConnection,
    space_id: int,
    days: Collection[date],
    currencies: Collection[str],
    at: RatePoint | None = None,
) -> RateTable:
    """Return the rates that amounts of some days in some currencies need: those of now, or as they
    were at a point.
    """
    if not days:
        return RateTable()
    bound = _bound(space_id, days, currencies)
    own = _own_rates(await fetch_all(connection, queries["own"], bound))
    per_euro = _rates_per_euro(await fetch_all(connection, queries["reference"], bound))
    if at is not None:
        bound |= at._asdict()
        for day, base, currency, rate in await fetch_all(connection, queries["former"], bound):
            _put_back(own.setdefault(day, {}), (base, currency), rate)
        for day, currency, rate in await fetch_all(connection, queries["former_reference"], bound):
            _put_back(per_euro.setdefault(day, {}), currency, rate)
    return RateTable(own, per_euro)


def load_rates_now(
    connection: Connection[Any], space_id: int, days: Collection[date], currencies: Collection[str]
) -> RateTable:
    """Return the current rates that amounts of some days in some currencies need, by a connection
    that blocks.
    """
    if not days:
        return RateTable()
    bound = _bound(space_id, days, currencies)
    return RateTable(
        _own_rates(connection.execute(queries["own"], bound).fetchall()),
        _rates_per_euro(connection.execute(queries["reference"], bound).fetchall()),
    )


def _bound(space_id: int, days: Collection[date], currencies: Collection[str]) -> dict[str, Any]:
    days_with_rates = days_before(days)
    return {
        "space_id": space_id,
        "days": days_with_rates,
        "currencies": sorted(currencies),
        "first_day": days_with_rates[0],
        "last_day": days_with_rates[-1],
    }


def _own_rates(
    stored: Iterable[tuple[date, str, str, Decimal]],
) -> dict[date, dict[tuple[str, str], Fraction]]:
    rates: dict[date, dict[tuple[str, str], Fraction]] = {}
    for day, base, currency, rate in stored:
        rates.setdefault(day, {})[base, currency] = Fraction(rate)
    return rates


def _rates_per_euro(stored: Iterable[tuple[date, str, Decimal]]) -> dict[date, dict[str, Fraction]]:
    rates: dict[date, dict[str, Fraction]] = {}
    for day, currency, rate in stored:
        rates.setdefault(day, {})[currency] = Fraction(rate)
    return rates


def _put_back(rates: dict[K, Fraction], key: K, former: Decimal | None) -> None:
    """Make a rate what it was; None is that there was none."""
    if former is None:
        rates.pop(key, None)
    else:
        rates[key] = Fraction(former)
