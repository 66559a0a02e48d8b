"""Imports of uploaded files as rows: made with the upload, started on a page after a check, or at
once over the API, and claimed by one process at a time. A killed process lets its lease run out,
and another goes on after the last thousand rows that were stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import structlog
from obstore.exceptions import BaseError
from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row
from psycopg.types.json import Json

from headwater.base.storage import Storage
from headwater.database.jobs.backoff import climb
from headwater.database.jobs.lease import LEASE
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.http.errors import Conflict, NotFound
from headwater.intake.imports.formats.dialects import Dialect, FileSurvey
from headwater.intake.imports.importer import forget_progress, mapping_text
from headwater.intake.imports.job_models import ClaimedImport, ImportJob, Reading, RefusedRow

queries = Queries(__name__, "jobs.sql")

TRIES = 4
"""The first attempt and three more."""
PAUSES = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=20), timedelta())
UNUSED = timedelta(days=1)
"""How long a file waits for somebody to go on with it."""
REFUSED_KEPT = timedelta(days=14)
"""How long refused rows are kept after the end of their import."""
WAITS = {"lease": LEASE, "longest_pause": max(PAUSES)}
LEFT = "Nobody went on with this file for a day, so it was removed. Upload it again."
CHANGED = "The import has changed meanwhile: open its page again."

log = structlog.get_logger()


@dataclass(frozen=True)
class FormerImport:
    """A file's progress when it was brought in the same way before."""

    rows_done: int
    taken: int
    refused: int
    finished_at: datetime | None


async def create_job(
    connection: AsyncConnection, space_id: int, kind: str, name: str, user_id: int | None
) -> tuple[int, str]:
    """Note a file that is about to be uploaded, by a user or over the API; returns its id, and its
    name in the storage.
    """
    values = {"space_id": space_id, "kind": kind, "name": name, "user_id": user_id}
    row = await fetch_one(connection, queries["create"], values)
    return row[0], row[1]


async def note_upload(
    connection: AsyncConnection, space_id: int, job_id: int, survey: FileSurvey, dialect: Dialect
) -> None:
    """Note that the whole file is there. Raises Conflict when it was withdrawn meanwhile."""
    values = {
        "space_id": space_id,
        "id": job_id,
        "bytes": survey.size,
        "digest": survey.digest,
        "encoding": dialect.encoding,
        "delimiter": dialect.delimiter,
        "lines_before": dialect.lines_before,
    }
    await _change(connection, "uploaded", values)


async def remove_job(connection: AsyncConnection, space_id: int, job_id: int) -> None:
    """Remove an import whose file was no table, or did not arrive."""
    await connection.execute(queries["remove"], {"space_id": space_id, "id": job_id})


async def list_jobs(connection: AsyncConnection, space_id: int, limit: int) -> list[ImportJob]:
    """The latest imports, the latest first."""
    cursor = connection.cursor(row_factory=class_row(ImportJob))
    return await fetch_all(cursor, queries["list"], {"space_id": space_id, "limit": limit})


async def fetch_job(connection: AsyncConnection, space_id: int, job_id: int) -> ImportJob:
    """An import. Raises NotFound."""
    cursor = connection.cursor(row_factory=class_row(ImportJob))
    values = {"space_id": space_id, "id": job_id}
    job = await fetch_optional(cursor, queries["fetch"], values)
    if job is None:
        raise NotFound("Import")
    return job


async def check_job(connection: AsyncConnection, space_id: int, job_id: int, reading: Reading) -> None:
    """Have all rows of a file checked as they would be read. Raises Conflict."""
    values = {"space_id": space_id, "id": job_id, "reading": Json(reading.stored())}
    await _change(connection, "check", values)


async def enqueue_job(connection: AsyncConnection, space_id: int, job_id: int, reading: Reading) -> None:
    """Have the rows of a file stored that nobody checks first. Raises Conflict."""
    values = {"space_id": space_id, "id": job_id, "reading": Json(reading.stored())}
    await _change(connection, "enqueue", values)


async def start_job(connection: AsyncConnection, space_id: int, job: ImportJob, *, again: bool) -> None:
    """Have the rows of a checked file stored; with `again`, also those that were stored before.
    Raises Conflict.
    """
    await _change(connection, "start", {"space_id": space_id, "id": job.id, "again": again})
    if again:
        await forget_progress(connection, progress_key(space_id, job))


async def cancel_job(connection: AsyncConnection, space_id: int, job_id: int) -> None:
    """End an import; what is stored of it stays. Raises Conflict for one that has ended."""
    await _change(connection, "cancel", {"space_id": space_id, "id": job_id})


async def _change(connection: AsyncConnection, statement: str, values: dict[str, Any]) -> None:
    if await fetch_optional(connection, queries[statement], values) is None:
        raise Conflict(CHANGED)


async def fetch_former(connection: AsyncConnection, space_id: int, job: ImportJob) -> FormerImport | None:
    """The progress of the same file, read in the same way, before; None when it never was."""
    cursor = connection.cursor(row_factory=class_row(FormerImport))
    return await fetch_optional(cursor, queries["progress"], progress_key(space_id, job))


def progress_key(space_id: int, job: ImportJob) -> dict[str, Any]:
    """The key of the progress of a job's file."""
    reading = Reading(**(job.reading or {"columns": {}}))
    mapping = mapping_text(reading.columns_of(job.kind), reading.zone, reading.notation)
    return {"space_id": space_id, "kind": job.kind, "digest": job.digest, "mapping": mapping}


async def list_refused(
    connection: AsyncConnection, space_id: int, job_id: int, limit: int, after: int = 0
) -> list[RefusedRow]:
    """The refused rows of an import that are kept, after one of them, in the file's order."""
    cursor = connection.cursor(row_factory=class_row(RefusedRow))
    values = {"space_id": space_id, "id": job_id, "limit": limit, "after": after}
    return await fetch_all(cursor, queries["refused"], values)


async def count_reasons(connection: AsyncConnection, space_id: int, job_id: int) -> list[tuple[str, int]]:
    """The reasons why rows were refused, each with its number among those that are kept."""
    return await fetch_all(connection, queries["reasons"], {"space_id": space_id, "id": job_id})


def waiting_spaces(connection: Connection[Any]) -> list[int]:
    """The Spaces with imports that nobody works on."""
    return sorted({row[0] for row in connection.execute(queries["waiting"], WAITS)})


def claim_next(connection: Connection[Any]) -> ClaimedImport | None:
    """Claim the import that has waited longest, if there is one: checks go first, as somebody waits
    for them. The connection is in autocommit.
    """
    for space_id, job_id in connection.execute(queries["waiting"], WAITS).fetchall():
        values = {
            "space_id": space_id,
            "id": job_id,
            "tries": TRIES,
            "token": uuid4(),
            "now": datetime.now(UTC),
            "exhausted": "The import was interrupted every time it was tried.",
            **WAITS,
        }
        cursor = connection.cursor(row_factory=class_row(ClaimedImport))
        job = cursor.execute(queries["claim"], values).fetchone()
        if job is not None and job.status != "failed":
            return job
    return None


def renew(connection: Connection[Any], job: ClaimedImport) -> bool:
    """Renew an import's lease. Returns True while it is still this process's."""
    return connection.execute(queries["renew"], of_claim(job) | {"lease": LEASE}).rowcount == 1


def put_back(connection: Connection[Any], job: ClaimedImport, error: str, *, final: bool = False) -> None:
    """Note why an attempt failed; it is tried again unless this was its last try, or no other try
    would help.
    """
    pause = climb(PAUSES, job.attempts)
    values = of_claim(job) | {"error": error, "pause": pause, "tries": TRIES, "final": final}
    connection.execute(queries["put_back"], values)


def release(connection: Connection[Any], job: ClaimedImport) -> None:
    """Release an import to another process, as this one must stop."""
    connection.execute(queries["release"], of_claim(job))


def of_claim(job: ClaimedImport) -> dict[str, Any]:
    """The values that bind a statement to a claim, and the time."""
    return {"space_id": job.space_id, "id": job.id, "token": job.lease, "now": datetime.now(UTC)}


def spaces_to_tidy(connection: Connection[Any]) -> list[int]:
    """The Spaces with files or refused rows that are not needed any more."""
    values = {"unused": UNUSED, "kept": REFUSED_KEPT}
    return [row[0] for row in connection.execute(queries["spaces_to_tidy"], values)]


def tidy(connection: Connection[Any], storage: Storage, space_id: int) -> None:
    """Remove a Space's files of imports that have ended or that nobody went on with, and refused
    rows that were kept long enough.
    """
    values = {"space_id": space_id, "unused": UNUSED, "kept": REFUSED_KEPT, "error": LEFT}
    connection.execute(queries["end_unused"], values)
    for job_id, file in connection.execute(queries["files_to_remove"], values).fetchall():
        if discard(storage, file):
            connection.execute(queries["forget_file"], {"space_id": space_id, "id": job_id})
    connection.execute(queries["forget_refused"], values)


def discard(storage: Storage, file: str) -> bool:
    """Remove an uploaded file. Returns True when it is removed."""
    try:
        storage.delete(file)
    except (OSError, BaseError) as error:
        log.warning("uploaded file not removed", file=file, error=type(error).__name__)
        return False
    return True
