"""Rows of files of spend that are none of the ledger's: totals and notes, which are passed over,
and rows of something else than a day or a place in an ad account, for which a file is refused.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headwater.imports.columns import Columns
from headwater.imports.dialects import UnreadableError
from headwater.spend.file_formats import Recognition

DAY = "date"
_IDS = ("account_id", "campaign_id", "adset_id", "ad_id")
_NAMES = ("campaign_name", "adset_name", "ad_name")
_KEY = frozenset({DAY, "platform", "currency", "country", *_IDS, *_NAMES})
"""The fields that tell one row from another."""
_WORDS = (
    "totale", "totales", "total", "totals", "totaal", "totais", "totalt", "gesamt", "summe", "suma",
    "razem", "łącznie", "celkem", "összesen", "toplam", "итого", "всего", "合計", "总计", "總計",
    "합계",
)  # fmt: skip
_BEFORE = ("grand ", "overall ")
_TOTAL = rf"(?:{'|'.join(_BEFORE)})?(?:{'|'.join(_WORDS)})"
_BEGINNINGS = frozenset(word[:2] for word in (*_WORDS, *_BEFORE))
"""By which nearly all rows are told from totals, as there may be a million."""
_OF_TOTALS = re.compile(rf"{_TOTAL}(?:\s*:|\s+of\s+\d|\s*$)", re.IGNORECASE)
"""The first cell of such a row, whatever is in the others. Campaigns may begin with the word."""
_NAMES_TOTAL = re.compile(rf"\b{_TOTAL}\b", re.IGNORECASE)
"""The first cell of one without a day."""
_NUMBER = re.compile(r"[-+]?[\d.,\s'’]*[%€$£]?|[-–—]+", re.ASCII)  # noqa: RUF001 # dashes

RowTest = Callable[[Mapping[str, Any]], bool]


def make_total_test(columns: Columns) -> RowTest:
    """Return what tells by the cells of a row whether it is one of totals, or a note."""
    by_field = {name: column for column, name in columns.mapped}
    day = by_field.get(DAY)
    places = [by_field[name] for name in (*_IDS, *_NAMES) if name in by_field]

    def is_total(values: Mapping[str, Any]) -> bool:
        first = next((value for value in values.values() if value), "")
        if not isinstance(first, str):
            return False
        if first[:2].lower() in _BEGINNINGS and _OF_TOTALS.match(first):
            return True
        text = "" if day is None else values.get(day, "")
        if day is None or text[:1].isdigit():
            return False
        filled = sum(1 for value in values.values() if value)
        is_note = not filled or (filled == 1 and not _NUMBER.fullmatch(first.strip()))
        has_day = any(letter.isdigit() for letter in text)
        is_of_nothing = not has_day and places and not any(values.get(each) for each in places)
        return bool(is_note or is_of_nothing or _NAMES_TOTAL.search(first))

    return is_total


def refuse_other_rows(
    recognition: Recognition, fields: Mapping[str, str], rows: Iterable[Mapping[str, str]]
) -> None:
    """Raise UnreadableError for a table whose rows are of several days each, or of parts of what
    the ledger has one row of: only the last of them would count. `fields` are those of columns.
    """
    columns = Columns(tuple(fields.values()), tuple(fields.items()))
    is_total = make_total_test(columns)
    rows = [row for row in rows if not is_total(row)]
    _refuse_several_days(recognition, fields, rows)
    _refuse_parts(fields, rows, one_each=recognition.form.platform is not None)


def _refuse_several_days(
    recognition: Recognition, fields: Mapping[str, str], rows: Iterable[Mapping[str, str]]
) -> None:
    first = next((column for column, name in fields.items() if name == DAY), None)
    last = recognition.last_day
    if first is None or last is None or last == first:
        return
    for row in rows:
        start, end = row.get(first, ""), row.get(last, "")
        if start and end and start != end:
            raise UnreadableError(
                f"the rows are of several days, {first} {start[:30]} to {last} {end[:30]}: export "
                "the file by day"
            )


def _refuse_parts(
    fields: Mapping[str, str], rows: Iterable[Mapping[str, str]], *, one_each: bool
) -> None:
    """Raise UnreadableError for rows of one key that differ in what they are of, or where there has
    to be one of each, as in a platform's own export, in what was spent.
    """
    key = [column for column, name in fields.items() if name in _KEY]
    amount = next((column for column, name in fields.items() if name == "amount"), "")
    seen: dict[tuple[str, ...], Mapping[str, str]] = {}
    for row in rows:
        first = seen.setdefault(tuple(row.get(column, "") for column in key), row)
        parts = [
            column for column, text in row.items()
            if column and column not in fields and _tells_apart(column, text, first.get(column, ""))
        ]  # fmt: skip
        if parts:
            raise UnreadableError(
                f"rows of one day and place differ by {' and '.join(parts)[:200]}, which the "
                "ledger does not know: only the last would count. Export the file without them"
            )
        if one_each and row.get(amount, "") != first.get(amount, ""):
            raise UnreadableError(
                f"two rows of one day and place have spent {first.get(amount, '')[:30]} and "
                f"{row.get(amount, '')[:30]}: only the last would count. Export one row of each"
            )


def _tells_apart(column: str, text: str, other: str) -> bool:
    """Return whether two cells say what rows are of: words, or numbers that are names."""
    if text == other:
        return False
    word = column.casefold()
    if word.startswith("hour") or word.endswith((" id", "_id")):
        return True
    return not (_NUMBER.fullmatch(text.strip()) and _NUMBER.fullmatch(other.strip()))
