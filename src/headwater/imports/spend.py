"""Files of spend: where their table begins, how it is read, and how its rows are stored."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.http.errors import Errors, Invalid
from headwater.http.instants import parse_instant
from headwater.imports.columns import Columns
from headwater.imports.dialects import Dialect, UnreadableError, delimiter_of, read_dialect
from headwater.imports.files import RowSource
from headwater.imports.notation import (
    Notation,
    certain_order,
    guess_dates,
    guess_decimals,
    is_ambiguous,
)
from headwater.imports.spend_rows import DAY, refuse_other_rows
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.models import Space
from headwater.spend.copy_lines import SpendLine, line_of
from headwater.spend.file_formats import BY_NAME, Recognition, as_mapped, recognize
from headwater.spend.inputs import FIELDS as ROW_FIELDS
from headwater.spend.inputs import read_row
from headwater.spend.ledger import put_part
from headwater.spend.models import SpendRow

AS_OF = "as_of"
FIELDS = (*ROW_FIELDS, AS_OF, "place")
NUMBERS = ("amount", "impressions", "clicks", "platform_conversions", "platform_revenue")
COUNTS = ("impressions", "clicks")
_UNKNOWN = (
    "the header is of no format that is known; name its columns with --map COLUMN=FIELD, or its "
    f"format with --layout: {', '.join(BY_NAME)}"
)
_NO_CURRENCY = "the file names no currency: say --currency EUR"
_MOST_LINES_BEFORE = 20
"""The lines that an export may have before its header: a title, the days, the account."""
_LOOKED_AT = 64 * 1024
"""The bytes by which a table is known: a header and some rows."""
_SAMPLE_ROWS = 100
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_YEAR_FIRST = re.compile(r"([0-9]{4})([/.])([0-9]{1,2})\2([0-9]{1,2})")
_NOTHING = {"--", "-", "—"}
_GROUPED_BY_POINTS = re.compile(r"[1-9][0-9]{0,2}(\.[0-9]{3})+")
_HAS_PART = re.compile(r"[0-9]\.([0-9]{1,2}|[0-9]{4,})\s*$")
"""A number with a decimal point, which is none that parts thousands."""
_IDS = ("account_id", "campaign_id", "adset_id", "ad_id")
_KEPT_AS_TEXT = re.compile(r"""=?["']?([0-9]+)["']?""")
"""A number that a spreadsheet is kept from reading as one."""
_WHOLE = re.compile(r"([0-9]+)\.0+")
_SHORTENED = re.compile(r"[0-9]([.,][0-9]+)?e\+[0-9]{2,}", re.IGNORECASE)
"""What a spreadsheet makes of a long number."""


@dataclass(frozen=True)
class SpendTable:
    """The place and the form of a table in a file."""

    recognition: Recognition
    dialect: Dialect
    rows: tuple[Mapping[str, str], ...]
    """The first ones, by column."""


def find_table(
    head: bytes, mapped: Iterable[tuple[str, str]] = (), form: str | None = None
) -> SpendTable | None:
    """Return the table of a file that begins with `head`; None where none is recognized, and none
    has the columns that are mapped. Raises UnreadableError for what is no text.
    """
    head = head[:_LOOKED_AT]
    encoding = read_dialect(head, is_utf8=_is_utf8(head)).encoding
    lines = io.StringIO(head.decode(encoding, "replace").lstrip("\ufeff"), newline="").readlines()
    for before in range(min(_MOST_LINES_BEFORE, len(lines))):
        rest = lines[before:]
        delimiter = delimiter_of("".join(rest[:50]))
        rows = csv.reader(rest, delimiter=delimiter)
        try:
            header = [name.strip() for name in next(rows)]
            recognition = recognize(header, form) or as_mapped(header, dict(mapped))
            if recognition is not None:
                first = islice(rows, _SAMPLE_ROWS)
                sample = [dict(zip(header, cells, strict=False)) for cells in first]
                if len(head) == _LOOKED_AT and len(sample) < _SAMPLE_ROWS:
                    sample.pop()  # it is cut off
                dialect = Dialect(encoding, delimiter, before)
                return SpendTable(recognition, dialect, tuple(sample))
        except (csv.Error, StopIteration):
            continue
    return None


def by_field(columns: Mapping[str, str], row: Mapping[str, str]) -> dict[str, str]:
    """Return the cells of a row by field; `columns` are the fields of columns."""
    return {name: row.get(column, "") for column, name in columns.items()}


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4  # a character that is cut in two at the end
    return True


@dataclass(frozen=True)
class SpendReading:
    """The way in which a file of spend is read."""

    source: RowSource
    columns: Columns
    notation: Notation


@dataclass(frozen=True)
class SpendChoices:
    """The choices for a file whose header and cells leave them open."""

    mapped: tuple[tuple[str, str], ...] = ()
    """Columns and their fields."""
    form: str | None = None
    """The name of its format."""
    decimals: str | None = None
    dates: str | None = None
    """As of a Notation."""


def read_table(
    source: RowSource, choices: SpendChoices, constants: Mapping[str, str]
) -> SpendReading:
    """Return how a file is read: by its own format, or as it was chosen. Raises UnreadableError."""
    mapped = choices.mapped
    if source.form != "csv":
        columns = Columns(FIELDS, mapped, (), tuple(sorted(constants.items())))
        return SpendReading(source, columns, Notation())
    table = find_table(source.head(), mapped, choices.form)
    if table is None:
        raise UnreadableError(_UNKNOWN)
    own = dict(mapped)
    taken = set(own.values())
    fields = {
        column: name for column, name in table.recognition.columns.items()
        if column not in own and name not in taken
    } | own  # fmt: skip
    fixed = {**table.recognition.constants, **constants}
    if "currency" not in {*fields.values(), *fixed}:
        raise UnreadableError(_NO_CURRENCY)
    refuse_other_rows(table.recognition, fields, table.rows)
    source = replace(source, dialect=table.dialect)
    ignored = tuple(sorted(set(FIELDS) & {*(source.columns() or ())} - fields.keys()))
    chosen = Columns(FIELDS, tuple(sorted(fields.items())), ignored, tuple(sorted(fixed.items())))
    american = table.recognition.form.month_first
    sample = [by_field(fields, row) for row in table.rows]
    notation = guess_notation(sample, month_first=american)
    dates = choices.dates or _certain_dates(source, fields, sample, notation)
    return SpendReading(source, chosen, Notation(choices.decimals or notation.decimals, dates))


def _certain_dates(
    source: RowSource, fields: Mapping[str, str], sample: Sequence[Mapping[str, str]],
    notation: Notation,
) -> str:  # fmt: skip
    """Return how days are written. Where the first ones may be read in two ways, the others tell.
    Raises UnreadableError where none does.
    """
    days = list(_slashed(day for row in sample if (day := row.get(DAY, "").strip())))
    if not is_ambiguous(days):
        return notation.dates
    column = next(column for column, name in fields.items() if name == DAY)
    order = certain_order(_slashed(str(row.values.get(column, "")) for row in source.rows()))
    if order is None:
        raise UnreadableError(
            f"{days[0][:30]} may have the day or the month first, and no row of the file tells: "
            "say --dates dmy or --dates mdy"
        )
    return order


def _slashed(days: Iterable[str]) -> Iterator[str]:
    """Yield days of which some write the month first: with points nobody does."""
    return (day for day in days if "." not in day)


def guess_notation(rows: Iterable[Mapping[str, str]], *, month_first: bool) -> Notation:
    """Return how rows, by field, write numbers and days; `month_first` decides where both the month
    and the day may stand first.
    """
    rows = list(rows)
    days = [text for row in rows if (text := row.get(DAY, "").strip())]
    return Notation(
        _guess_numbers(rows), guess_dates(days, "America/New_York" if month_first else "UTC")
    )


def _guess_numbers(rows: Sequence[Mapping[str, str]]) -> str:
    """Return how numbers are written. Counts tell what parts thousands, as they have no decimals;
    and where there is a decimal point, commas part thousands in rows to come.
    """
    numbers = [text for row in rows for name in NUMBERS if (text := row.get(name, ""))]
    counts = (row.get(name, "").strip() for row in rows for name in COUNTS)
    guess = guess_decimals(numbers)
    if guess != "plain":
        return guess
    if any(map(_GROUPED_BY_POINTS.fullmatch, counts)):
        return "comma"
    return "point" if any(map(_HAS_PART.search, numbers)) else guess


def read(values: dict[str, Any], now: float) -> SpendRow:
    """Return a row of a file, checked. Raises Invalid."""
    place, as_of = values.pop("place", 0), values.pop("as_of", None)
    clean(values)
    moment = datetime.fromtimestamp(now if as_of is None else parse_instant(as_of), UTC)
    return msgspec.structs.replace(read_row(values), as_of=moment, place=place)


def clean(values: dict[str, Any]) -> None:
    """Turn what is usual in exports only into what the API takes: dashes for nothing, other ways to
    write days and ids, and counts that were read as amounts. Raises Invalid for an id that a
    spreadsheet has shortened: others would be the same.
    """
    for name, value in list(values.items()):
        if isinstance(value, str) and value.strip() in _NOTHING:
            del values[name]
    if isinstance(values.get(DAY), str):
        values[DAY] = _day(values[DAY])
    for name in COUNTS:
        count = values.get(name)
        if isinstance(count, Decimal) and count == count.to_integral_value():
            values[name] = int(count)
    for name in _IDS:
        if isinstance(values.get(name), str):
            values[name] = _identity(name, values[name].strip())


def _day(text: str) -> str:
    if len(text) == 8:
        return _COMPACT.sub(r"\1-\2-\3", text)
    match = _YEAR_FIRST.fullmatch(text.strip())
    return f"{match[1]}-{match[3]:0>2}-{match[4]:0>2}" if match else text


def _identity(name: str, text: str) -> str:
    if _SHORTENED.fullmatch(text):
        raise Invalid.of(
            name, f"must be written out: a spreadsheet has made {text[:40]} of it. Export it again."
        )
    match = _KEPT_AS_TEXT.fullmatch(text) or _WHOLE.fullmatch(text)
    return match[1] if match else text


async def store(
    connection: AsyncConnection, space: Space, items: Sequence[SpendRow | SpendLine]
) -> list[Errors | None]:
    """Store rows in the caller's transaction; those of unknown platforms are refused."""
    lines = [item if isinstance(item, SpendLine) else line_of(item) for item in items]
    rules = {
        platform: refuse_platform(platform, space.sources)
        for platform in {line.place.platform for line in lines}
    }
    taken = [line for line in lines if rules[line.place.platform] is None]
    if taken:
        await put_part(connection, space.id, taken)
    return [
        None
        if (rule := rules[line.place.platform]) is None
        else {"platform": [f"The platform {rule}"]}
        for line in lines
    ]
