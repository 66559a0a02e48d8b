"""An import from beginning to end: chunk after chunk, each in a transaction that also stores the
progress. Killed at any moment, it goes on after the last chunk that was committed.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable

from headwater.base.failpoints import failpoint
from headwater.database.queries import Queries, fetch_one, fetch_optional
from headwater.http.errors import Errors, Invalid
from headwater.intake.imports.formats.columns import Columns, name_currency, typed
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.files import FileRow, RowSource
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.formats.zones import is_local, with_offset
from headwater.intake.imports.kinds import KINDS, ImportKind, QuickReader
from headwater.intake.imports.refusals import Refusals
from headwater.spaces.models import Space

queries = Queries(__name__, "imports.sql")

CHUNK = 1000
"""The rows that are stored at once, unless their kind has a number of its own."""
AS_AT_A_TERMINAL = Notation()


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
    refusals: Refusals
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    """The zone in which times without an offset are read."""
    notation: Notation = AS_AT_A_TERMINAL
    """Of a CSV file's amounts and times."""
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of rows that have none of their own. Another value does not make another import."""
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

    @cached_property
    def _quickly(self) -> QuickReader | None:
        make, is_table = self.kind.quickly, self.source.form == "csv"
        return make(self.columns, self.notation, self.defaults) if make and is_table else None

    async def begin(self, connection: AsyncConnection, *, again: bool) -> bool:
        """Read the progress of the file. Returns True when there is anything left to do."""
        if self.dry:
            return True
        async with connection.transaction():
            if again:
                await forget_progress(connection, self._key())
            row = await fetch_one(connection, queries["begin"], self._key())
        self.progress = Progress(*row)
        self.resumed = self.progress.rows_done
        return self.progress.finished_at is None

    async def chunks(self, connection: AsyncConnection) -> AsyncIterator[Progress]:
        """Import the rest of the file, and yield the progress after each chunk."""
        rest = itertools.islice(self.source.rows(), self.resumed, None)
        await self.refusals.resume(connection, self.resumed)
        chunks = _chunks(self.without_totals(rest), self.kind.chunk or CHUNK)
        async with aclosing(_read_ahead(chunks)) as ready:
            async for chunk in ready:
                await self._do(connection, chunk)
                yield self.progress
        self.refusals.finish(self.progress.refused)
        failpoint("import_before_finish")
        if not self.dry:
            await connection.execute(queries["finish"], self._key())

    def without_totals(self, rows: Iterable[FileRow]) -> Iterable[FileRow]:
        """The rows that are not passed over."""
        if self.kind.total_test is None:
            return rows
        is_total = self.kind.total_test(self.columns)
        return (row for row in rows if row.errors or not is_total(row.values))

    async def _do(self, connection: AsyncConnection, chunk: list[FileRow]) -> None:
        while True:
            try:
                async with connection.transaction(force_rollback=self.dry):
                    await self.refusals.begin_chunk(connection)
                    refused = await self._store(connection, chunk)
                    await self.refusals.add(connection, refused)
                    taken = len(chunk) - len(refused)
                    done = Progress(
                        chunk[-1].number, self.progress.taken + taken, self.progress.refused + len(refused)
                    )
                    await self._note(connection, done)
                    failpoint("import_before_commit")
            except LockNotAvailable:
                continue  # the pipeline has the Space; nothing of the chunk is stored or noted
            self.progress = done
            return

    async def _store(self, connection: AsyncConnection, chunk: list[FileRow]) -> list[tuple[FileRow, Errors]]:
        """Store the valid rows of a chunk, and return the refused ones."""
        refused: list[tuple[FileRow, Errors]] = []
        read: list[tuple[FileRow, Any]] = []
        now = time.time()
        for row in chunk:
            try:
                read.append((row, self._read_quickly(row) or self.read(row, now)))
            except Invalid as invalid:
                refused.append((row, invalid.errors))
        if read:
            items = [item for _, item in read]
            answers = await self.kind.store(connection, self.space, items)
            refused += [
                (row, errors) for (row, _), errors in zip(read, answers, strict=True) if errors is not None
            ]
        return sorted(refused, key=lambda refusal: refusal[0].number)

    def _read_quickly(self, row: FileRow) -> Any:
        """A row as it is stored; None where `read` has to read it. Raises Invalid."""
        if self._quickly is None:
            return None
        self._check(row)
        return self._quickly(row)

    def _check(self, row: FileRow) -> None:
        """Raise Invalid for a row that is refused whatever its fields are."""
        errors = row.errors or self.refusals.refusal_of(row)
        if errors is not None:
            raise Invalid(errors)

    def read(self, row: FileRow, now: float) -> Any:
        """A row, checked as the API would check it. Raises Invalid."""
        self._check(row)
        values = self.columns.pick(row.values)
        errors: Errors = {}
        if self.source.form == "csv":
            errors = name_currency(values, self.kind.money, self.space.currency)
            errors |= typed(values, self.kind.numbers, self.kind.flags, self.notation)
            self._read_times(values)
        self._set_offset(values)
        values = {**self.defaults, **values}
        if self.kind.place is not None:
            values[self.kind.place] = row.number
        try:
            item = self.kind.read(values, now)
        except Invalid as invalid:
            raise Invalid({**invalid.errors, **errors}) from None
        if errors:
            raise Invalid(errors)
        return item

    def _read_times(self, values: dict[str, Any]) -> None:
        for name in self.kind.times:
            if isinstance(values.get(name), str):
                values[name] = self.notation.time(values[name])

    def _set_offset(self, values: dict[str, Any]) -> None:
        name = self.kind.time
        if name is not None and is_local(values.get(name)):
            self.local_times += 1
            values[name] = with_offset(values[name], self.zone)

    async def _note(self, connection: AsyncConnection, done: Progress) -> None:
        if self.dry:
            return
        bound = {
            **self._key(),
            "before": self.progress.rows_done,
            "rows_done": done.rows_done,
            "taken": done.taken,
            "refused": done.refused,
        }
        if await fetch_optional(connection, queries["advance"], bound) is None:
            raise UnreadableError("another process is importing this file")

    def _key(self) -> dict[str, Any]:
        mapping = mapping_text(self.columns, self.zone, self.notation)
        return {
            "space_id": self.space.id,
            "kind": self.name,
            "digest": self.source.digest,
            "mapping": mapping,
        }


async def forget_progress(connection: AsyncConnection, key: Mapping[str, Any]) -> None:
    """Let a file be imported once more; `key` is how its progress is found."""
    await connection.execute(queries["forget"], key)


def mapping_text(columns: Columns, zone: ZoneInfo, notation: Notation) -> str:
    """All that makes another import of the same file: another mapping, clock or notation."""
    lines = columns.lines()
    if zone.key != "UTC":
        lines.append(f"--timezone={zone.key}")
    if notation.decimals == "comma":  # the others read the same numbers
        lines.append(f"--decimals={notation.decimals}")
    if notation.dates != Notation().dates:
        lines.append(f"--dates={notation.dates}")
    return "\n".join(lines)


async def _read_ahead(chunks: Iterator[list[FileRow]]) -> AsyncGenerator[list[FileRow]]:
    """Yield chunks, of which the next is read from the file while the database stores one."""
    reading = asyncio.create_task(asyncio.to_thread(next, chunks, None))
    try:
        while chunk := await reading:
            reading = asyncio.create_task(asyncio.to_thread(next, chunks, None))
            yield chunk
    finally:
        await asyncio.wait([reading])  # nobody reads a file that is closed
        reading.exception()


def _chunks(rows: Iterable[FileRow], size: int) -> Iterator[list[FileRow]]:
    rest = iter(rows)
    while chunk := list(itertools.islice(rest, size)):
        yield chunk
