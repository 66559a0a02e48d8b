"""The spend of some days in one currency, by the groups that it has in common with reports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from psycopg import AsyncConnection

from headwater.ads.catalogue import fetch_names
from headwater.rates.exchange import converted
from headwater.rates.store import RatePoint, load_rates
from headwater.reports.conversion import missing_rates
from headwater.reports.errors import MissingRates
from headwater.reports.models import Group, KeyCondition
from headwater.sources.catalogue import channel_of
from headwater.spend.breakdown import NOTHING, Figures, Piece
from headwater.spend.ledger import read_pieces
from headwater.spend.models import source_of

MILLIONTHS = 10**6
_HUNDREDTH = 10**4
_UNNAMED: Mapping[str, str] = {}
_DEPTH = {Group.CAMPAIGN: 1, Group.ADSET: 2, Group.AD: 3}

Key = str | None
CurrencyDay = tuple[str, date]


@dataclass(frozen=True)
class Spent:
    """The ledger of some days, each part once."""

    pieces: Sequence[Piece]
    """With their money in one currency."""
    names: Mapping[Group, Mapping[str, str]]
    """By group what ids are called."""

    def names_of(self, group: Group | None) -> Mapping[str, str]:
        """Return what the ids of a group are called."""
        return _UNNAMED if group is None else self.names.get(group, _UNNAMED)

    def by_key(self, group: Group | None, listed: Collection[Key]) -> dict[Key, Figures]:
        """Return the sums by the keys of a group. An id of which touchpoints came by name alone is
        under that name, where that is listed and the id is not.
        """
        by_key: dict[Key, Figures] = {}
        for piece in self.pieces:
            key = key_of(group, piece)
            by_key[key] = plus(by_key.get(key, NOTHING), piece.row.figures)
        names = self.names_of(group)
        for key in [key for key in by_key if key not in listed]:
            name = names.get(key or "")
            if name is not None and name in listed:
                by_key[name] = plus(by_key.get(name, NOTHING), by_key.pop(key))
        return by_key

    def by_month(self) -> Mapping[date, Spent]:
        """Return the same of each month that there is anything of, by its first day."""
        pieces: dict[date, list[Piece]] = {}
        for piece in self.pieces:
            pieces.setdefault(piece.row.date.replace(day=1), []).append(piece)
        return {month: Spent(of_month, self.names) for month, of_month in pieces.items()}


async def load_spent(
    connection: AsyncConnection, space_id: int, days: tuple[date, date], currency: str,
    only: Sequence[KeyCondition] = (),
) -> Spent:  # fmt: skip
    """Return what was spent from one day to another, on what meets conditions on keys, each part at
    the rate of its own day. Raises MissingRates.
    """
    pieces = await read_pieces(connection, space_id, *days)
    names = await fetch_piece_names(connection, space_id, pieces)
    chosen = [piece for piece in pieces if is_chosen(piece, only, names)]
    return Spent(await convert_pieces(connection, space_id, currency, chosen), names)


async def convert_pieces(
    connection: AsyncConnection, space_id: int, currency: str, pieces: Sequence[Piece]
) -> list[Piece]:
    """Return pieces in one currency, each at the rate of its own day. Raises MissingRates."""
    exchange = await load_exchange(connection, space_id, currency, pieces)
    if exchange.missing:
        raise MissingRates(currency, missing_rates(exchange.missing))
    return [exchange.convert(piece) for piece in pieces]


async def fetch_piece_names(
    connection: AsyncConnection, space_id: int, pieces: Sequence[Piece]
) -> Mapping[Group, Mapping[str, str]]:
    """Return what the ad catalogue calls the ids of pieces."""
    names: dict[Group, Mapping[str, str]] = {}
    for group, depth in _DEPTH.items():
        ids = {piece.row.path[depth] for piece in pieces if len(piece.row.path) > depth}
        names[group] = await fetch_names(connection, space_id, str(group), ids) if ids else {}
    return names


def key_of(group: Group | None, piece: Piece) -> Key:
    """Return the key of a piece in a group, as a report's rows have it; None where it has none."""
    row = piece.row
    match group:
        case Group.SOURCE | Group.CHANNEL:
            source = source_of(row.platform)
            return channel_of(source) if source and group is Group.CHANNEL else source
        case Group.CAMPAIGN | Group.ADSET | Group.AD:
            return (row.path[_DEPTH[group]] or None) if len(row.path) > _DEPTH[group] else None
        case Group.COUNTRY:
            return row.country or None
        case _:
            return f"{_first_day(group, row.date)}"


def _first_day(group: Group | None, day: date) -> date:
    """Return the first day of the week or month that a day is in; without either, itself."""
    if group is Group.WEEK:
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if group is Group.MONTH else day


def is_chosen(
    piece: Piece, only: Sequence[KeyCondition], names: Mapping[Group, Mapping[str, str]]
) -> bool:
    """Return whether a piece meets the conditions on keys, by its id or by its name."""
    wanted: dict[Group, set[Key]] = {}
    for condition in only:
        wanted.setdefault(condition.group, set()).add(condition.key)
    for group, keys in wanted.items():
        key = key_of(group, piece)
        if keys.isdisjoint({key, names.get(group, _UNNAMED).get(key or "", key)}):
            return False
    return True


@dataclass(frozen=True)
class SpendExchange:
    """The exchange of what was spent into one currency, by the rates of a moment."""

    target: str
    rates: Mapping[CurrencyDay, Fraction | None]

    @property
    def missing(self) -> list[CurrencyDay]:
        """The currencies and days of which no rate is known."""
        return [pair for pair, rate in self.rates.items() if rate is None]

    def convert(self, piece: Piece) -> Piece:
        """Return a piece with its money in that currency: 0 where no rate is known."""
        if piece.row.currency == self.target:
            return piece
        rate = self.rates.get((piece.row.currency, piece.row.date))
        amount, impressions, clicks, conversions, revenue = piece.row.figures
        amount, revenue = (
            0 if rate is None else converted(money, rate, _HUNDREDTH) for money in (amount, revenue)
        )
        figures = (amount, impressions, clicks, conversions, revenue)
        return Piece(piece.row._replace(figures=figures), piece.left_over)


async def load_exchange(
    connection: AsyncConnection, space_id: int, target: str, pieces: Iterable[Piece],
    at: RatePoint | None = None,
) -> SpendExchange:  # fmt: skip
    """Return the exchange of pieces at the rate of each one's own day: those of now, or as they
    were at a point.
    """
    foreign = {(piece.row.currency, piece.row.date) for piece in pieces}
    foreign = {(currency, day) for currency, day in foreign if currency != target}
    currencies = {currency for currency, _ in foreign} | {target}
    table = await load_rates(connection, space_id, {day for _, day in foreign}, currencies, at)
    return SpendExchange(target, {pair: table.rate(pair[1], pair[0], target) for pair in foreign})


def plus(some: Figures, others: Figures) -> Figures:
    return tuple(a + b for a, b in zip(some, others, strict=True))


def sum_of(several: Iterable[Figures]) -> Figures:
    """Return the sums of all."""
    total = NOTHING
    for figures in several:
        total = plus(total, figures)
    return total
