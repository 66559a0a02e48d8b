"""Lines of an export as CSV, for people: a header, a row for each line, cells that a spreadsheet
shows and never runs.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any, cast

from headwater.spaces.custom_fields import SLOT_NAMES
from headwater.storage import Sink

FORMATS = ("ndjson", "csv")
_NESTED = {"custom_fields": SLOT_NAMES}
"""Objects of a line, and the columns that their members become."""
_PLAIN = re.compile(r"[+-]?[\d\s().-]+", re.ASCII)


class CsvSink:
    """A sink that turns lines of JSON into rows for another sink. The columns are those of the
    first line, as all lines of an export have the same.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._columns: list[str] | None = None
        self._rest = b""

    def write(self, data: bytes) -> object:
        """Take some bytes, which may end anywhere in a line."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        for line in lines:
            row = _flat(json.loads(line, parse_float=str))
            if self._columns is None:
                self._columns = list(row)
                writer.writerow(self._columns)
            writer.writerow([_cell(row.get(name)) for name in self._columns])
        return self._sink.write(text.getvalue().encode())


def _flat(line: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in line.items():
        if name in _NESTED:
            members = cast("dict[str, Any]", value or {})
            flat |= {column: members.get(column) for column in _NESTED[name]}
        else:
            flat[name] = value
    return flat


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return safe_cell("; ".join(map(str, cast("list[Any]", value))))
    return safe_cell(value) if isinstance(value, str) else str(value)


def safe_cell(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would run it as a formula: names
    and pages come from anybody's browser. Numbers and telephone numbers stay as they are.
    """
    risky = text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _PLAIN.fullmatch(text)
    return f"'{text}" if risky else text
