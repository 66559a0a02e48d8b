"""Readers of uploaded files, which anybody can write."""

from __future__ import annotations

from contextlib import suppress

from headwater.imports.dialects import HEAD_BYTES, UnreadableError, delimiter_of
from headwater.imports.files import LONGEST_ROW
from headwater.imports.notation import Notation, certain_order, guess_dates, guess_decimals
from headwater.imports.spend import find_table
from headwater.imports.spend_rows import refuse_other_rows
from tests.hostile.growth import Door


def _written(text: str) -> None:
    """An uploaded file's cell as an amount and as a time."""
    guess_decimals([text])
    guess_dates([text], "UTC")
    certain_order([text])
    for notation in (Notation("comma", "dmy"), Notation("point", "mdy")):
        notation.number(text)
        notation.time(text)


def _table(text: str) -> None:
    """The beginning of an uploaded file of spend."""
    with suppress(UnreadableError):
        table = find_table(text.encode("utf-8", "replace"))
        if table is not None:
            refuse_other_rows(table.recognition, table.recognition.columns, table.rows)


IMPORT_DOORS = [
    Door("imports.spend", _table, HEAD_BYTES),
    Door("imports.delimiter", delimiter_of, HEAD_BYTES),
    Door("imports.notation", _written, LONGEST_ROW),
]
