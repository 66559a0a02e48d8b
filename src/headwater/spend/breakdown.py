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
_AD_SET = 2
"""The index of the ad set in a path; empty for an ad right below its campaign."""

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
    return {key: _with_ad_sets(_with_accounts(group)) for key, group in groups.items()}


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


def _with_ad_sets(rows: list[LedgerRow]) -> list[LedgerRow]:
    """Return rows of one day, those of an ad without its ad set in the ad set that others have for
    it.
    """
    ad_sets: dict[tuple[str, ...], str] = {}
    for row in rows:
        if len(row.path) > _AD_SET + 1 and row.path[_AD_SET]:
            ad = (*row.path[:_AD_SET], row.path[-1])
            ad_sets[ad] = max(row.path[_AD_SET], ad_sets.get(ad, ""))
    if not ad_sets:
        return rows
    return [
        row._replace(path=(*row.path[:_AD_SET], ad_sets[ad], row.path[-1]))
        if len(row.path) > _AD_SET + 1
        and not row.path[_AD_SET]
        and (ad := (*row.path[:_AD_SET], row.path[-1])) in ad_sets
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
        parts, below = _break_down_below(place, at, pieces)
        whole = _larger(whole, below)
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


def _break_down_below(place: _Place, at: LedgerRow, pieces: list[Piece]) -> tuple[Figures, Figures]:
    """Add the pieces of the places below one. Return what they come to, and what all reports about
    them come to: ads that name no ad set and ad sets without ads are two reports of the same money,
    of which the ads count as the finer one.
    """
    coarse: set[str] = set()
    if len(at.path) == _AD_SET and "" in place.below:
        coarse = {name for name, each in place.below.items() if name and not each.below}
    values = {
        name: _break_down(each, at._replace(path=(*at.path, name)), [] if name in coarse else pieces)
        for name, each in place.below.items()
    }
    parts = _sum(values[name] for name in values if name not in coarse)
    if not coarse:
        return parts, parts
    others = _sum(values[name] for name in values if name and name not in coarse)
    ad_sets = _sum(values[name] for name in coarse)
    return parts, _sum((others, _larger(ad_sets, values[""])))


def _larger(some: Figures, others: Figures) -> Figures:
    return tuple(map(max, some, others))


def _sum(several: Iterable[Figures]) -> Figures:
    total = NOTHING
    for figures in several:
        total = tuple(map(sum, zip(total, figures, strict=True)))
    return total
