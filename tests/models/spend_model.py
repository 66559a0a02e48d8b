"""What was spent, in plain Python: each place of an account by the definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = tuple[Any, ...]
"""Day, platform, currency, four ids (blank where the row is coarser), country, figures."""


def spent(rows: Sequence[Row], figure: int) -> int:
    """All that was spent: the sum over days, platforms and currencies."""
    return sum(
        value(of_group(rows, group), (), figure) for group in sorted({row[:3] for row in rows})
    )


def of_group(rows: Sequence[Row], group: tuple[Any, ...]) -> list[Row]:
    """The rows of one day, platform and currency, campaigns without an account in that which others
    have for them.
    """
    mine = [row for row in rows if row[:3] == group]

    def account(row: Row) -> str:
        others = [each[3] for each in mine if each[4] == row[4]]
        return max(others) if row[4] and not row[3] else row[3]

    return [(*row[:3], account(row), *row[4:]) for row in mine]


def value(rows: Sequence[Row], path: tuple[str, ...], figure: int) -> int:
    """What a place comes to: the largest of its own row, its countries, and the places below it."""
    here = [row for row in rows if ids(row) == path]
    whole = max([row[8][figure] for row in here if not row[7]], default=0)
    countries = {row[7] for row in here if row[7]}
    by_country = sum(
        max(row[8][figure] for row in here if row[7] == country) for country in countries
    )
    deeper = {ids(row)[: len(path) + 1] for row in rows if len(ids(row)) > len(path)}
    below = sum(value(rows, each, figure) for each in deeper if each[: len(path)] == path)
    return max(whole, by_country, below)


def ids(row: Row) -> tuple[str, ...]:
    """The place of a row: its ids down to the last."""
    path = list(row[3:7])
    while path and not path[-1]:
        path.pop()
    return tuple(path)
