"""An import from beginning to end: chunk after chunk, each in a transaction that also stores the
progress. Killed at any moment, it goes on after the last chunk that was committed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable

from headwater.database.queries import Queries, fetch_one, fetch_optional
from headwater.failpoints import failpoint
from headwater.http.errors import Errors, Invalid
from headwater.imports.columns import Columns, typed
from headwater.imports.files import FileRow, RowSource, UnreadableError
from headwater.imports.kinds import KINDS, ImportKind
from headwater.imports.rejected_rows import RejectedRowFile
from headwater.imports.zones import is_local, with_offset
from headwater.spaces.models import Space

queries = Queries(__name__, "imports.sql")

CHUNK = 1000


@dataclass
class Progress:
    """The progress of an import: rows of the file that are done, taken and refused."""

    rows_done: int = 0
    taken: int = 0
    refused: int = 0
    finished_at: datetime | None = None


@dataclass
class Import:
    """An import of one file into one Space."""

    space: Space
    name: str
    """A key of KINDS."""
    source: RowSource
    columns: Columns
    refusals: RejectedRowFile
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    """The zone in which times without an offset are read."""
    dry: bool = False
    """True when all rows are checked and nothing is stored."""
    progress: Progress = field(default_factory=Progress)
    resumed: int = 0
    """Rows that were done when this began."""
    local_times: int = 0
    """The number of times without an offset, since then."""

    @property
    def kind(self) -> ImportKind:
        return KINDS[self.name]

    async def begin(self, connection: AsyncConnection, *, again: bool) -> bool:
        """Read the progress of the file. Returns True when there is anything left to do."""
        if self.dry:
            return True
        async with connection.transaction():
            if again:
                await connection.execute(queries["forget"], self._key())
            row = await fetch_one(connection, queries["begin"], self._key())
        self.progress = Progress(*row)
        self.resumed = self.progress.rows_done
        return self.progress.finished_at is None

    async def chunks(self, connection: AsyncConnection) -> AsyncIterator[Progress]:
        """Import the rest of the file, and yield the progress after each chunk."""
        rest = itertools.islice(self.source.rows(), self.resumed, None)
        self.refusals.resume(self.resumed)
        for chunk in _chunks(rest):
            await self._do(connection, chunk)
            yield self.progress
        self.refusals.finish(self.progress.refused)
        failpoint("import_before_finish")
        if not self.dry:
            await connection.execute(queries["finish"], self._key())

    async def _do(self, connection: AsyncConnection, chunk: list[FileRow]) -> None:
        while True:
            try:
                async with connection.transaction(force_rollback=self.dry):
                    refused = await self._store(connection, chunk)
                    self.refusals.add(refused)
                    taken = len(chunk) - len(refused)
                    done = Progress(
                        chunk[-1].number,
                        self.progress.taken + taken,
                        self.progress.refused + len(refused),
                    )
                    await self._note(connection, done)
                    failpoint("import_before_commit")
            except LockNotAvailable:
                continue  # the pipeline has the Space; nothing of the chunk is stored or noted
            self.progress = done
            return

    async def _store(
        self, connection: AsyncConnection, chunk: list[FileRow]
    ) -> list[tuple[FileRow, Errors]]:
        """Store the valid rows of a chunk, and return the refused ones."""
        refused: list[tuple[FileRow, Errors]] = []
        read: list[tuple[FileRow, Any]] = []
        now = time.time()
        for row in chunk:
            try:
                read.append((row, self._read(row, now)))
            except Invalid as invalid:
                refused.append((row, invalid.errors))
        if read:
            items = [item for _, item in read]
            answers = await self.kind.store(connection, self.space, items)
            refused += [
                (row, errors)
                for (row, _), errors in zip(read, answers, strict=True)
                if errors is not None
            ]
        return sorted(refused, key=lambda refusal: refusal[0].number)

    def _read(self, row: FileRow, now: float) -> Any:
        if row.errors is not None:
            raise Invalid(row.errors)
        values = self.columns.pick(row.values)
        if self.source.form == "csv":
            typed(values, self.kind.numbers, self.kind.flags)
        self._set_offset(values)
        return self.kind.read(values, now)

    def _set_offset(self, values: dict[str, Any]) -> None:
        name = self.kind.time
        if name is not None and is_local(values.get(name)):
            self.local_times += 1
            values[name] = with_offset(values[name], self.zone)

    async def _note(self, connection: AsyncConnection, done: Progress) -> None:
        if self.dry:
            return
        bound = {
            **self._key(), "before": self.progress.rows_done, "rows_done": done.rows_done,
            "taken": done.taken, "refused": done.refused,
        }  # fmt: skip
        if await fetch_optional(connection, queries["advance"], bound) is None:
            raise UnreadableError("another process is importing this file")

    def _key(self) -> dict[str, Any]:
        lines = [f"{column}={name}" for column, name in self.columns.mapped]
        if self.zone.key != "UTC":  # the same file on another clock is another import
            lines.append(f"--timezone={self.zone.key}")
        mapping = "\n".join(lines)
        return {
            "space_id": self.space.id, "kind": self.name, "digest": self.source.digest,
            "mapping": mapping,
        }  # fmt: skip


def _chunks(rows: Iterable[FileRow]) -> Iterator[list[FileRow]]:
    rest = iter(rows)
    while chunk := list(itertools.islice(rest, CHUNK)):
        yield chunk
