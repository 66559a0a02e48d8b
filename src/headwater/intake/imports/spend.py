"""Files of spend: where their table begins, how it is read, and how its rows are stored."""

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

from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.instants import parse_instant
from headwater.intake.imports.formats.amounts import parse_amount
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import NOTHING, Columns
from headwater.intake.imports.formats.dialects import Dialect, UnreadableError, delimiter_of
from headwater.intake.imports.formats.files import RowSource
from headwater.intake.imports.spend_rows import DAY, LAST_DAY, refuse_other_periods, refuse_other_rows
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.models import Space
from headwater.spend.copy_lines import SpendLine, format_row
from headwater.spend.file_formats import BY_NAME, GENERIC
from headwater.spend.file_headers import Recognition, apply_mapping, recognize
from headwater.spend.inputs import FIELDS as ROW_FIELDS
from headwater.spend.inputs import read_row
from headwater.spend.ledger import put_batch
from headwater.spend.models import SpendRow

AS_OF = "as_of"
FIELDS = (*ROW_FIELDS, AS_OF, LAST_DAY, "place")
NUMBERS = ("amount", "impressions", "clicks", "platform_conversions", "platform_revenue")
MONEY = ("amount", "platform_revenue")
COUNTS = ("impressions", "clicks")
_UNKNOWN = (
    "the header is of no format that is known; name its columns with --map COLUMN=FIELD, or its "
    f"format with --layout: {', '.join(BY_NAME)}"
)
_NO_CURRENCY = "the file names no currency: say --currency EUR"
_NO_PLATFORM = (
    "the header does not say whose ads these are: say --platform google, meta, tiktok, linkedin, "
    "microsoft or any other, or name the columns with --map COLUMN=FIELD"
)
_MOST_LINES_BEFORE = 20
"""The lines that an export may have before its header: a title, the days, the account."""
_LOOKED_AT = 64 * 1024
"""The bytes by which a table is known: a header and some rows."""
_SAMPLE_ROWS = 100
_MIDNIGHT = re.compile(r"(?<=[0-9]{4}-[0-9]{2}-[0-9]{2})[T ]00:00(:00)?([.,]0+)?\s?(Z|[+-][0-9:]+)?$")
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

    @property
    def fields(self) -> dict[str, str]:
        """The field of each column that is one."""
        return fields_of(self.recognition)


def fields_of(recognition: Recognition) -> dict[str, str]:
    """Return the fields of columns, with that of the last day of rows."""
    last = recognition.last_day
    return {**recognition.columns} | ({last: LAST_DAY} if last else {})


def find_table(
    head: bytes, dialect: Dialect, mapped: Iterable[tuple[str, str]] = (), form: str | None = None
) -> SpendTable | None:
    """Return the table of a file that begins with `head`; None where none is recognized, and none
    has the columns that are mapped. Raises UnreadableError for a report that is not by day.
    """
    head = head[:_LOOKED_AT]
    text = head.decode(dialect.encoding, "replace").lstrip("\ufeff")
    lines = io.StringIO(text, newline="").readlines()
    for before in range(min(_MOST_LINES_BEFORE, len(lines))):
        rest = lines[before:]
        delimiter = delimiter_of("".join(rest[:50]))
        rows = csv.reader(rest, delimiter=delimiter)
        try:
            header = [name.strip(" \t\ufeff\u00a0") for name in next(rows)]
            recognition = recognize(header, form) or apply_mapping(header, dict(mapped))
            if recognition is not None:
                refuse_other_periods(lines[:before])
                first = islice(rows, _SAMPLE_ROWS)
                sample = [dict(zip(header, cells, strict=False)) for cells in first]
                if len(head) == _LOOKED_AT and len(sample) < _SAMPLE_ROWS:
                    sample.pop()  # it is cut off
                table_dialect = Dialect(dialect.encoding, delimiter, before)
                return SpendTable(recognition, table_dialect, tuple(sample))
            refuse_other_periods([], header)
        except (csv.Error, StopIteration):
            continue
    return None


def by_field(columns: Mapping[str, str], row: Mapping[str, str]) -> dict[str, str]:
    """Return the cells of a row by field; `columns` are the fields of columns."""
    return {name: row.get(column, "") for column, name in columns.items()}


def read_table(
    source: RowSource, choices: FileChoices, constants: Mapping[str, str]
) -> tuple[RowSource, Columns]:
    """Return the table of a file and its columns: by the file's own format, or as it was chosen.
    Raises UnreadableError.
    """
    table = _find_any_table(source, choices, constants)
    own = dict(choices.mapped)
    taken = set(own.values())
    fields = {
        column: name for column, name in table.fields.items() if column not in own and name not in taken
    } | own
    fixed = {**table.recognition.constants, **constants}
    if "currency" not in {*fields.values(), *fixed} and not have_signs(fields, table.rows):
        raise UnreadableError(_NO_CURRENCY)
    refuse_other_rows(table.recognition, fields, table.rows)
    source = replace(source, dialect=table.dialect)
    ignored = tuple(sorted(set(FIELDS) & {*(source.columns() or ())} - fields.keys()))
    columns = Columns(FIELDS, tuple(sorted(fields.items())), ignored, tuple(sorted(fixed.items())))
    return source, columns


def _find_any_table(source: RowSource, choices: FileChoices, constants: Mapping[str, str]) -> SpendTable:
    """Return the table of a known format, or else of any columns with days and money, whose
    platform the user has to name. Raises UnreadableError.
    """
    head = source.head()
    table = find_table(head, source.dialect, choices.mapped, choices.form)
    if table is not None:
        return table
    table = find_table(head, source.dialect, (), GENERIC.name)
    if table is None:
        raise UnreadableError(_UNKNOWN)
    if "platform" not in {*table.fields.values(), *constants}:
        raise UnreadableError(_NO_PLATFORM)
    return table


def have_signs(fields: Mapping[str, str], rows: Iterable[Mapping[str, str]]) -> bool:
    """Return whether each amount of a table has the sign of one currency next to it."""
    column = next((column for column, name in fields.items() if name == "amount"), "")
    amounts = [amount for row in rows if (amount := parse_amount(row.get(column, "")))]
    return bool(amounts) and all(amount.currencies and len(amount.currencies) == 1 for amount in amounts)


def read(values: dict[str, Any], now: float) -> SpendRow:
    """Return a row of a file, checked. Raises Invalid."""
    place, as_of = values.pop("place", 0), values.pop("as_of", None)
    last = values.pop(LAST_DAY, None)
    clean(values)
    _refuse_several_days(values, last)
    moment = datetime.fromtimestamp(now if as_of is None else parse_instant(as_of), UTC)
    return msgspec.structs.replace(read_row(values), as_of=moment, place=place)


def _refuse_several_days(values: Mapping[str, Any], last: object) -> None:
    """Raise Invalid for a row whose last day is another one than its first."""
    first, end = str(values.get(DAY) or ""), _day(str(last or ""))
    if end and first and end != first:
        rule = f"must be one day, not {first[:30]} to {end[:30]}: export the file by day."
        raise Invalid.of(DAY, rule)


def clean(values: dict[str, Any]) -> None:
    """Turn what is usual in exports only into what the API takes: dashes for nothing, other ways to
    write days and ids, and counts that were read as amounts. Raises Invalid for an id that a
    spreadsheet has shortened: others would be the same.
    """
    for name, value in list(values.items()):
        if isinstance(value, str) and value.strip().lower() in NOTHING:
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
    """Return a day without the midnight that some exports write behind it."""
    return _MIDNIGHT.sub("", text.strip())


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
    lines = [item if isinstance(item, SpendLine) else format_row(item) for item in items]
    rules = {
        platform: refuse_platform(platform, space.sources)
        for platform in {line.prefix.platform for line in lines}
    }
    taken = [line for line in lines if rules[line.prefix.platform] is None]
    if taken:
        await put_batch(connection, space.id, taken)
    return [
        None if (rule := rules[line.prefix.platform]) is None else {"platform": [f"The platform {rule}"]}
        for line in lines
    ]
