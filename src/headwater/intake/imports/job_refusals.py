"""The refused rows of an uploaded file, kept in the database: in the transaction of their chunk, or
after a check, which stores nothing.
"""

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
from headwater.intake.imports.jobs import of_claim, queries
from headwater.intake.imports.readings import explain_refusal
from headwater.intake.imports.refusals import Refusals, Refused
from headwater.spaces.locks import lock_identities

MOST_KEPT = 10_000
MOST_BYTES = 16 * 1024 * 1024
"""Of the cells of an import's refused rows that one process keeps; later ones are only counted."""
LONGEST_REASON = 500
ERASED: Errors = {"row": ["The person in this row was erased after the file was uploaded."]}

_encode = msgspec.json.Encoder().encode


class JobRefusals(Refusals):
    """The refused rows of an import that this process has claimed."""

    def __init__(self, job: ClaimedImport) -> None:
        self._job, self._reading = job, Reading(**job.reading)
        self._erased: frozenset[bytes] = frozenset()
        self._kept = self._bytes = 0
        self._waiting: list[dict[str, Any]] = []
        """Of a check: what it stores is undone, so these are kept afterwards."""

    async def resume(self, connection: AsyncConnection, rows_done: int) -> None:
        values = of_claim(self._job) | {"rows_done": rows_done}
        await connection.execute(queries["drop_refused"], values)
        self._kept = (await fetch_one(connection, queries["count_refused"], values))[0]

    async def begin_chunk(self, connection: AsyncConnection) -> None:
        """Hold the import, so that nobody is erased while rows of theirs are stored. Raises
        LeaseLostError when it was cancelled or is another process's.
        """
        if self._job.kind == "contacts":  # in the order in which erasing takes them, too
            await lock_identities(connection, self._job.space_id)
        row = await fetch_optional(connection, queries["hold"], of_claim(self._job))
        if row is None:
            raise LeaseLostError
        self._erased = frozenset(row[0])

    def refusal_of(self, row: FileRow) -> Errors | None:
        """The refusal of a row with something that somebody erased meanwhile was recognised by."""
        if self._erased and any(mark_of(self._job.file, text) in self._erased for text in _texts(row)):
            return ERASED
        return None

    async def add(self, connection: AsyncConnection, refused: Refused) -> None:
        rows = [self._row(row, errors) for row, errors in refused]
        rows = [row for row in rows if row is not None]
        if self._job.is_check:
            self._waiting += rows
        elif rows:
            await self._store(connection, rows)

    async def flush(self, connection: AsyncConnection) -> None:
        """Keep the refused rows of a check, in the caller's transaction. Raises LeaseLostError when
        the file was withdrawn meanwhile.
        """
        if await fetch_optional(connection, queries["hold"], of_claim(self._job)) is None:
            raise LeaseLostError
        if self._waiting:
            await self._store(connection, self._waiting)

    def finish(self, count: int) -> None:
        del count  # they are where they belong

    def _row(self, row: FileRow, errors: Errors) -> dict[str, Any] | None:
        """A refused row to be kept; None for one too many. Of somebody who was erased nothing is
        kept but the line.
        """
        cells = _encode({} if errors == ERASED else row.values).decode()
        if self._kept >= MOST_KEPT or self._bytes + len(cells) > MOST_BYTES:
            return None
        self._kept += 1
        self._bytes += len(cells)
        reason = explain_refusal(self._job.kind, self._reading, row.values, errors)
        return {"row": row.number, "line": row.line, "reason": reason[:LONGEST_REASON], "cells": cells}

    async def _store(self, connection: AsyncConnection, rows: list[dict[str, Any]]) -> None:
        columns = {f"{name}s": [row[name] for row in rows] for name in ("row", "line", "reason")}
        values = of_claim(self._job) | columns | {"cells": [row["cells"] for row in rows]}
        await connection.execute(queries["keep_refused"], values)


def mark_of(file: str, text: str) -> bytes:
    """The hash by which a text is compared with those of people erased while a file is imported; of
    that file alone, whose name is random and forgotten with it.
    """
    return hashlib.sha256(f"{file} {text.strip().lower()}".encode(errors="replace")).digest()


def _texts(row: FileRow) -> Iterator[str]:
    for value in row.values.values():
        if isinstance(value, str):
            yield from value.split(";")
