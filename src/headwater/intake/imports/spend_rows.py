"""Rows outside the spend ledger: totals and notes are ignored; rows not of one day and place make the file
unreadable. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headwater.intake.imports.formats.columns import NOTHING, Columns
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.totals import RowTest, is_total_label, names_total
from headwater.spend.file_headers import Recognition, period_column

DAY, LAST_DAY = "date", "last_day"
_IDS = ("account_id", "campaign_id", "adset_id", "ad_id")
_NAMES = ("campaign_name", "adset_name", "ad_name")
_KEY = frozenset({DAY, LAST_DAY, "platform", "currency", "country", *_IDS, *_NAMES})
"""The fields that identify a row."""
_NUMBER = re.compile(r"[-+]?[\d.,\s'’]*[%€$£]?|[-–—]+", re.ASCII)  # noqa: RUF001 # dashes
_RANGE = re.compile(
    r"\d\s*[–—~〜～]\s*\w*\.?\s*\d|\d\s+(?:-|to|bis|au|al|até|t/m|tot|do|a)\s+\w*\.?\s*\d|"  # noqa: RUF001
    r"(?:19|20)\d\d\s*-\s*\d{1,4}[./-]\d{1,2}[./-]\d"
)
_DAY_LENGTH = len("2026-12-31")
_ALL_DAYS = frozenset({"all", "alle", "tous", "todos", "tutti", "wszystkie", "すべて"})


def make_total_test(columns: Columns) -> RowTest:
    by_field = {name: column for column, name in columns.mapped}
    day, last = by_field.get(DAY), by_field.get(LAST_DAY)
    ids = [by_field[name] for name in _IDS[1:] if name in by_field]
    places = [by_field[name] for name in (*_IDS, *_NAMES) if name in by_field]

    def is_total(values: Mapping[str, Any]) -> bool:
        first = next((value for value in values.values() if value), "")
        if not isinstance(first, str):
            return False
        if is_total_label(first) or any(is_total_label(values.get(index) or "") for index in places):
            return not any(_is_filled(values.get(index)) for index in ids)
        text = (values.get(day) or "") if day else ""
        if day is None:
            return False
        if not text[:1].isdigit() and _is_note(values, first, text, places):
            return True
        spans = last is not None and (values.get(last) or text) != text
        if not spans and (len(text) <= _DAY_LENGTH or _RANGE.search(text) is None):
            return False
        return bool(places) and not any(_is_filled(values.get(index)) for index in places)

    return is_total


def _is_note(values: Mapping[str, Any], first: str, day: str, places: list[str]) -> bool:
    filled = sum(1 for value in values.values() if value)
    if not filled or (filled == 1 and not _NUMBER.fullmatch(first.strip())):
        return True
    if any(letter.isdigit() for letter in day):
        return names_total(day)
    has_no_place = bool(places) and not any(_is_filled(values.get(index)) for index in places)
    return has_no_place or day.strip().lower() in _ALL_DAYS or names_total(first)


def _is_filled(cell: object) -> bool:
    return isinstance(cell, str) and cell.strip().lower() not in NOTHING and not is_total_label(cell)


def refuse_other_rows(
    recognition: Recognition, fields: Mapping[str, str], rows: Iterable[Mapping[str, str]]
) -> None:
    """Raise UnreadableError if rows span days, or split a ledger row: only the last part would count.
    `fields` maps columns.
    """
    columns = Columns(tuple(fields.values()), tuple(fields.items()))
    is_total = make_total_test(columns)
    rows = [row for row in rows if not is_total(row)]
    has_places = not {*_IDS[1:], *_NAMES}.isdisjoint(fields.values())
    _refuse_several_days(fields, rows, has_places=has_places)
    _refuse_parts(fields, rows, one_each=recognition.form.platform is not None)


def refuse_other_periods(lines_before: Sequence[str], header: Sequence[str] = ()) -> None:
    """Raise UnreadableError if the header, or a line before it, names weeks, months or hours."""
    period = next((match for line in lines_before if (match := _AGGREGATION.search(line))), None)
    column = period_column(header)
    if period is not None or column is not None:
        period_text = f"the column {column}" if column else period and period[0].strip('" ')
        raise UnreadableError(f"the report is not by day ({period_text}): export the file by day")


_AGGREGATION = re.compile(
    r"aggregation\W+(?:hourly|weekly|monthly|quarterly|yearly|summary|none|day ?of ?week)", re.IGNORECASE
)


def _refuse_several_days(
    fields: Mapping[str, str], rows: Sequence[Mapping[str, str]], *, has_places: bool
) -> None:
    """Raise UnreadableError for rows over several days. Without places, daily rows may be mixed with totals,
    so only files without daily rows are refused.
    """
    by_name = {name: column for column, name in fields.items()}
    first, last = by_name.get(DAY, ""), by_name.get(LAST_DAY, "")
    spans = [span for row in rows if (span := _format_span(row, first, last))]
    days = sum(1 for row in rows if row.get(first))
    if spans and (has_places or len(spans) == days):
        raise UnreadableError(f"rows cover several days, {spans[0]}: export the file by day")


def _format_span(row: Mapping[str, str], first: str, last: str) -> str:
    """Return an empty text for one day."""
    start, end = row.get(first) or "", row.get(last) or ""
    if start and end and start != end:
        return f"{first} {start[:30]} to {last} {end[:30]}"
    return f"{first} {start[:60]}" if _RANGE.search(start) else ""


def _refuse_parts(fields: Mapping[str, str], rows: Iterable[Mapping[str, str]], *, one_each: bool) -> None:
    """Raise UnreadableError if rows of one key differ in an unmapped column or, with `one_each` (a platform's
    own export), in the amount.
    """
    key = [column for column, name in fields.items() if name in _KEY]
    amount = next((column for column, name in fields.items() if name == "amount"), "")
    first_rows: dict[tuple[str, ...], Mapping[str, str]] = {}
    for row in rows:
        first = first_rows.setdefault(tuple(row.get(column, "") for column in key), row)
        parts = [
            column
            for column, text in row.items()
            if column and column not in fields and _distinguishes(column, text, first.get(column, ""))
        ]
        if parts:
            raise UnreadableError(
                f"rows of one day and place differ by {' and '.join(parts)[:200]}, which is not "
                "stored: only the last row would count. Export the file without it"
            )
        if one_each and row.get(amount, "") != first.get(amount, ""):
            raise UnreadableError(
                f"two rows of one day and place have the amounts {first.get(amount, '')[:30]} and "
                f"{row.get(amount, '')[:30]}: only the last would count. Export one row for both"
            )


def _distinguishes(column: str, text: str, first_text: str) -> bool:
    """Return whether cells differ in words, or in numbers used as names."""
    if text == first_text:
        return False
    word = column.casefold()
    if word.startswith("hour") or word.endswith((" id", "_id")):
        return True
    return not (_NUMBER.fullmatch(text.strip()) and _NUMBER.fullmatch(first_text.strip()))
