"""Readers of one cell of a file, or one number of a filter, with all that they need besides."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

from headwater.contacts.filters import DateContext
from headwater.contacts.filters import _number as filter_number
from headwater.imports.amounts import DecimalsSurvey, read_number
from headwater.imports.columns import _number as imported_number
from headwater.imports.dialects import delimiter_of
from headwater.imports.encodings import judge_encoding
from headwater.imports.notation import Notation
from headwater.imports.times import DatesSurvey, read_time
from headwater.imports.totals import is_total_label


def survey_cell(text: str) -> object:
    """Read a cell in every notation, as a number, a day, a label of totals and a line of a file."""
    DecimalsSurvey().add([text])
    DatesSurvey().add([text])
    numbers = [read_number(text, decimals) for decimals in ("plain", "point", "comma")]
    times = [read_time(text, dates) for dates in ("iso", "dmy", "mdy")]
    return numbers, times, is_total_label(text), delimiter_of(text), judge_encoding(text.encode())


def read_imported_number(text: str) -> object:
    """Read a number of an import."""
    return imported_number(text, Notation())


def read_filter_number(text: str) -> object:
    """Read the number of a filter of contacts."""
    return filter_number({"value": text}, DateContext(ZoneInfo("UTC"), date(2026, 11, 1)))
