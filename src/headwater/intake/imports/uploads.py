"""Store uploads in pieces, to bound memory."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import AsyncIterator

from headwater.base.storage import Storage
from headwater.intake.imports.formats.choices import NO_CHOICES, FileChoices
from headwater.intake.imports.formats.dialects import (
    HEAD_BYTES,
    Dialect,
    FileSurvey,
    UnreadableError,
    WrongEncodingError,
    read_dialect,
)
from headwater.intake.imports.formats.files import FileRow, RowSource
from headwater.intake.imports.formats.guesses import guess_columns
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.orders.layouts import recognize_layout
from headwater.intake.imports.spend import find_table
from headwater.intake.imports.spend_rows import refuse_other_rows
from headwater.spend.file_formats import GENERIC

PIECE_BYTES = 1024 * 1024
"""Buffered before a write."""
MOST_COLUMNS = 200
SAMPLE_ROWS = 50
"""Rows used to judge columns."""


async def store_pieces(storage: Storage, name: str, pieces: AsyncIterator[bytes]) -> FileSurvey:
    """Return facts about the file. Raises OSError, and the errors of `pieces`; then no file is left."""
    survey, buffered = FileSurvey(), bytearray()
    writing = storage.create(name, name)
    sink = await asyncio.to_thread(writing.__enter__)

    def write() -> None:
        survey.add(bytes(buffered))
        sink.write(bytes(buffered))
        buffered.clear()

    try:
        async for chunk in pieces:
            buffered += chunk
            if len(buffered) >= PIECE_BYTES:
                await asyncio.to_thread(write)
        await asyncio.to_thread(write)
    except BaseException:
        await asyncio.to_thread(writing.__exit__, *sys.exc_info())
        raise
    await asyncio.to_thread(writing.__exit__, None, None, None)
    survey.finish()
    return survey


def judge_file(kind: str, survey: FileSurvey, choices: FileChoices = NO_CHOICES) -> Dialect:
    """Raise UnreadableError with a sentence."""
    dialect = read_dialect(survey, choices.encoding, choices.delimiter)
    if kind == "spend":
        dialect = _find_spend(survey, dialect, choices)
    columns, rows = sample_rows(survey.head, dialect, is_whole_file=survey.size <= HEAD_BYTES)
    if not rows:
        raise UnreadableError("The file has a header but no rows.")
    if len(columns) > MOST_COLUMNS:
        raise UnreadableError(
            f"The file has {len(columns)} columns; {MOST_COLUMNS} can be imported. Delete the "
            "others, and upload it again."
        )
    if kind == "orders":
        recognize_layout(columns)  # refuses a report without addresses
    guesses = guess_columns(kind, KINDS[kind].fields, columns, [row.values for row in rows])
    if len(columns) == 1 and not guesses and not choices.mapped:
        raise UnreadableError(
            f"The file has one column only, “{columns[0][:60]}”. Cells must be separated by "
            "commas, semicolons, tabs or vertical bars: export it as CSV again."
        )
    return dialect


def _find_spend(survey: FileSurvey, dialect: Dialect, choices: FileChoices) -> Dialect:
    """Raise UnreadableError if rows are more detailed than the ledger's."""
    mapped_pairs = [(column, name) for column, name in choices.mapped if name]
    try:
        table = find_table(survey.head, dialect, mapped_pairs) or find_table(
            survey.head, dialect, (), GENERIC.name
        )
        if table is not None:
            refuse_other_rows(table.recognition, table.fields, table.rows)
    except UnreadableError as error:
        text = str(error)
        raise UnreadableError(f"{text[:1].upper()}{text[1:]}, and upload it again.") from None
    return dialect if table is None else table.dialect


def sample_rows(head: bytes, dialect: Dialect, *, is_whole_file: bool) -> tuple[list[str], list[FileRow]]:
    """Return columns and first readable rows of a file that begins with `head`. Raises UnreadableError with a
    sentence.
    """
    if not is_whole_file:
        end = max(head.rfind(b"\n"), head.rfind(b"\r"))
        if end < 0:
            raise UnreadableError("The first line is too long for a header: this is not a CSV file.")
        head = head[: end + 1 + (dialect.encoding == "utf-16-le" or head[:2] == b"\xff\xfe")]
    source = RowSource(io.BytesIO(head), "csv", len(head), b"", dialect)
    try:
        columns = [column for column in source.columns() or [] if column]
        rows = [row for row, _ in zip(source.rows(), range(SAMPLE_ROWS), strict=False)]
    except WrongEncodingError:
        raise
    except UnreadableError as error:
        raise UnreadableError(_explain(str(error))) from None
    return columns, [row for row in rows if row.errors is None]


def _explain(text: str) -> str:
    if text.endswith(" twice"):
        return f"{text[:1].upper()}{text[1:]}: rename one of them in the file, and upload it again."
    return "The first line must name the columns, but it is empty. Add a header to the file."
