"""Readers of uploaded files, which anybody can write."""

from __future__ import annotations

from headwater.imports.dialects import HEAD_BYTES, delimiter_of
from headwater.imports.files import LONGEST_ROW
from headwater.imports.notation import Notation, guess_dates, guess_decimals
from tests.hostile.growth import Door


def _written(text: str) -> None:
    """An uploaded file's cell as an amount and as a time."""
    guess_decimals([text])
    guess_dates([text], "UTC")
    for notation in (Notation("comma", "dmy"), Notation("point", "mdy")):
        notation.number(text)
        notation.time(text)


IMPORT_DOORS = [
    Door("imports.delimiter", delimiter_of, HEAD_BYTES),
    Door("imports.notation", _written, LONGEST_ROW),
]
