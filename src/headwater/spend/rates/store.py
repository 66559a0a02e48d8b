from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import msgspec
from psycopg import AsyncConnection, Connection

from headwater.attribution.history.revisions import DRAW_REVISION, NOTE_ADDED
from headwater.base.telemetry.counters import make_counter
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.http.inputs.pagination import Page, Position, day_bounds, make_page, sort_direction, to_key
from headwater.spend.rates.exchange import RateTable, add_fallback_days

queries = Queries(__name__, "rates.sql")
fetches = make_counter("headwater_rate_fetches", "Fetches of reference rates", outcome=("stored", "failed"))

K = TypeVar("K")


class Rate(msgspec.Struct, frozen=True):
    """A currency's price in another on a day."""

    date: date
    base: str
    currency: str
    rate: Decimal
    """Units of `currency` per unit of `base`."""


class RatePoint(NamedTuple):
    revision: int
    reference: int


class ReferenceRate(msgspec.Struct, frozen=True):
    date: date
    currency: str
    per_euro: Decimal


async def put_rates(connection: AsyncConnection, space_id: int, rates: Sequence[Rate]) -> None:
    """Store a Space's own rates. The last rate of a day and pair wins."""
    by_key = {(rate.date, rate.base, rate.currency): rate for rate in rates}
    values = {"space_id": space_id, "rates": rows(by_key.values())}
    await connection.execute(DRAW_REVISION, values)
    await connection.execute(queries["keep"], values)
    await connection.execute(queries["put"], values)
    await connection.execute(NOTE_ADDED, values | {"event_ids": b"", "touchpoint_ids": b""})


async def put_reference_rates(connection: AsyncConnection, rates: Sequence[ReferenceRate]) -> None:
    """Store rates for all Spaces. The last rate of a day and currency wins."""
    by_key = {(rate.date, rate.currency): rate for rate in rates}
    values = {"rates": rows(by_key.values())}
    await connection.execute(queries["lock_reference"])
    for statement in ("draw_reference", "keep_reference", "put_reference"):
        await connection.execute(queries[statement], values)


async def fetch_reference_revision(connection: AsyncConnection, moment: datetime | None = None) -> int:
    """Return the latest change of the rates for all Spaces, up to a moment or now."""
    (revision,) = await fetch_one(connection, queries["reference_revision"], {"moment": moment})
    return revision


async def have_changed(connection: AsyncConnection, space_id: int, start: RatePoint, end: RatePoint) -> bool:
    values = {
        "space_id": space_id,
        "revision": start.revision,
        "reference": start.reference,
        "until_revision": end.revision,
        "until_reference": end.reference,
    }
    (has_changed,) = await fetch_one(connection, queries["changed"], values)
    return has_changed


async def list_rates(
    connection: AsyncConnection, space_id: int, per_page: int, position: Position | None
) -> Page:
    bound = {"space_id": space_id, "limit": per_page + 1} | day_bounds(position)
    statement = queries["page"].format(order=sort_direction(position))
    cursor = await connection.execute(statement, bound, prepare=False)
    return make_page(await cursor.fetchall(), per_page, position, to_key)


async def fetch_reference_day(connection: AsyncConnection) -> date | None:
    (day,) = await fetch_one(connection, queries["reference_day"], {})
    return day


async def load_rates(
    connection: AsyncConnection,
    space_id: int,
    days: Collection[date],
    currencies: Collection[str],
    point: RatePoint | None = None,
) -> RateTable:
    """Return the rates for amounts in these currencies on these days: current, or as of a point."""
    if not days:
        return RateTable()
    bound = _bound(space_id, days, currencies)
    space_rates = _space_rates(await fetch_all(connection, queries["own"], bound))
    euro_rates = _rates_per_euro(await fetch_all(connection, queries["reference"], bound))
    if point is not None:
        bound |= point._asdict()
        for day, base, currency, rate in await fetch_all(connection, queries["former"], bound):
            _restore(space_rates.setdefault(day, {}), (base, currency), rate)
        for day, currency, rate in await fetch_all(connection, queries["former_reference"], bound):
            _restore(euro_rates.setdefault(day, {}), currency, rate)
    return RateTable(space_rates, euro_rates)


def load_rates_now(
    connection: Connection[Any], space_id: int, days: Collection[date], currencies: Collection[str]
) -> RateTable:
    """Return the current rates for amounts in these currencies on these days, over a blocking connection."""
    if not days:
        return RateTable()
    bound = _bound(space_id, days, currencies)
    return RateTable(
        _space_rates(connection.execute(queries["own"], bound).fetchall()),
        _rates_per_euro(connection.execute(queries["reference"], bound).fetchall()),
    )


def _bound(space_id: int, days: Collection[date], currencies: Collection[str]) -> dict[str, Any]:
    days_with_rates = add_fallback_days(days)
    return {
        "space_id": space_id,
        "days": days_with_rates,
        "currencies": sorted(currencies),
        "first_day": days_with_rates[0],
        "last_day": days_with_rates[-1],
    }


def _space_rates(
    rows: Iterable[tuple[date, str, str, Decimal]],
) -> dict[date, dict[tuple[str, str], Fraction]]:
    rates: dict[date, dict[tuple[str, str], Fraction]] = {}
    for day, base, currency, rate in rows:
        rates.setdefault(day, {})[base, currency] = Fraction(rate)
    return rates


def _rates_per_euro(rows: Iterable[tuple[date, str, Decimal]]) -> dict[date, dict[str, Fraction]]:
    rates: dict[date, dict[str, Fraction]] = {}
    for day, currency, rate in rows:
        rates.setdefault(day, {})[currency] = Fraction(rate)
    return rates


def _restore(rates: dict[K, Fraction], key: K, former_rate: Decimal | None) -> None:
    if former_rate is None:
        rates.pop(key, None)
    else:
        rates[key] = Fraction(former_rate)
