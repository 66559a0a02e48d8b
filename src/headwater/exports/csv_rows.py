"""Lines of an export as CSV, with cells that a spreadsheet shows and never runs.

A null is an empty cell and an empty text is `""`, to keep them distinct.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import astuple

from headwater.base.storage import Sink
from headwater.database.json_lines import ColumnType, LineColumn
from headwater.http.csv_table import BEFORE, FORMULA, safe_cell

_UNQUOTED = re.compile(f'[^,{BEFORE}{FORMULA}][^,"\r\n]*')
"""Texts that certainly need no quotes."""


def write_csv(batches: Iterable[Sequence[str]], columns: Sequence[LineColumn], sink: Sink) -> None:
    members = [(column.name, _MEMBERS[column.type]) for column in columns]
    row_type: Any = msgspec.defstruct("Row", members)
    decoder = msgspec.json.Decoder(list[row_type])
    cells = [_CELLS[column.type] for column in columns]
    sink.write((",".join(column.name for column in columns) + "\r\n").encode())
    for lines in batches:
        rows = decoder.decode(f"[{','.join(lines)}]")
        text = "\r\n".join([_row(cells, astuple(row)) for row in rows])
        sink.write((text + "\r\n").encode())


def _row(cells: Sequence[Callable[[Any], str]], values: Iterable[Any]) -> str:
    return ",".join([cell(value) for cell, value in zip(cells, values, strict=True)])


def _text(value: str | None) -> str:
    if value is None:
        return ""
    if _UNQUOTED.fullmatch(value):
        return value
    escaped_text = safe_cell(value).replace('"', '""')
    return f'"{escaped_text}"'


def _write_plain(value: object) -> str:
    return "" if value is None else str(value)


def _boolean(value: bool | None) -> str:  # a value like any other
    return "" if value is None else str(value).lower()


def _number(value: msgspec.Raw) -> str:
    text = bytes(value).decode()
    return "" if text == "null" else text


def _list(value: msgspec.Raw) -> str:
    return _text(_number(value) or None)


_MEMBERS: dict[ColumnType, Any] = {
    ColumnType.WHOLE: int | None,
    ColumnType.AMOUNT: msgspec.Raw,  # its digits unchanged
    ColumnType.NUMBER: msgspec.Raw,
    ColumnType.BOOLEAN: bool | None,
    ColumnType.TEXT: str | None,
    ColumnType.MOMENT: str | None,
    ColumnType.TEXTS: msgspec.Raw,  # its JSON unchanged
}
_CELLS: dict[ColumnType, Callable[[Any], str]] = {
    ColumnType.WHOLE: _write_plain,
    ColumnType.AMOUNT: _number,
    ColumnType.NUMBER: _number,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.TEXT: _text,
    ColumnType.MOMENT: _write_plain,
    ColumnType.TEXTS: _list,
}
