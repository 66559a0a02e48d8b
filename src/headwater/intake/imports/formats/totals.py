"""Detect total rows by their labels in many languages. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from headwater.intake.imports.formats.columns import Columns

RowTest = Callable[[Mapping[str, Any]], bool]

_WORDS = (
    "total",
    "totals",
    "totale",
    "totales",
    "totaal",
    "eindtotaal",
    "totais",
    "totalt",
    "grand total",
    "overall total",
    "account total",
    "total general",
    "total général",
    "total geral",
    "totale complessivo",
    "gesamt",
    "gesamtsumme",
    "gesamtergebnis",
    "insgesamt",
    "summe",
    "suma",
    "suma końcowa",
    "razem",
    "łącznie",
    "ogółem",
    "celkem",
    "összesen",
    "toplam",
    "итого",
    "всего",
    "合計",
    "総計",
    "总计",
    "總計",
    "합계",
    "総合計",
)
_TOTAL = rf"(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
_LABEL = re.compile(rf"\s*{_TOTAL}(?:\s*[:：(（]|\s+of\s+\d|\s*$)", re.IGNORECASE)  # noqa: RUF001
"""Campaign names may begin with the word, so it is alone or followed by a colon or bracket."""
_NAMES_TOTAL = re.compile(rf"\b{_TOTAL}\b", re.IGNORECASE)
_LONGEST = 200
_MOST_CACHED = 50_000
_IDENTIFIERS = ("email", "emails", "tracking_id", "trk_token", "fingerprint", "phone", "phones")


def is_total_label(cell: str) -> bool:
    """Recognize total labels, such as `Total: Account`."""
    return len(cell) < _LONGEST and _is_label(cell)


@lru_cache(_MOST_CACHED)
def _is_label(cell: str) -> bool:
    return _LABEL.match(cell) is not None


def names_total(cell: str) -> bool:
    """Search for the word; only meaningful in a row without a day."""
    return len(cell) < _LONGEST and _NAMES_TOTAL.search(cell) is not None


def make_total_test(columns: Columns) -> RowTest:
    """Recognize total rows about people: the first cell is a label and no cell identifies a person."""
    by_field = {name: column for column, name in columns.mapped}
    identifier_columns = [by_field.get(name, name) for name in _IDENTIFIERS]

    def is_total(values: Mapping[str, Any]) -> bool:
        first = next((value for value in values.values() if value), "")
        return (
            isinstance(first, str)
            and is_total_label(first)
            and not any(values.get(column) for column in identifier_columns)
        )

    return is_total
