"""Read files as imports do, without a database: at a terminal and as an upload."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.http.errors import Invalid
from headwater.intake.imports.file_readings import read_file
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.dialects import HEAD_BYTES, FileSurvey
from headwater.intake.imports.formats.files import RowSource, open_source
from headwater.intake.imports.importer import Import
from headwater.intake.imports.readings import guess_reading
from headwater.intake.imports.rejected_rows import RejectedRowFile
from headwater.intake.imports.uploads import judge_file, sample_rows
from headwater.spaces.models import Space

AS_OF = {"as_of": "2026-11-26T00:00:00Z"}


def make_space(currency: str = "EUR") -> Space:
    """Return a Space that is not in the database."""
    return Space(
        1, "Space", "UTC", currency, "auto", "active", None, [], [], [], [], {}, [], {}, "unknown",
        7, None, None, None, None, None, False, {}, {},
    )  # fmt: skip


def read_at_a_terminal(
    kind: str,
    content: bytes,
    choices: FileChoices | None = None,
    constants: Mapping[str, str] | None = None,
    name: str = "file.csv",
    encoding: str | None = None,
) -> tuple[list[Any], list[dict[str, list[str]]]]:
    """Return the rows that would be stored, and the errors of the others. Raise UnreadableError."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(content)
        with open_source(str(file), None, encoding) as source:
            reading = read_file(kind, source, choices or FileChoices(), constants or {})
            run = Import(
                make_space(), kind, reading.source, reading.columns, _no_rejected_file(),
                notation=reading.notation, defaults=AS_OF if kind == "spend" else {},
            )  # fmt: skip
            return _rows(run)


def read_as_an_upload(kind: str, content: bytes) -> tuple[list[Any], list[dict[str, list[str]]]]:
    """Return the same for an uploaded file, with the columns that the upload page proposes."""
    survey = FileSurvey()
    survey.add(content)
    survey.finish()
    dialect = judge_file(kind, survey)
    columns, rows = sample_rows(survey.head, dialect, is_whole_file=survey.size <= HEAD_BYTES)
    reading = guess_reading(kind, columns, rows, make_space())
    source = RowSource(io.BytesIO(content), "csv", len(content), b"", dialect)
    run = Import(
        make_space(), kind, source, reading.build_columns(kind), _no_rejected_file(),
        notation=reading.notation, defaults=AS_OF if kind == "spend" else {},
    )  # fmt: skip
    return _rows(run)


def _no_rejected_file() -> RejectedRowFile:
    return RejectedRowFile(Path("/nowhere"), dry=True)


def _rows(run: Import) -> tuple[list[Any], list[dict[str, list[str]]]]:
    rows: list[Any] = []
    errors: list[dict[str, list[str]]] = []
    for row in run.without_totals(run.source.rows()):
        try:
            rows.append(run.read(row, time.time()))
        except Invalid as invalid:
            errors.append(invalid.errors)
    return rows, errors
