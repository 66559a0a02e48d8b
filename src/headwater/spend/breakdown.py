"""Reports of one day at several levels, told apart: what is broken down, and what is not. Pure.

An account's total, its campaigns and their ads are the same money three times. So a row is never
added to those below it: what it has beyond them is left over at its own level, as not broken down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from headwater.spend.models import FIGURES

NOTHING = (0,) * len(FIGURES)

Figures = tuple[int, ...]
"""In the order of FIGURES: money and conversions in millionths, counts whole."""


class LedgerRow(NamedTuple):
    """A row of the ledger; empty where it is of more than one."""

    date: date
    platform: str
    currency: str
    path: tuple[str, ...]
    """Account, campaign, ad set and ad, down to the last that the row names."""
    country: str
    figures: Figures
    source: str | None = None
    """The source of all clicks that the row is for; None where there are several, or none."""
    owner: str | None = None
    """The platform that bills it, as sources have it; None for one without sources."""


class Piece(NamedTuple):
    """A part of what was spent. All pieces together are all of it, and none is in another."""

    row: LedgerRow
    """Where it is, and how much."""
    left_over: bool
    """True for what a row has beyond those below it."""


@dataclass
class _Place:
    """A place in an account on one day, and those below it."""

    own: dict[str, Figures] = field(default_factory=dict[str, Figures])
    """The rows of just this place, by country."""
    below: dict[str, _Place] = field(default_factory=dict[str, "_Place"])


def pieces_of(rows: Iterable[LedgerRow]) -> Iterator[Piece]:
    """Yield what was spent, each part once. Where a place is broken down both by what is below it
    and by country, the former counts; where its parts are more than the whole, the parts do.
    """
    for (day, platform, currency), group in _by_day(rows).items():
        top = _Place()
        for row in group:
            _add(top, row)
        base = LedgerRow(day, platform, currency, (), "", NOTHING, group[0].source, group[0].owner)
        pieces: list[Piece] = []
        _break_down(top, base, pieces)
        yield from pieces


def _by_day(rows: Iterable[LedgerRow]) -> Mapping[tuple[date, str, str], list[LedgerRow]]:
    groups: dict[tuple[date, str, str], list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault((row.date, row.platform, row.currency), []).append(row)
    return {key: _with_accounts(group) for key, group in groups.items()}


def _with_accounts(rows: list[LedgerRow]) -> list[LedgerRow]:
    """Return rows of one day, those of a campaign without an account in the account that others
    have for it.
    """
    accounts: dict[str, str] = {}
    for row in rows:
        if len(row.path) > 1:
            account, campaign = row.path[:2]
            accounts[campaign] = max(account, accounts.get(campaign, ""))
    return [
        row._replace(path=(accounts[row.path[1]], *row.path[1:]))
        if len(row.path) > 1 and not row.path[0]
        else row
        for row in rows
    ]


def _add(top: _Place, row: LedgerRow) -> None:
    place = top
    for each in row.path:
        place = place.below.setdefault(each, _Place())
    known = place.own.get(row.country, NOTHING)
    place.own[row.country] = _larger(known, row.figures)


def _break_down(place: _Place, at: LedgerRow, pieces: list[Piece]) -> Figures:
    """Add the pieces of a place and return what they come to."""
    whole = place.own.get("", NOTHING)
    by_country = {country: own for country, own in place.own.items() if country}
    of_countries = _sum(by_country.values())
    if place.below:
        parts = _sum(
            _break_down(each, at._replace(path=(*at.path, name)), pieces)
            for name, each in place.below.items()
        )
    else:
        parts = of_countries
        pieces += [
            Piece(at._replace(country=country, figures=own), left_over=False)
            for country, own in by_country.items()
        ]
    value = _larger(_larger(whole, of_countries), parts)
    rest = tuple(figure - part for figure, part in zip(value, parts, strict=True))
    is_broken_down = bool(place.below or by_country)
    if not is_broken_down or rest != NOTHING:
        pieces.append(Piece(at._replace(figures=rest), left_over=is_broken_down))
    return value


def _larger(some: Figures, others: Figures) -> Figures:
    return tuple(map(max, some, others))


def _sum(several: Iterable[Figures]) -> Figures:
    total = NOTHING
    for figures in several:
        total = tuple(map(sum, zip(total, figures, strict=True)))
    return total
