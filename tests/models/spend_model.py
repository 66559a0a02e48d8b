"""Spend in plain Python, computed by definition for each node of an ad hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = tuple[Any, ...]
"""Day, platform, currency, four ids (empty if the row is coarser), country, figures."""


def total_spend(rows: Sequence[Row], figure: int) -> int:
    """Return the total spend: the sum over days, platforms and currencies."""
    return sum(value(group_rows(rows, group), (), figure) for group in sorted({row[:3] for row in rows}))


def group_rows(rows: Sequence[Row], group: tuple[Any, ...]) -> list[Row]:
    """Return the rows of one day, platform and currency. A campaign without an account gets the account that
    other rows have for it.
    """
    group_rows = [row for row in rows if row[:3] == group]

    def account(row: Row) -> str:
        accounts = [other_row[3] for other_row in group_rows if other_row[4] == row[4]]
        return max(accounts) if row[4] and not row[3] else row[3]

    return [(*row[:3], account(row), *row[4:]) for row in group_rows]


def value(rows: Sequence[Row], path: tuple[str, ...], figure: int) -> int:
    """Return the figure of a node: the largest of its own row, the sum of its countries, and the sum of its
    child nodes.
    """
    own_rows = [row for row in rows if ids(row) == path]
    largest = max([row[8][figure] for row in own_rows if not row[7]], default=0)
    countries = {row[7] for row in own_rows if row[7]}
    by_country = sum(max(row[8][figure] for row in own_rows if row[7] == country) for country in countries)
    deeper = {ids(row)[: len(path) + 1] for row in rows if len(ids(row)) > len(path)}
    below = sum(value(rows, child, figure) for child in deeper if child[: len(path)] == path)
    return max(largest, by_country, below)


def pieces(rows: Sequence[Row]) -> list[Row]:
    """Return the spend in parts that count everything once: the countries of a node without child nodes,
    otherwise the excess of a node over its child nodes. An empty part is listed only for a row's own node.
    """
    return [
        spend_row
        for group in sorted({row[:3] for row in rows})
        for spend_row in _group_pieces(group_rows(rows, group), group)
    ]


def _group_pieces(rows: Sequence[Row], group: tuple[Any, ...]) -> list[Row]:
    parts: list[Row] = []
    figures = range(len(rows[0][8]))
    for path in sorted({ids(row)[:depth] for row in rows for depth in range(len(ids(row)) + 1)}):
        prefix = (*group, *path, *[""] * (4 - len(path)))
        under = [ids(row) for row in rows if ids(row)[: len(path)] == path != ids(row)]
        below = {descendant[: len(path) + 1] for descendant in under}
        finer = [tuple(value(rows, child, figure) for figure in figures) for child in below]
        country_rows = [row for row in rows if ids(row) == path and row[7]]
        if not below:
            for country in sorted({row[7] for row in country_rows}):
                country_figures = [row[8] for row in country_rows if row[7] == country]
                finer.append(
                    tuple(max(row_figures[figure] for row_figures in country_figures) for figure in figures)
                )
                parts.append((*prefix, country, finer[-1]))
        excess = tuple(
            value(rows, path, f) - sum(child_figures[f] for child_figures in finer) for f in figures
        )
        if any(excess) or not finer:
            parts.append((*prefix, "", excess))
    return parts


def ids(row: Row) -> tuple[str, ...]:
    """Return the node of a row: its ids down to the last."""
    path = list(row[3:7])
    while path and not path[-1]:
        path.pop()
    return tuple(path)
