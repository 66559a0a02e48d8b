"""Readers of a file's cell, or of a filter's number, with their context."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

from headwater.intake.imports.formats.amounts import DecimalsSurvey, read_number
from headwater.intake.imports.formats.columns import _read_number as imported_number
from headwater.intake.imports.formats.dialects import detect_delimiter
from headwater.intake.imports.formats.encodings import judge_encoding
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.formats.times import DatesSurvey, read_time
from headwater.intake.imports.formats.totals import is_total_label
from headwater.people.contacts.filters import DateContext
from headwater.people.contacts.filters import _number as filter_number


def survey_cell(text: str) -> object:
    """Read a cell in every notation, as a number, a day, a label of totals and a line of a file."""
    DecimalsSurvey().add(text)
    DatesSurvey().add(text)
    numbers = [read_number(text, decimals) for decimals in ("plain", "point", "comma")]
    times = [read_time(text, dates) for dates in ("iso", "dmy", "mdy")]
    return numbers, times, is_total_label(text), detect_delimiter(text), judge_encoding(text.encode())


def read_imported_number(text: str) -> object:
    """Read a number in an import."""
    return imported_number(text, Notation())


def read_filter_number(text: str) -> object:
    """Read a number in a filter of contacts."""
    return filter_number({"value": text}, DateContext(ZoneInfo("UTC"), date(2026, 11, 1)))
