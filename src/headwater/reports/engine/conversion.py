"""Convert a report's amounts to one currency, each at its day's rate, before they are summed. Amounts that
can't be counted are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.attribution.paths.lookup import find_positions
from headwater.attribution.paths.path_data import (
    LEFT_OUT,
    ROUNDED_AWAY,
    Column,
    IntArray,
    PathData,
    read_numbers,
)
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.timerange import bind_zone
from headwater.spaces.currencies import format_money
from headwater.spaces.models import Space
from headwater.spend.rates.counted_amounts import UNIT, AmountRule, Counted, LeftOutReason
from headwater.spend.rates.exchange import RateTable
from headwater.spend.rates.store import RatePoint, load_rates


class LeftOutMoney(NamedTuple):
    currency: str
    reason: LeftOutReason
    events: int
    amount: Decimal
    """In that currency."""
    first_day: date
    last_day: date
    """Local days."""

    @property
    def lacks_rate(self) -> bool:
        return self.reason is LeftOutReason.NO_RATE

    @property
    def words(self) -> str:
        """A sentence without its full stop."""
        return (
            f"{self.events:,} event{'' if self.events == 1 else 's'}, "
            f"{format_money(self.amount, self.currency)}, left out: {self.reason.words}"
        )


class LeftOutSpend(NamedTuple):
    currency: str
    amount: Decimal
    first_day: date
    last_day: date

    @property
    def lacks_rate(self) -> bool:
        return True

    @property
    def words(self) -> str:
        return f"Spend of {format_money(self.amount, self.currency)} left out: {LeftOutReason.NO_RATE.words}"


class LeftOutAmounts(Struct, frozen=True):
    kinds: tuple[tuple[str, LeftOutReason], ...]
    event_ids: IntArray
    """Ascending."""
    kind_of: IntArray
    """Indexes in `kinds`."""
    amounts: IntArray
    """As stated, in ten-thousandths."""
    days: IntArray
    """Ordinals."""

    @classmethod
    def of(
        cls, by_kind: Mapping[tuple[str, LeftOutReason], Iterable[tuple[int, int, date]]]
    ) -> LeftOutAmounts:
        """Build from event id, amount and day."""
        kinds = tuple(sorted(by_kind))
        rows = [
            (event_id, index, amount, day.toordinal())
            for index, kind in enumerate(kinds)
            for event_id, amount, day in by_kind[kind]
        ]
        columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 4).T
        return cls(kinds, *columns)

    def sum_money(self, event_ids: IntArray) -> list[LeftOutMoney]:
        places, is_matched = find_positions(self.event_ids, event_ids)
        places = places[is_matched]
        money_rows: list[LeftOutMoney] = []
        for index, kind in enumerate(self.kinds):
            kind_places = places[self.kind_of[places] == index]
            if len(kind_places):
                days = self.days[kind_places]
                money_rows.append(
                    LeftOutMoney(
                        *kind,
                        len(kind_places),
                        Decimal(sum(self.amounts[kind_places].tolist())) / UNIT,
                        date.fromordinal(int(days.min())),
                        date.fromordinal(int(days.max())),
                    )
                )
        return money_rows


def join_left_out(several: Iterable[Iterable[LeftOutMoney]]) -> tuple[LeftOutMoney, ...]:
    """Add money left out of disjoint events."""
    money_by_kind: dict[tuple[str, LeftOutReason], LeftOutMoney] = {}
    for money in (money for left_out in several for money in left_out):
        joined_money = money_by_kind.get(money[:2])
        money_by_kind[money[:2]] = (
            money
            if joined_money is None
            else LeftOutMoney(
                money.currency,
                money.reason,
                money.events + joined_money.events,
                money.amount + joined_money.amount,
                min(money.first_day, joined_money.first_day),
                max(money.last_day, joined_money.last_day),
            )
        )
    return tuple(money_by_kind[kind] for kind in sorted(money_by_kind))


queries = Queries(__name__, "conversion.sql")


class ConvertedAmounts(Struct, frozen=True):
    event_ids: IntArray
    """Ascending."""
    amounts: IntArray
    """Encoded like Column.AMOUNTS."""
    left_out: LeftOutAmounts

    def replace_in(self, paths: PathData) -> PathData:
        if Column.AMOUNTS not in paths.columns:
            return paths
        places, is_matched = find_positions(self.event_ids, paths[Column.EVENT_IDS])
        if not is_matched.any():
            return paths
        amounts = np.where(is_matched, self.amounts[places], paths[Column.AMOUNTS])
        columns = {**paths.columns, Column.AMOUNTS: amounts}
        return replace(paths, columns=columns)


class _EventGroup(Struct, frozen=True):
    currency: str
    day: date
    """Local."""
    from_page: bool
    event_ids: IntArray
    amounts: IntArray


class CurrencyExchange(Struct, frozen=True):
    space: Space
    target: str
    at: RatePoint | None = None
    """None means now."""

    def rule(self, rates: RateTable, currency: str, day: date) -> AmountRule:
        return AmountRule.for_day(rates, day, currency, self.target, self.space.currency)


def stored_amount(amount: int, counted: Counted) -> int:
    """Encode an amount for Column.AMOUNTS. A zero or left-out one keeps its sign, to distinguish orders from
    refunds.
    """
    sign = 1 if amount > 0 else -1
    if isinstance(counted, LeftOutReason):
        return sign * LEFT_OUT
    return counted or (sign * ROUNDED_AWAY if amount else 0)


async def load_conversion(
    connection: AsyncConnection, exchange: CurrencyExchange, days: tuple[date, date]
) -> ConvertedAmounts | None:
    """Return the amounts that differ from stored ones on UTC days, or None."""
    space, target = exchange.space, exchange.target
    groups = await _fetch_groups(connection, space, target, days)
    if not groups:
        return None
    currencies = {group.currency for group in groups} | {target, space.currency}
    rate_days = {group.day for group in groups} if len(currencies) > 1 else set[date]()
    rates = await load_rates(connection, space.id, rate_days, currencies, exchange.at)
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
    converted_amounts = np.array(numbers, dtype=np.int64)
    return ConvertedAmounts(event_ids[order], converted_amounts[order], LeftOutAmounts.of(left_out))


async def _days(
    connection: AsyncConnection, space: Space, target: str, days: tuple[date, date]
) -> Sequence[date]:
    """Return the days that can have events in another currency."""
    first, last = days
    if target != space.currency:  # events without a currency need conversion
        return [first + timedelta(days=number) for number in range((last - first).days + 1)]
    values = {"space_id": space.id, "currency": target, "first_day": first, "last_day": last}
    return [day for (day,) in await fetch_all(connection, queries["days"], values)]


async def _fetch_groups(
    connection: AsyncConnection, space: Space, target: str, days: tuple[date, date]
) -> list[_EventGroup]:
    values = {
        "space_id": space.id,
        "own": space.currency,
        "target": target,
        "days": list(await _days(connection, space, target, days)),
        **bind_zone(space.zone),
        "first_day": days[0],
        "last_day": days[1],
    }
    rows = await fetch_all(connection.cursor(binary=True), queries["events"], values)
    return [
        _EventGroup(currency, day, from_page, read_numbers(ids), read_numbers(amounts))
        for currency, day, from_page, ids, amounts in rows
    ]
