"""Amounts of a report in one currency: what events say in others is converted, each by itself at
the rate of its own day, before anything is added up. Amounts that cannot count are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np
from psycopg import AsyncConnection

from headwater.attribution.paths.live import read_numbers
from headwater.attribution.paths.lookup import place_among
from headwater.attribution.paths.path_data import LEFT_OUT, ROUNDED_AWAY, Column, IntArray, PathData
from headwater.database.queries import Queries, fetch_all
from headwater.reports.left_out_money import LeftOutAmounts
from headwater.spaces.models import Space
from headwater.spend.rates.counted_amounts import AmountRule, Counted, LeftOutReason
from headwater.spend.rates.exchange import RateTable
from headwater.spend.rates.store import RatePoint, load_rates

queries = Queries(__name__, "conversion.sql")


@dataclass(frozen=True)
class ConvertedAmounts:
    """The amounts of some events in the currency of a report."""

    event_ids: IntArray
    """Ascending."""
    amounts: IntArray
    """As the column of amounts has them."""
    left_out: LeftOutAmounts

    def put_into(self, paths: PathData) -> PathData:
        """Return paths with these amounts in place of those that the events have."""
        if Column.AMOUNTS not in paths.columns:
            return paths
        places, known = place_among(self.event_ids, paths[Column.EVENT_IDS])
        if not known.any():
            return paths
        amounts = np.where(known, self.amounts[places], paths[Column.AMOUNTS])
        columns = {**paths.columns, Column.AMOUNTS: amounts}
        return replace(paths, columns=columns)


@dataclass(frozen=True)
class _Group:
    """Events of one day and currency, reported by pages alone or not."""

    currency: str
    day: date
    """On the Space's clock."""
    from_page: bool
    event_ids: IntArray
    amounts: IntArray


@dataclass(frozen=True)
class CurrencyExchange:
    """The exchange of amounts of a Space into one currency."""

    space: Space
    target: str
    at: RatePoint | None = None
    """The point whose rates count; None is now."""

    def rule(self, rates: RateTable, currency: str, day: date) -> AmountRule:
        """Return how amounts of a currency and a day on the Space's clock count."""
        return AmountRule.of(rates, day, currency, self.target, self.space.currency)


def stored_amount(amount: int, counted: Counted) -> int:
    """Return an event's amount as the column of amounts has it: what an event is, an order or a
    refund, is told by the amount that it states, whatever that is worth.
    """
    sign = 1 if amount > 0 else -1
    if isinstance(counted, LeftOutReason):
        return sign * LEFT_OUT
    return counted or (sign * ROUNDED_AWAY if amount else 0)


async def load_conversion(
    connection: AsyncConnection, exchange: CurrencyExchange, days: tuple[date, date]
) -> ConvertedAmounts | None:
    """Return the amounts of those events of some days, in UTC, that do not count as they are; None
    where there are none.
    """
    space, target = exchange.space, exchange.target
    groups = await _fetch_groups(connection, space, target, days)
    if not groups:
        return None
    currencies = {group.currency for group in groups} | {target, space.currency}
    days_of = {group.day for group in groups} if len(currencies) > 1 else set[date]()
    rates = await load_rates(connection, space.id, days_of, currencies, exchange.at)
    numbers: list[int] = []
    left_out: dict[tuple[str, LeftOutReason], list[tuple[int, int, date]]] = {}
    for group in groups:
        amounts: list[int] = group.amounts.tolist()
        rule = exchange.rule(rates, group.currency, group.day)
        values = rule.count_all(amounts, from_page=group.from_page)
        numbers += map(stored_amount, amounts, values)
        for event_id, amount, value in zip(group.event_ids.tolist(), amounts, values, strict=True):
            if isinstance(value, LeftOutReason):
                left_out.setdefault((group.currency, value), []).append((event_id, amount, group.day))
    event_ids = np.concatenate([group.event_ids for group in groups])
    order = np.argsort(event_ids)
    amounts_of = np.array(numbers, dtype=np.int64)
    return ConvertedAmounts(event_ids[order], amounts_of[order], LeftOutAmounts.of(left_out))


async def _days(
    connection: AsyncConnection, space: Space, target: str, days: tuple[date, date]
) -> Sequence[date]:
    """Return the days that can have events in another currency than `target`."""
    first, last = days
    if target != space.currency:  # then so are all that name none
        return [first + timedelta(days=number) for number in range((last - first).days + 1)]
    values = {"space_id": space.id, "currency": target, "first_day": first, "last_day": last}
    return [day for (day,) in await fetch_all(connection, queries["days"], values)]


async def _fetch_groups(
    connection: AsyncConnection, space: Space, target: str, days: tuple[date, date]
) -> list[_Group]:
    values = {
        "space_id": space.id,
        "own": space.currency,
        "target": target,
        "days": list(await _days(connection, space, target, days)),
        "zone": space.timezone,
        "first_day": days[0],
        "last_day": days[1],
    }
    rows = await fetch_all(connection.cursor(binary=True), queries["events"], values)
    return [
        _Group(currency, day, from_page, read_numbers(ids), read_numbers(amounts))
        for currency, day, from_page, ids, amounts in rows
    ]
