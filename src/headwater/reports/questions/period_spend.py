"""Ad spend of some days in one currency, by groups shared with reports."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import reduce

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.reports.engine.conversion import LeftOutSpend
from headwater.reports.engine.report_reader import limit_time, run_in_thread
from headwater.reports.engine.time_buckets import find_first_day
from headwater.reports.query import STEPS, Group, KeyCondition, ReportTooLarge
from headwater.sources.catalogue import PAID, find_channel
from headwater.spend.ads.catalogue import fetch_names
from headwater.spend.breakdown import NOTHING, Figures, LedgerRow, SpendPart
from headwater.spend.ledger import LedgerDay, SpendDetail, list_days, read_summed_parts
from headwater.spend.rates.exchange import convert
from headwater.spend.rates.store import RatePoint, load_rates

MILLIONTHS = 10**6
BATCH_ROWS = 50_000
"""Rows of the ledger in memory at once, except for a longer day."""
_HUNDREDTH = 10**4
_SAME = Fraction(1)
_UNNAMED: Mapping[str, str] = {}
_UNKNOWN = frozenset({Group.COUNTRY, Group.KEYWORD, Group.LANDING_PAGE})
"""Groups that don't narrow spend."""
_DEPTH = {Group.CAMPAIGN: 1, Group.ADSET: 2, Group.AD: 3}
Key = str | None
CurrencyDay = tuple[str, date]


class PeriodSpend(Struct, frozen=True):
    """Each part once."""

    pieces: Sequence[SpendPart]
    """In one currency."""
    names: Mapping[Group, Mapping[str, str]]
    left_out: tuple[LeftOutSpend, ...] = ()

    @property
    def platforms(self) -> set[Key]:
        return {spend_part.row.owner for spend_part in self.pieces if spend_part.row.figures[0]} - {None}

    def unsplit(self, group: Group | None) -> set[str]:
        """Return platforms with spend of unknown source."""
        if group is not Group.SOURCE:
            return set()
        return {
            row.owner
            for row, _ in self.pieces
            if row.figures[0] and row.source is None and row.owner is not None
        }

    def find_names(self, group: Group | None) -> Mapping[str, str]:
        return _UNNAMED if group is None else self.names.get(group, _UNNAMED)

    def by_key(self, group: Group | None, listed_keys: Collection[Key]) -> dict[Key, Figures]:
        """Return sums by key. An id's spend is added to its name if touches are listed by name only."""
        by_key: dict[Key, Figures] = {}
        for spend_part in self.pieces:
            key = name_key(group, spend_part)
            by_key[key] = plus(by_key.get(key, NOTHING), spend_part.row.figures)
        names = self.find_names(group)
        for key in [key for key in by_key if key not in listed_keys]:
            name = names.get(key or "")
            if name is not None and name in listed_keys:
                by_key[name] = plus(by_key.get(name, NOTHING), by_key.pop(key))
        return by_key

    def by_month(self) -> Mapping[date, PeriodSpend]:
        """Return months with spend, by first day."""
        parts: dict[date, list[SpendPart]] = {}
        for spend_part in self.pieces:
            parts.setdefault(spend_part.row.date.replace(day=1), []).append(spend_part)
        return {month: PeriodSpend(month_parts, self.names) for month, month_parts in parts.items()}


async def load_period_spend(
    connection: AsyncConnection,
    space_id: int,
    days: tuple[date, date],
    currency: str,
    conditions: Sequence[KeyCondition] = (),
    groups: Collection[Group] = (),
) -> PeriodSpend:
    """Load the spend that meets key filters, each part at its day's rate. Parts are summed where neither the
    groups nor the filters need their difference. Raises ReportTooLarge after SECONDS.
    """
    detail = _find_detail({*groups, *(condition.group for condition in conditions)})
    sums: dict[SpendPart, Figures] = {}
    with limit_time() as deadline:
        ledger_days = await list_days(connection, space_id, *days)
        currency_days = {(ledger_day.currency, ledger_day.day) for ledger_day in ledger_days}
        exchange = await load_exchange(connection, space_id, currency, currency_days)
        for batch in _list_batches(ledger_days):
            if time.monotonic() > deadline:
                raise ReportTooLarge
            parts = await read_summed_parts(connection, space_id, batch, currency, detail)
            await run_in_thread(_add_parts, sums, parts, exchange, detail)
    parts = [place._replace(row=place.row._replace(figures=figures)) for place, figures in sums.items()]
    names = await fetch_part_names(connection, space_id, parts)
    selected_parts = [spend_part for spend_part in parts if meets_filters(spend_part, conditions, names)]
    return PeriodSpend(
        [exchange.convert(spend_part) for spend_part in selected_parts],
        names,
        exchange.left_out(selected_parts),
    )


def _find_detail(groups: Collection[Group]) -> SpendDetail:
    step = next((str(group) for group in groups if group in STEPS), None)
    return SpendDetail(step, max((_DEPTH[group] + 1 for group in groups if group in _DEPTH), default=0))


def _list_batches(ledger_days: Iterable[LedgerDay]) -> Iterator[tuple[date, date]]:
    """Yield the first and last days of batches of about BATCH_ROWS rows. The rows of a day stay together,
    because they are broken down together.
    """
    rows_by_day: dict[date, int] = {}
    for ledger_day in ledger_days:
        rows_by_day[ledger_day.day] = rows_by_day.get(ledger_day.day, 0) + ledger_day.rows
    batch: list[date] = []
    row_count = 0
    for day, rows in rows_by_day.items():
        if batch and row_count + rows > BATCH_ROWS:
            yield batch[0], batch[-1]
            batch, row_count = [], 0
        batch.append(day)
        row_count += rows
    if batch:
        yield batch[0], batch[-1]


def _add_parts(
    sums: dict[SpendPart, Figures], parts: Iterable[SpendPart], exchange: SpendExchange, detail: SpendDetail
) -> None:
    """Add parts to the sums by place. A part without a rate keeps its currency and its day."""
    for spend_part in parts:
        row = spend_part.row
        if exchange.has_rate(row):
            row = exchange.convert(spend_part).row
            day = date.min if detail.step is None else find_first_day(row.date, Group(detail.step))
            row = row._replace(date=day, currency=exchange.target)
        place = SpendPart(
            row._replace(path=row.path[: detail.depth], figures=NOTHING), spend_part.is_remainder
        )
        stored_figures = sums.get(place)
        sums[place] = row.figures if stored_figures is None else plus(stored_figures, row.figures)


async def fetch_part_names(
    connection: AsyncConnection, space_id: int, parts: Sequence[SpendPart]
) -> Mapping[Group, Mapping[str, str]]:
    names: dict[Group, Mapping[str, str]] = {}
    for group, depth in _DEPTH.items():
        ids = {spend_part.row.path[depth] for spend_part in parts if len(spend_part.row.path) > depth}
        names[group] = await fetch_names(connection, space_id, str(group), ids) if ids else {}
    return names


def name_key(group: Group | None, spend_part: SpendPart) -> Key:
    """Return a part's report key, or None."""
    row = spend_part.row
    match group:
        case Group.PLATFORM:
            return row.owner
        case Group.SOURCE:
            return row.source
        case Group.CHANNEL:
            return _find_channel(row)
        case Group.CAMPAIGN | Group.ADSET | Group.AD:
            return (row.path[_DEPTH[group]] or None) if len(row.path) > _DEPTH[group] else None
        case Group.COUNTRY:
            return row.country or None
        case _:
            return f"{find_first_day(row.date, group)}"


def _find_channel(row: LedgerRow) -> Key:
    """Assume that platforms with several sources sell only ads."""
    if row.source is None:
        return None if row.owner is None else PAID
    return find_channel(row.source)


def meets_filters(
    spend_part: SpendPart, conditions: Sequence[KeyCondition], names: Mapping[Group, Mapping[str, str]]
) -> bool:
    """Match keys by id or name."""
    keys_by_group: dict[Group, set[Key]] = {}
    for condition in conditions:
        if condition.group in _UNKNOWN:
            continue
        keys_by_group.setdefault(condition.group, set()).add(condition.key)
    for group, keys in keys_by_group.items():
        key = name_key(group, spend_part)
        if keys.isdisjoint({key, names.get(group, _UNNAMED).get(key or "", key)}):
            return False
    return True


class SpendExchange(Struct, frozen=True):
    target: str
    rates: Mapping[CurrencyDay, Fraction | None]

    def has_rate(self, row: LedgerRow) -> bool:
        return self.rates.get((row.currency, row.date), _SAME) is not None

    def left_out(self, parts: Iterable[SpendPart]) -> tuple[LeftOutSpend, ...]:
        """List spend without an exchange rate, by currency."""
        days: dict[str, set[date]] = {}
        amounts: dict[str, int] = {}
        for spend_part in parts:
            row = spend_part.row
            if not self.has_rate(row):
                days.setdefault(row.currency, set()).add(row.date)
                amounts[row.currency] = amounts.get(row.currency, 0) + row.figures[0]
        return tuple(
            LeftOutSpend(
                currency, Decimal(amounts[currency]) / MILLIONTHS, min(days[currency]), max(days[currency])
            )
            for currency in sorted(days)
        )

    def convert(self, spend_part: SpendPart) -> SpendPart:
        """Convert a part; to 0 without a rate."""
        if spend_part.row.currency == self.target:
            return spend_part
        rate = self.rates.get((spend_part.row.currency, spend_part.row.date))
        amount, impressions, clicks, conversions, revenue = spend_part.row.figures
        amount, revenue = (
            0 if rate is None else convert(money, rate, _HUNDREDTH) for money in (amount, revenue)
        )
        figures = (amount, impressions, clicks, conversions, revenue)
        return SpendPart(spend_part.row._replace(figures=figures), spend_part.is_remainder)


async def load_exchange(
    connection: AsyncConnection,
    space_id: int,
    target: str,
    currency_days: Iterable[CurrencyDay],
    point: RatePoint | None = None,
) -> SpendExchange:
    """Load each day's rates, current or at a point."""
    foreign_days = {(currency, day) for currency, day in currency_days if currency != target}
    currencies = {currency for currency, _ in foreign_days} | {target}
    table = await load_rates(connection, space_id, {day for _, day in foreign_days}, currencies, point)
    return SpendExchange(target, {pair: table.rate(pair[1], pair[0], target) for pair in foreign_days})


def list_currency_days(parts: Iterable[SpendPart]) -> set[CurrencyDay]:
    return {(spend_part.row.currency, spend_part.row.date) for spend_part in parts}


def plus(figures: Figures, addend: Figures) -> Figures:
    return tuple(a + b for a, b in zip(figures, addend, strict=True))


def add_up_all(several: Iterable[Figures]) -> Figures:
    return reduce(plus, several, NOTHING)
