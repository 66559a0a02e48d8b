"""Write refused rows to a file next to the imported one.

They are appended to a temporary file before their chunk commits, so that interrupted imports can continue.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
from psycopg import AsyncConnection

from headwater.http.errors import Errors, join_rules
from headwater.http.json_decoder import encode_exact
from headwater.intake.imports.refusals import Refusals, RefusedRows

MOST_LISTED = 20
_MOST_REASONS = 1000
"""Counted; reasons may contain a cell's text."""


class RejectedRow(msgspec.Struct):
    row: int
    line: int
    errors: Errors
    values: dict[str, object]


class RejectedRowFile(Refusals):
    """Refused rows, written to `target`."""

    def __init__(self, target: Path, *, dry: bool) -> None:
        """`dry` uses a separate temporary file."""
        self.target = target
        self.first: list[RejectedRow] = []
        self.reasons = Counter[str]()
        """The number of rows by reason."""
        self._part = target.with_name(target.name + (".dry" if dry else ".part"))

    async def resume(self, connection: AsyncConnection, rows_done: int) -> None:
        del connection
        row_lines = self._read_lines() if rows_done else []
        lines_to_keep = [line for line in row_lines if _read(line).row <= rows_done]
        self._part.write_bytes(b"".join(lines_to_keep))
        self.first = [_read(line) for line in lines_to_keep[:MOST_LISTED]]
        self._count(map(_read, lines_to_keep))

    async def add(self, connection: AsyncConnection, refused_rows: RefusedRows) -> None:
        """Append rows durably."""
        del connection
        rejected_rows = [
            RejectedRow(row.number, row.line, errors, row.values) for row, errors in refused_rows
        ]
        self.first += rejected_rows[: MOST_LISTED - len(self.first)]
        self._count(rejected_rows)
        if rejected_rows:
            with self._part.open("ab") as file:
                file.writelines(encode_exact(row) + b"\n" for row in rejected_rows)
                file.flush()
                os.fsync(file.fileno())

    def _count(self, rejected_rows: Iterable[RejectedRow]) -> None:
        for row in rejected_rows:
            reason = join_rules(row.errors)
            if reason in self.reasons or len(self.reasons) < _MOST_REASONS:
                self.reasons[reason] += 1

    def finish(self, count: int) -> None:
        """Rename the temporary file, or delete it if empty."""
        if count:
            self._part.replace(self.target)
        else:
            self._part.unlink(missing_ok=True)

    def _read_lines(self) -> list[bytes]:
        for file in (self._part, self.target):  # a crash may come just after the rename
            if file.exists():
                lines = file.read_bytes().splitlines(keepends=True)
                return [line for line in lines if line.endswith(b"\n")]
        return []


def _read(line: bytes) -> RejectedRow:
    return msgspec.json.decode(line, type=RejectedRow)
