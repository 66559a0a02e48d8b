"""Store an upload's refused rows: with their chunk, or at the end of a check, which rolls chunks back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.database.jobs.lease import LeaseLostError
from headwater.database.queries import fetch_one, fetch_optional
from headwater.http.errors import Errors
from headwater.intake.imports.formats.files import FileRow
from headwater.intake.imports.job_models import ClaimedImport, Reading
from headwater.intake.imports.jobs import bind_claim, queries
from headwater.intake.imports.readings import explain_refusal
from headwater.intake.imports.refusals import Refusals, RefusedRows
from headwater.spaces.locks import lock_identities

MOST_KEPT = 10_000
MOST_BYTES = 16 * 1024 * 1024
"""Stored cells per process; later rows are only counted."""
LONGEST_REASON = 500
ERASED: Errors = {"row": ["The person in this row was erased after the file was uploaded."]}

_encode = msgspec.json.Encoder().encode


class JobRefusals(Refusals):
    def __init__(self, job: ClaimedImport) -> None:
        self._job, self._reading = job, Reading(**job.reading)
        self._erased: frozenset[bytes] = frozenset()
        self._kept_count = self._bytes = 0
        self._waiting: list[dict[str, Any]] = []
        """Rows of a check, stored at its end."""

    async def resume(self, connection: AsyncConnection, rows_done: int) -> None:
        values = bind_claim(self._job) | {"rows_done": rows_done}
        await connection.execute(queries["drop_refused"], values)
        self._kept_count = (await fetch_one(connection, queries["count_refused"], values))[0]

    async def begin_chunk(self, connection: AsyncConnection) -> None:
        """Lock the import, so that no contact is erased meanwhile. Raises LeaseLostError."""
        if self._job.kind == "contacts":  # same lock order as erasure
            await lock_identities(connection, self._job.space_id)
        row = await fetch_optional(connection, queries["hold"], bind_claim(self._job))
        if row is None:
            raise LeaseLostError
        self._erased = frozenset(row[0])

    def find_errors(self, row: FileRow) -> Errors | None:
        """Refuse identifiers of people erased since the upload."""
        if self._erased and any(
            hash_identifier(self._job.file, text) in self._erased for text in _iter_texts(row)
        ):
            return ERASED
        return None

    async def add(self, connection: AsyncConnection, refused_rows: RefusedRows) -> None:
        rows = [self._row(row, errors) for row, errors in refused_rows]
        rows = [row for row in rows if row is not None]
        if self._job.is_check:
            self._waiting += rows
        elif rows:
            await self._store(connection, rows)

    async def flush(self, connection: AsyncConnection) -> None:
        """Store a check's refused rows, in the caller's transaction. Raises LeaseLostError."""
        if await fetch_optional(connection, queries["hold"], bind_claim(self._job)) is None:
            raise LeaseLostError
        if self._waiting:
            await self._store(connection, self._waiting)

    def _row(self, row: FileRow, errors: Errors) -> dict[str, Any] | None:
        """Return None above the limit. Omits an erased person's cells."""
        cells = _encode({} if errors == ERASED else row.values).decode()
        if self._kept_count >= MOST_KEPT or self._bytes + len(cells) > MOST_BYTES:
            return None
        self._kept_count += 1
        self._bytes += len(cells)
        reason = explain_refusal(self._job.kind, self._reading, row.values, errors)
        return {"row": row.number, "line": row.line, "reason": reason[:LONGEST_REASON], "cells": cells}

    async def _store(self, connection: AsyncConnection, rows: list[dict[str, Any]]) -> None:
        columns = {f"{name}s": [row[name] for row in rows] for name in ("row", "line", "reason")}
        values = bind_claim(self._job) | columns | {"cells": [row["cells"] for row in rows]}
        await connection.execute(queries["keep_refused"], values)


def hash_identifier(file: str, text: str) -> bytes:
    """Hash an erased person's identifier. The salt is the random file name, deleted with the file."""
    return hashlib.sha256(f"{file} {text.strip().lower()}".encode(errors="replace")).digest()


def _iter_texts(row: FileRow) -> Iterator[str]:
    """Yield the parts of cells that may identify a person: items of lists, and values of order notes."""
    for value in row.values.values():
        if isinstance(value, str):
            for text in value.replace("\n", ";").split(";"):
                yield text.removeprefix("'")
                yield text.partition(":")[2]
