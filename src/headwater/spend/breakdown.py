"""Split a day's reports at several levels into disjoint parts. Pure.

An account's total, its campaigns and their ads report the same money, so a row is never added to the rows
below it; the difference stays at its own level, not broken down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from headwater.spend.models import FIGURES

NOTHING = (0,) * len(FIGURES)
_AD_SET = 2
"""The index of the ad set in a path; empty for an ad directly below its campaign."""

Figures = tuple[int, ...]
"""In the order of FIGURES: money and conversions in millionths, counts as integers."""


class LedgerRow(NamedTuple):
    """A row of the ledger. A field is empty if the row covers several values."""

    date: date
    platform: str
    currency: str
    path: tuple[str, ...]
    """Account, campaign, ad set and ad, down to the row's level."""
    country: str
    figures: Figures
    source: str | None = None
    """The source of all its clicks, if there is only one."""
    owner: str | None = None
    """The billing platform, named like in sources."""


class SpendPart(NamedTuple):
    """A part of the spend. Parts are disjoint, and their sum is the whole spend."""

    row: LedgerRow
    is_remainder: bool
    """True for the difference between a row and the rows below it."""


@dataclass
class _Node:
    """An account, campaign, ad set or ad on one day, with its children."""

    by_country: dict[str, Figures] = field(default_factory=dict[str, Figures])
    """Its own rows; the key "" is for all countries."""
    children: dict[str, _Node] = field(default_factory=dict[str, "_Node"])


def break_down(rows: Iterable[LedgerRow]) -> Iterator[SpendPart]:
    """Yield the spend in disjoint parts. Children take precedence over countries, and their sum over a
    smaller total.
    """
    for (day, platform, currency), group in _group_by_day(rows).items():
        if _is_disjoint(group):
            yield from (SpendPart(row, is_remainder=False) for row in group)
            continue
        root = _Node()
        for row in group:
            _add(root, row)
        base = LedgerRow(day, platform, currency, (), "", NOTHING, group[0].source, group[0].owner)
        parts: list[SpendPart] = []
        _add_parts(root, base, parts)
        yield from parts


def _is_disjoint(rows: list[LedgerRow]) -> bool:
    """Return whether no two rows of a day report the same money: no row covers another or repeats it, and no
    ad set is missing. Most days are so, and building their tree takes ten times as long.
    """
    paths = {row.path for row in rows if not row.country}
    paths_by_country = {row.path for row in rows if row.country}
    all_paths = paths | paths_by_country
    return (
        len({(row.path, row.country) for row in rows}) == len(rows)
        and paths.isdisjoint(paths_by_country)
        and all_paths.isdisjoint(path[:depth] for path in all_paths for depth in range(len(path)))
        and all(all(path[_AD_SET:]) for path in all_paths)
    )


def _group_by_day(rows: Iterable[LedgerRow]) -> Mapping[tuple[date, str, str], list[LedgerRow]]:
    groups: dict[tuple[date, str, str], list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault((row.date, row.platform, row.currency), []).append(row)
    return {key: _with_ad_sets(_with_accounts(group)) for key, group in groups.items()}


def _with_accounts(rows: list[LedgerRow]) -> list[LedgerRow]:
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


def _add(root: _Node, row: LedgerRow) -> None:
    node = root
    for name in row.path:
        node = node.children.setdefault(name, _Node())
    stored_figures = node.by_country.get(row.country, NOTHING)
    node.by_country[row.country] = _larger(stored_figures, row.figures)


def _add_parts(node: _Node, row: LedgerRow, parts: list[SpendPart]) -> Figures:
    """Return the total of the appended parts. `row` has the node's path."""
    total = node.by_country.get("", NOTHING)
    countries = {country: figures for country, figures in node.by_country.items() if country}
    country_total = _sum(countries.values())
    if node.children:
        broken_down, child_total = _add_child_parts(node, row, parts)
        total = _larger(total, child_total)
    else:
        broken_down = country_total
        parts += [
            SpendPart(row._replace(country=country, figures=figures), is_remainder=False)
            for country, figures in countries.items()
        ]
    total = _larger(_larger(total, country_total), broken_down)
    remainder = tuple(figure - figure_part for figure, figure_part in zip(total, broken_down, strict=True))
    is_broken_down = bool(node.children or countries)
    if not is_broken_down or remainder != NOTHING:
        parts.append(SpendPart(row._replace(figures=remainder), is_remainder=is_broken_down))
    return total


def _add_child_parts(node: _Node, row: LedgerRow, parts: list[SpendPart]) -> tuple[Figures, Figures]:
    """Append the parts of a node's children. Return the total of these parts, and of all reports about the
    children.

    Ads without an ad set and ad sets without ads report the same money twice. Only the ads, which are finer,
    become parts.
    """
    coarse: set[str] = set()
    if len(row.path) == _AD_SET and "" in node.children:
        coarse = {name for name, child in node.children.items() if name and not child.children}
    totals = {
        name: _add_parts(child, row._replace(path=(*row.path, name)), [] if name in coarse else parts)
        for name, child in node.children.items()
    }
    part_total = _sum(totals[name] for name in totals if name not in coarse)
    if not coarse:
        return part_total, part_total
    fine_ad_sets = _sum(totals[name] for name in totals if name and name not in coarse)
    coarse_ad_sets = _sum(totals[name] for name in coarse)
    return part_total, _sum((fine_ad_sets, _larger(coarse_ad_sets, totals[""])))


def _larger(first: Figures, second: Figures) -> Figures:
    return tuple(map(max, first, second))


def _sum(figures: Iterable[Figures]) -> Figures:
    return tuple(map(sum, zip(NOTHING, *figures, strict=True)))
