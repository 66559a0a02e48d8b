"""Find, read and store the table of a spend file."""

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
from headwater.intake.imports.formats.columns import NOTHING, Columns, assign_columns
from headwater.intake.imports.formats.dialects import (
    Dialect,
    UnreadableError,
    detect_delimiter,
    read_column_name,
)
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
    "the header matches no known format; map its columns with --map COLUMN=FIELD, or choose a "
    f"format with --layout: {', '.join(BY_NAME)}"
)
_NO_CURRENCY = "the file has no currency: use --currency EUR"
_NO_PLATFORM = (
    "the file has no platform: use --platform google, meta, tiktok, linkedin, microsoft or another, "
    "or map the columns with --map COLUMN=FIELD"
)
_MOST_LINES_BEFORE = 20
"""An export may start with a title, days and account."""
_EXAMINED_BYTES = 64 * 1024
"""Bytes examined: a header and some rows."""
_SAMPLE_ROWS = 100
_MIDNIGHT = re.compile(r"(?<=[0-9]{4}-[0-9]{2}-[0-9]{2})[T ]00:00(:00)?([.,]0+)?\s?(Z|[+-][0-9:]+)?$")
_IDS = ("account_id", "campaign_id", "adset_id", "ad_id")
_KEPT_AS_TEXT = re.compile(r"""=?["']?([0-9]+)["']?""")
"""A number quoted to stay text in spreadsheets."""
_WHOLE_NUMBER = re.compile(r"([0-9]+)\.0+")
_SHORTENED = re.compile(r"[0-9]([.,][0-9]+)?e\+[0-9]{2,}", re.IGNORECASE)
"""A long number abbreviated by a spreadsheet."""


@dataclass(frozen=True)
class SpendTable:
    recognition: Recognition
    dialect: Dialect
    rows: tuple[Mapping[str, str], ...]
    """The first rows, by column."""

    @property
    def fields(self) -> dict[str, str]:
        return map_fields(self.recognition)


def map_fields(recognition: Recognition) -> dict[str, str]:
    """Map columns to fields, including a row's last day."""
    last = recognition.last_day
    return {**recognition.columns} | ({last: LAST_DAY} if last else {})


def find_table(
    head: bytes, dialect: Dialect, mapped: Iterable[tuple[str, str]] = (), form: str | None = None
) -> SpendTable | None:
    """Return the table of a file that begins with `head`, or None without a recognized header or the mapped
    columns. Raises UnreadableError for a report not by day.
    """
    head = head[:_EXAMINED_BYTES]
    text = head.decode(dialect.encoding, "replace").lstrip("\ufeff")
    lines = io.StringIO(text, newline="").readlines()
    for before in range(min(_MOST_LINES_BEFORE, len(lines))):
        remaining_lines = lines[before:]
        delimiter = detect_delimiter("".join(remaining_lines[:50]))
        rows = csv.reader(remaining_lines, delimiter=delimiter)
        try:
            header = [read_column_name(cell) for cell in next(rows)]
            recognition = recognize(header, form) or apply_mapping(header, dict(mapped))
            if recognition is not None:
                refuse_other_periods(lines[:before])
                first = islice(rows, _SAMPLE_ROWS)
                sample = [dict(zip(header, cells, strict=False)) for cells in first]
                if len(head) == _EXAMINED_BYTES and len(sample) < _SAMPLE_ROWS:
                    if not sample:
                        continue  # the header is cut off
                    sample.pop()  # it is cut off
                table_dialect = Dialect(dialect.encoding, delimiter, before)
                return SpendTable(recognition, table_dialect, tuple(sample))
            refuse_other_periods([], header)
        except (csv.Error, StopIteration):
            continue
    return None


def read_table(
    source: RowSource, choices: FileChoices, constants: Mapping[str, str]
) -> tuple[RowSource, Columns]:
    """Raise UnreadableError for bad input."""
    table = _find_any_table(source, choices, constants)
    fields = assign_columns(table.fields, choices.mapped)
    all_constants = {**table.recognition.constants, **constants}
    if "currency" not in {*fields.values(), *all_constants} and not have_signs(fields, table.rows):
        raise UnreadableError(_NO_CURRENCY)
    refuse_other_rows(table.recognition, fields, table.rows)
    source = replace(source, dialect=table.dialect)
    ignored = tuple(sorted(set(FIELDS) & {*(source.columns() or ())} - fields.keys()))
    columns = Columns(FIELDS, tuple(sorted(fields.items())), ignored, tuple(sorted(all_constants.items())))
    return source, columns


def _find_any_table(source: RowSource, choices: FileChoices, constants: Mapping[str, str]) -> SpendTable:
    """Return the table of a known format, or of columns with days and money if the user names the platform.
    Raises UnreadableError.
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
    """Return whether every amount names exactly one currency."""
    column = next((column for column, name in fields.items() if name == "amount"), "")
    amounts = [amount for row in rows if (amount := parse_amount(row.get(column, "")))]
    return bool(amounts) and all(amount.currencies and len(amount.currencies) == 1 for amount in amounts)


def read(values: dict[str, Any], current_time: float) -> SpendRow:
    """Raise Invalid for bad input."""
    row_number, as_of = values.pop("place", 0), values.pop("as_of", None)
    last = values.pop(LAST_DAY, None)
    clean(values)
    _refuse_several_days(values, last)
    moment = datetime.fromtimestamp(current_time if as_of is None else parse_instant(as_of), UTC)
    return msgspec.structs.replace(read_row(values), as_of=moment, place=row_number)


def _refuse_several_days(values: Mapping[str, Any], last: object) -> None:
    first, end = str(values.get(DAY) or ""), _strip_midnight(str(last or ""))
    if end and first and end != first:
        rule = f"must be one day, not {first[:30]} to {end[:30]}: export the file by day."
        raise Invalid.of(DAY, rule)


def clean(values: dict[str, Any]) -> None:
    """Normalize export habits in place: dashes for nothing, forms of days and ids, counts read as amounts.
    Raises Invalid for an abbreviated id, because several ids would become equal.
    """
    for name, value in list(values.items()):
        if isinstance(value, str) and value.strip().lower() in NOTHING:
            del values[name]
    if isinstance(values.get(DAY), str):
        values[DAY] = _strip_midnight(values[DAY])
    for name in COUNTS:
        count = values.get(name)
        if isinstance(count, Decimal) and count == count.to_integral_value():
            values[name] = int(count)
    for name in _IDS:
        if isinstance(values.get(name), str):
            values[name] = read_id(name, values[name].strip())


def _strip_midnight(text: str) -> str:
    """Remove the midnight that some exports append."""
    return _MIDNIGHT.sub("", text.strip())


def read_id(name: str, text: str) -> str:
    if _SHORTENED.fullmatch(text):
        raise Invalid.of(
            name, f"must be written out: a spreadsheet has made {text[:40]} of it. Export it again."
        )
    match = _KEPT_AS_TEXT.fullmatch(text) or _WHOLE_NUMBER.fullmatch(text)
    return match[1] if match else text


async def store(
    connection: AsyncConnection, space: Space, items: Sequence[SpendRow | SpendLine]
) -> list[Errors | None]:
    """Store rows in the caller's transaction. Refuse unknown platforms."""
    lines = [item if isinstance(item, SpendLine) else format_row(item) for item in items]
    rules = {
        platform: refuse_platform(platform, space.sources)
        for platform in {line.prefix.platform for line in lines}
    }
    accepted_lines = [line for line in lines if rules[line.prefix.platform] is None]
    if accepted_lines:
        await put_batch(connection, space.id, accepted_lines)
    return [
        None if (rule := rules[line.prefix.platform]) is None else {"platform": [f"The platform {rule}"]}
        for line in lines
    ]
