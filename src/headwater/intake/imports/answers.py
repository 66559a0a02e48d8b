"""Response bodies of the import endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.http.answers import Message, Moment
from headwater.http.inputs.instants import written_in_utc
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.dialects import DELIMITERS, SEPARATORS
from headwater.intake.imports.formats.encodings import CHOICES as ENCODINGS
from headwater.intake.imports.formats.encodings import ENCODINGS as NAMES_OF_ENCODINGS
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.job_models import ImportJob, Reading, RefusedRow
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.reception import Received

STATUSES = ["uploaded", "checking", "checked", "queued", "running", "finished", "failed", "cancelled"]


class FileReading(Struct, frozen=True):
    """The settings used to read the file of an import."""

    columns: Annotated[
        dict[str, str], Meta(description="The field of each column; empty for an ignored column.")
    ]
    constants: Annotated[dict[str, str], Meta(description="Fields that are the same in every row.")]
    timezone: Annotated[str | None, Meta(description="The zone of times without an offset.")]
    decimals: Annotated[str, Meta(extra_json_schema={"enum": [*DECIMALS]})]
    dates: Annotated[str, Meta(extra_json_schema={"enum": [*DATES]})]
    separator: Annotated[str, Meta(extra_json_schema={"enum": [*SEPARATORS]})]
    encoding: Annotated[str, Meta(extra_json_schema={"enum": [*ENCODINGS]})]


class QueuedImport(Struct, frozen=True):
    """The file is stored and its import is queued."""

    import_id: int
    status: Literal["queued"]
    message: str
    reading: FileReading


class RefusedImportRow(Struct, frozen=True):
    """A row that an import refused."""

    row: Annotated[int, Meta(description="Rows count from 1, below the header.")]
    line: Annotated[int, Meta(description="The line of the file where the row ends.")]
    reason: str


class ImportAnswer(Struct, frozen=True):
    """An import's progress. Poll until it is finished, failed or cancelled."""

    import_id: int
    kind: Annotated[str, Meta(extra_json_schema={"enum": [*KINDS]})]
    name: str
    status: Annotated[str, Meta(extra_json_schema={"enum": STATUSES})]
    created_at: Moment
    ended_at: Moment | None
    rows_done: int
    stored: int
    refused: int
    message: str
    refusals: Annotated[list[RefusedImportRow], Meta(description="The first 100 rows that were refused.")]
    sources: Annotated[
        dict[str, int] | UnsetType, Meta(description="Only of orders: their number by source.")
    ] = UNSET
    without_source: Annotated[
        int | UnsetType, Meta(description="Only of orders: the number without a known source.")
    ] = UNSET


class ImportWithdrawn(Message, frozen=True):
    """The import was deleted while its file was being sent."""


def describe_reading(kind: str, received: Received) -> FileReading:
    reading, dialect = received.reading or Reading({}), received.dialect
    constants = dict(reading.constants)
    zone = constants.pop("timezone", None) if kind == "spend" else reading.timezone
    return FileReading(
        columns=dict(reading.columns),
        constants=constants,
        timezone=zone,
        decimals=reading.decimals,
        dates=reading.dates,
        separator=DELIMITERS[dialect.delimiter],
        encoding=NAMES_OF_ENCODINGS[dialect.encoding].lower(),
    )


def describe_import(job: ImportJob, refused: Sequence[RefusedRow]) -> ImportAnswer:
    return ImportAnswer(
        import_id=job.id,
        kind=job.kind,
        name=job.name,
        status=job.status,
        created_at=written_in_utc(job.created_at),
        ended_at=job.ended_at and written_in_utc(job.ended_at),
        rows_done=job.rows_done,
        stored=job.stored,
        refused=job.refused,
        message=describe_progress(job),
        refusals=[RefusedImportRow(row.row, row.line, row.reason) for row in refused],
        sources=UNSET if KINDS[job.kind].find_source is None else job.known_sources,
        without_source=UNSET if KINDS[job.kind].find_source is None else job.without_source,
    )


def describe_progress(job: ImportJob) -> str:
    if job.error:
        retry_text = "The import is queued to be tried again. " if job.is_at_work else ""
        return retry_text + job.error
    if job.status in ("uploaded", "checking", "checked"):
        return "The file is waiting in the console. Start its import there."
    if job.status == "queued":
        return "The import is queued."
    words = {"running": " so far", "cancelled": ", then it was stopped"}.get(job.status, "")
    return f"{job.stored} of {job.rows_done} rows stored{words}, {job.refused} refused."
