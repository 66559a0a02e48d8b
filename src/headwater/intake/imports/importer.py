"""Import a file in chunks, each in a transaction with its progress. An interrupted import continues after the
last committed chunk.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable
from psycopg.types.json import Json

from headwater.base.failpoints import failpoint
from headwater.database.queries import Queries, fetch_one, fetch_optional
from headwater.http.errors import Errors, Invalid
from headwater.intake.imports.formats.columns import Columns, name_currency, typed
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.files import FileRow, RowSource
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.formats.zones import add_offset, is_local
from headwater.intake.imports.kinds import KINDS, ImportKind, QuickReader
from headwater.intake.imports.refusals import Refusals
from headwater.sources.space_rules import SHIPPED_RULES, SourceRules
from headwater.spaces.models import Space
from headwater.spaces.sites.source_rules import fetch_source_rules

queries = Queries(__name__, "imports.sql")

CHUNK = 1000
"""Rows per transaction by default."""
AS_AT_A_TERMINAL = Notation()


@dataclass
class Progress:
    """Counts of rows."""

    rows_done: int = 0
    taken: int = 0
    refused: int = 0
    finished_at: datetime | None = None
    sources: Mapping[str, int] = field(default_factory=dict[str, int])
    """Taken rows by source, for kinds that have one; empty for an unknown source."""
    position: str = ""
    """Of the last row, if rows are fetched."""


@dataclass
class Import:
    space: Space
    name: str
    """A key of KINDS."""
    source: RowSource
    columns: Columns
    refusals: Refusals
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    """The zone of times without an offset."""
    notation: Notation = AS_AT_A_TERMINAL
    """For the amounts and times of a CSV file."""
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values for missing fields. Not part of the import's identity."""
    dry: bool = False
    """Check all rows and store nothing."""
    progress: Progress = field(default_factory=Progress)
    resumed: int = 0
    """Rows done when this run began."""
    local_times: int = 0
    """Times without an offset in this run."""
    _rules: SourceRules = SHIPPED_RULES

    @property
    def kind(self) -> ImportKind:
        return KINDS[self.name]

    @cached_property
    def _quick_reader(self) -> QuickReader | None:
        make, is_table = self.kind.quick_reader, self.source.form == "csv"
        return make(self.columns, self.notation, self.defaults) if make and is_table else None

    async def begin(self, connection: AsyncConnection, *, again: bool) -> bool:
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
        """Import the remaining rows; yield after each chunk."""
        remaining_rows = self.source.rows_after(self.resumed, self.progress.position)
        await self.refusals.resume(connection, self.resumed)
        if self.kind.find_source is not None:
            self._rules = await fetch_source_rules(connection, self.space)
        chunks = _split_chunks(
            self.without_totals(remaining_rows), self.source.chunk or self.kind.chunk or CHUNK
        )
        async with aclosing(_read_ahead(chunks)) as ready:
            async for chunk in ready:
                await self._import_chunk(connection, chunk)
                yield self.progress
        self.refusals.finish(self.progress.refused)
        failpoint("import_before_finish")
        if not self.dry:
            await connection.execute(queries["finish"], self._key())

    def without_totals(self, rows: Iterable[FileRow]) -> Iterable[FileRow]:
        if self.kind.total_test is None:
            return rows
        is_total = self.kind.total_test(self.columns)
        return (row for row in rows if row.errors or not is_total(row.values))

    async def _import_chunk(self, connection: AsyncConnection, chunk: list[FileRow]) -> None:
        while True:
            try:
                async with connection.transaction(force_rollback=self.dry):
                    await self.refusals.begin_chunk(connection)
                    refused_rows, sources = await self._store(connection, chunk)
                    await self.refusals.add(connection, refused_rows)
                    stored_rows = len(chunk) - len(refused_rows)
                    progress = Progress(
                        chunk[-1].number,
                        self.progress.taken + stored_rows,
                        self.progress.refused + len(refused_rows),
                        sources=self._add_sources(sources),
                        position=chunk[-1].position,
                    )
                    await self._record_progress(connection, progress)
                    failpoint("import_before_commit")
            except LockNotAvailable:
                continue  # the pipeline holds the Space's lock: retry the chunk, which was rolled back
            self.progress = progress
            return

    def _add_sources(self, sources: Counter[str]) -> Mapping[str, int]:
        return Counter(self.progress.sources) + sources

    async def _store(
        self, connection: AsyncConnection, chunk: list[FileRow]
    ) -> tuple[list[tuple[FileRow, Errors]], Counter[str]]:
        """Return the refused rows, and the number of others by source."""
        refused_rows: list[tuple[FileRow, Errors]] = []
        accepted_rows: list[tuple[FileRow, Any]] = []
        sources = Counter[str]()
        current_time = time.time()
        for row in chunk:
            try:
                accepted_rows.append((row, self._read_quickly(row) or self.read(row, current_time)))
            except Invalid as invalid:
                refused_rows.append((row, invalid.errors))
        if accepted_rows:
            items = [item for _, item in accepted_rows]
            answers = await self.kind.store(connection, self.space, items)
            refused_rows += [
                (row, errors)
                for (row, _), errors in zip(accepted_rows, answers, strict=True)
                if errors is not None
            ]
            if find_source := self.kind.find_source:
                sources.update(
                    find_source(item, self._rules)
                    for item, errors in zip(items, answers, strict=True)
                    if errors is None
                )
        return sorted(refused_rows, key=lambda refusal: refusal[0].number), sources

    def _read_quickly(self, row: FileRow) -> Any:
        """Return a row to store, or None to use `read`. Raises Invalid."""
        if self._quick_reader is None:
            return None
        self._check(row)
        return self._quick_reader(row)

    def _check(self, row: FileRow) -> None:
        errors = row.errors or self.refusals.find_errors(row)
        if errors is not None:
            raise Invalid(errors)

    def read(self, row: FileRow, current_time: float) -> Any:
        """Validate a row like the API. Raises Invalid."""
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
            item = self.kind.read(values, current_time)
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
            values[name] = add_offset(values[name], self.zone)

    async def _record_progress(self, connection: AsyncConnection, progress: Progress) -> None:
        if self.dry:
            return
        bound = {
            **self._key(),
            "before": self.progress.rows_done,
            "rows_done": progress.rows_done,
            "taken": progress.taken,
            "refused": progress.refused,
            "sources": Json(progress.sources),
            "position": progress.position,
        }
        if await fetch_optional(connection, queries["advance"], bound) is None:
            raise UnreadableError("another process is importing this file")

    def _key(self) -> dict[str, Any]:
        return make_progress_key(
            self.space.id, self.name, self.source.digest, self.columns, self.zone, self.notation
        )


async def forget_progress(connection: AsyncConnection, key: Mapping[str, Any]) -> None:
    await connection.execute(queries["forget"], key)


def make_progress_key(
    space_id: int, kind: str, digest: bytes | None, columns: Columns, zone: ZoneInfo, notation: Notation
) -> dict[str, Any]:
    mapping = _format_mapping(columns, zone, notation)
    return {"space_id": space_id, "kind": kind, "digest": digest, "mapping": mapping}


def _format_mapping(columns: Columns, zone: ZoneInfo, notation: Notation) -> str:
    """Format the options that make the same file another import."""
    lines = columns.lines()
    if zone.key != "UTC":
        lines.append(f"--timezone={zone.key}")
    if notation.decimals == "comma":  # the other styles read the same numbers
        lines.append(f"--decimals={notation.decimals}")
    if notation.dates != Notation().dates:
        lines.append(f"--dates={notation.dates}")
    return "\n".join(lines)


async def _read_ahead(chunks: Iterator[list[FileRow]]) -> AsyncGenerator[list[FileRow]]:
    """Yield chunks, reading one ahead of the database."""
    reading = asyncio.create_task(asyncio.to_thread(next, chunks, None))
    try:
        while chunk := await reading:
            reading = asyncio.create_task(asyncio.to_thread(next, chunks, None))
            yield chunk
    finally:
        await asyncio.wait([reading])  # don't close the file while a thread reads it
        reading.exception()


def _split_chunks(rows: Iterable[FileRow], size: int) -> Iterator[list[FileRow]]:
    iterator = iter(rows)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk
