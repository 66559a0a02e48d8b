"""Files of spend: where their table begins, what a row of totals is, and how rows are stored."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.http.errors import Errors
from headwater.http.instants import parse_instant
from headwater.imports.columns import Columns
from headwater.imports.dialects import Dialect, UnreadableError, delimiter_of, read_dialect
from headwater.imports.files import RowSource
from headwater.imports.notation import Notation, guess_dates, guess_decimals
from headwater.spaces.models import Space
from headwater.spend.copy_lines import SpendLine, line_of
from headwater.spend.file_formats import BY_NAME, Recognition, as_mapped, recognize
from headwater.spend.inputs import FIELDS as ROW_FIELDS
from headwater.spend.inputs import read_row
from headwater.spend.ledger import put_part
from headwater.spend.models import SpendRow

DAY, AS_OF = "date", "as_of"
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
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_NOTHING = {"--", "-", "—"}


@dataclass(frozen=True)
class SpendTable:
    """The place and the form of a table in a file."""

    recognition: Recognition
    dialect: Dialect
    sample: tuple[Mapping[str, str], ...]
    """Its first rows, by field."""


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
                sample = [dict(zip(header, cells, strict=False)) for cells in islice(rows, 100)]
                fields = tuple(by_field(recognition.columns, row) for row in sample[:-1] or sample)
                return SpendTable(recognition, Dialect(encoding, delimiter, before), fields)
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


def read_table(
    source: RowSource, mapped: Iterable[tuple[str, str]], constants: Mapping[str, str],
    form: str | None = None,
) -> SpendReading:  # fmt: skip
    """Return how a file is read: by its own format, or as `mapped` says, which are columns and
    fields. Raises UnreadableError.
    """
    mapped = tuple(mapped)
    if source.form != "csv":
        columns = Columns(FIELDS, mapped, (), tuple(sorted(constants.items())))
        return SpendReading(source, columns, Notation())
    table = find_table(source.head(), mapped, form)
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
    source = replace(source, dialect=table.dialect)
    ignored = tuple(sorted(set(FIELDS) & {*(source.columns() or ())} - fields.keys()))
    chosen = Columns(FIELDS, tuple(sorted(fields.items())), ignored, tuple(sorted(fixed.items())))
    american = table.recognition.form.month_first
    return SpendReading(source, chosen, guess_notation(table.sample, month_first=american))


def guess_notation(rows: Iterable[Mapping[str, str]], *, month_first: bool) -> Notation:
    """Return how rows, by field, write numbers and days; `month_first` decides where both the month
    and the day may stand first.
    """
    rows = list(rows)
    numbers = [text for row in rows for name in NUMBERS if (text := row.get(name, ""))]
    days = [text for row in rows if (text := row.get(DAY, "").strip())]
    return Notation(
        guess_decimals(numbers), guess_dates(days, "America/New_York" if month_first else "UTC")
    )


def is_total(values: Mapping[str, Any]) -> bool:
    """Return whether a row of a file is one of totals, whose first cell says so."""
    for value in values.values():
        if value:
            return isinstance(value, str) and value[:5].lower() == "total"
    return False


def read(values: dict[str, Any], now: float) -> SpendRow:
    """Return a row of a file, checked. Raises Invalid."""
    place, as_of = values.pop("place", 0), values.pop("as_of", None)
    clean(values)
    moment = datetime.fromtimestamp(now if as_of is None else parse_instant(as_of), UTC)
    return msgspec.structs.replace(read_row(values), as_of=moment, place=place)


def clean(values: dict[str, Any]) -> None:
    """Turn what is usual in exports only into what the API takes: dashes for nothing, days of eight
    digits, and counts that were read as amounts.
    """
    for name, value in list(values.items()):
        if isinstance(value, str) and value.strip() in _NOTHING:
            del values[name]
    if isinstance(values.get(DAY), str) and len(values[DAY]) == 8:
        values[DAY] = _COMPACT.sub(r"\1-\2-\3", values[DAY])
    for name in COUNTS:
        count = values.get(name)
        if isinstance(count, Decimal) and count == count.to_integral_value():
            values[name] = int(count)


async def store(
    connection: AsyncConnection, space: Space, items: Sequence[SpendRow | SpendLine]
) -> list[Errors | None]:
    """Store rows in the caller's transaction; none of them is refused any more."""
    lines = [item if isinstance(item, SpendLine) else line_of(item) for item in items]
    await put_part(connection, space.id, lines)
    return [None] * len(items)
