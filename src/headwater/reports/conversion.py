"""Amounts of a report in one currency: what events say in others is converted, each by itself at
the rate of its own day, before anything is added up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all
from headwater.paths.live import read_numbers
from headwater.paths.lookup import place_among
from headwater.paths.path_data import Column, IntArray, PathData
from headwater.rates.exchange import RateTable, converted
from headwater.rates.store import RatePoint, load_rates
from headwater.reports.errors import MissingRate, MissingRates
from headwater.spaces.models import Space

queries = Queries(__name__, "conversion.sql")

HUNDREDTH = 100
"""Ten-thousandths: to what a converted amount is rounded."""


@dataclass(frozen=True)
class ConvertedAmounts:
    """The amounts of some events in the currency of a report."""

    event_ids: IntArray
    """Ascending."""
    amounts: IntArray
    """In ten-thousandths."""
    unknown: IntArray
    """The ids of those of which no rate is known: their amounts are 0."""

    def put_into(self, paths: PathData) -> PathData:
        """Return paths with these amounts in place of those that the events have."""
        if Column.AMOUNTS not in paths.columns:
            return paths
        places, known = place_among(self.event_ids, paths[Column.EVENT_IDS])
        if not known.any():
            return paths
        amounts = np.where(known, self.amounts[places], paths[Column.AMOUNTS])
        columns = {**paths.columns, Column.AMOUNTS: amounts}
        return PathData(columns, paths.event_names, paths.events, paths.touches)


@dataclass(frozen=True)
class _Foreign:
    """Events of one day and currency."""

    currency: str
    day: date
    """On the Space's clock."""
    event_ids: IntArray
    amounts: IntArray


@dataclass(frozen=True)
class CurrencyExchange:
    """The exchange of amounts of a Space into one currency."""

    space: Space
    target: str
    at: RatePoint | None = None
    """The point whose rates count; None is now. Before now, amounts without a rate are 0."""

    def convert(self, rates: RateTable, amount: int, currency: str, day: date) -> int | None:
        """Return an amount of a day on the Space's clock; None without a rate."""
        rate = rates.rate(day, currency, self.target)
        return None if rate is None else converted(amount, rate, HUNDREDTH)


async def load_conversion(
    connection: AsyncConnection, exchange: CurrencyExchange, days: tuple[date, date]
) -> ConvertedAmounts | None:
    """Return the amounts of the events of some days, in UTC, that are in another currency than the
    one they become; None where there are none. Raises MissingRates.
    """
    space, target = exchange.space, exchange.target
    foreign = await _foreign(
        connection, space, target, await _days(connection, space, target, days)
    )
    if not foreign:
        return None
    currencies = {each.currency for each in foreign} | {target}
    days_of = {each.day for each in foreign}
    rates = await load_rates(connection, space.id, days_of, currencies, exchange.at)
    numbers: list[int] = []
    missing: list[tuple[str, date]] = []
    unknown: list[IntArray] = [np.array([], dtype=np.int64)]
    for each in foreign:
        rate = rates.rate(each.day, each.currency, target)
        if rate is None:
            missing.append((each.currency, each.day))
            unknown.append(each.event_ids)
            numbers += [0] * len(each.amounts)
        else:
            numbers += [converted(amount, rate, HUNDREDTH) for amount in each.amounts.tolist()]
    if missing and exchange.at is None:
        raise MissingRates(target, missing_rates(missing))
    event_ids = np.concatenate([each.event_ids for each in foreign])
    order = np.argsort(event_ids)
    amounts = np.array(numbers, dtype=np.int64)
    return ConvertedAmounts(event_ids[order], amounts[order], np.concatenate(unknown))


def missing_rates(missing: Collection[tuple[str, date]]) -> list[MissingRate]:
    """Return by currency on which days no rate is known."""
    return [
        MissingRate(currency, min(days), max(days), len(days))
        for currency in sorted({currency for currency, _ in missing})
        if (days := {day for each, day in missing if each == currency})
    ]


async def _days(
    connection: AsyncConnection, space: Space, target: str, days: tuple[date, date]
) -> Sequence[date]:
    """Return the days that can have events in another currency than `target`."""
    first, last = days
    if target != space.currency:  # then so are all that name none
        return [first + timedelta(days=number) for number in range((last - first).days + 1)]
    values = {
        "space_id": space.id, "currency": target, "first_day": first, "last_day": last,
    }  # fmt: skip
    return [day for (day,) in await fetch_all(connection, queries["days"], values)]


async def _foreign(
    connection: AsyncConnection, space: Space, target: str, days: Sequence[date]
) -> list[_Foreign]:
    if not days:
        return []
    values = {
        "space_id": space.id, "own": space.currency, "target": target, "days": list(days),
        "zone": space.timezone,
    }  # fmt: skip
    rows = await fetch_all(connection.cursor(binary=True), queries["events"], values)
    return [
        _Foreign(currency, day, read_numbers(ids), read_numbers(amounts))
        for currency, day, ids, amounts in rows
    ]
