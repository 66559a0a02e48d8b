"""All that the reader of a file asks of one cell whose notation is not known yet."""

from __future__ import annotations

from headwater.imports.amounts import DecimalsSurvey, read_number
from headwater.imports.dialects import delimiter_of
from headwater.imports.encodings import judge_encoding
from headwater.imports.times import DatesSurvey, read_time
from headwater.imports.totals import is_total_label


def survey_cell(text: str) -> object:
    """Read a cell in every notation, as a number, a day, a label of totals and a line of a file."""
    DecimalsSurvey().add([text])
    DatesSurvey().add([text])
    numbers = [read_number(text, decimals) for decimals in ("plain", "point", "comma")]
    times = [read_time(text, dates) for dates in ("iso", "dmy", "mdy")]
    return numbers, times, is_total_label(text), delimiter_of(text), judge_encoding(text.encode())
