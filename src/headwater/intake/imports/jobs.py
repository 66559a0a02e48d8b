"""Import jobs: started after a check, or immediately over the API; leased to one process at a time. If it is
killed, another continues after the last stored chunk.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL
from psycopg.types.json import Json

from headwater.base.storage import Storage
from headwater.base.telemetry.counters import make_counter
from headwater.database.jobs.backoff import climb
from headwater.database.jobs.lease import LEASE
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Conflict, require_found
from headwater.intake.imports.formats.dialects import Dialect, FileSurvey
from headwater.intake.imports.importer import Progress, forget_progress, make_progress_key
from headwater.intake.imports.job_models import ClaimedImport, ImportJob, Reading, RefusedRow

queries = Queries(__name__, "jobs.sql")
attempts = make_counter(
    "headwater_import_attempts",
    "Attempts at imports of uploaded files",
    outcome=("completed", "failed", "lost"),
)

TRIES = 4
"""One attempt and three retries."""
PAUSES = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=20), timedelta())
UNUSED = timedelta(days=1)
"""An unused file is removed after this."""
REFUSED_KEPT = timedelta(days=14)
"""After the import ends."""
WAITS = {"lease": LEASE, "longest_pause": max(PAUSES)}
FILE_EXPIRED = "The file was not imported within a day, so it was removed. Upload it again."
JOB_CHANGED = "The import has changed. Reload its page."


async def create_job(
    connection: AsyncConnection,
    space_id: int,
    kind: str,
    name: str,
    user_id: int | None,
    watched_file_id: int | None = None,
) -> tuple[int, str]:
    """Return its id and the file's name in the object store. The file comes from a user, a watched file, or
    the API.
    """
    values = {
        "space_id": space_id,
        "kind": kind,
        "name": name,
        "user_id": user_id,
        "watched_file_id": watched_file_id,
    }
    row = await fetch_one(connection, queries["create"], values)
    return row[0], row[1]


async def note_upload(
    connection: AsyncConnection, space_id: int, job_id: int, survey: FileSurvey, dialect: Dialect
) -> None:
    """Record a complete upload. Raises Conflict if withdrawn."""
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
    await connection.execute(queries["remove"], {"space_id": space_id, "id": job_id})


async def list_jobs(connection: AsyncConnection, space_id: int, limit: int) -> list[ImportJob]:
    """Return the latest first."""
    query = queries["list"].format(only=SQL("true"))
    return await fetch_all(make_cursor(connection, ImportJob), query, {"space_id": space_id, "limit": limit})


async def list_watched_jobs(
    connection: AsyncConnection, space_id: int, watched_file_id: int, limit: int
) -> list[ImportJob]:
    """Return the latest imports of a watched file first."""
    query = queries["list"].format(only=SQL("x.watched_file_id = %(watched_file_id)s"))
    values = {"space_id": space_id, "watched_file_id": watched_file_id, "limit": limit}
    return await fetch_all(make_cursor(connection, ImportJob), query, values)


async def fetch_job(connection: AsyncConnection, space_id: int, job_id: int) -> ImportJob:
    """Raise NotFound if missing."""
    query = queries["list"].format(only=SQL("x.id = %(id)s"))
    return require_found(
        await fetch_optional(
            make_cursor(connection, ImportJob), query, {"space_id": space_id, "id": job_id, "limit": 1}
        ),
        "Import",
    )


async def check_job(connection: AsyncConnection, space_id: int, job_id: int, reading: Reading) -> None:
    """Queue a check of all rows. Raises Conflict."""
    values = {"space_id": space_id, "id": job_id, "reading": Json(reading.stored())}
    await _change(connection, "check", values)


async def enqueue_job(connection: AsyncConnection, space_id: int, job_id: int, reading: Reading) -> None:
    """Queue an import without a check. Raises Conflict."""
    values = {"space_id": space_id, "id": job_id, "reading": Json(reading.stored())}
    await _change(connection, "enqueue", values)


async def start_job(connection: AsyncConnection, space_id: int, job: ImportJob, *, again: bool) -> None:
    """Queue a checked file. `again` repeats rows stored earlier. Raises Conflict."""
    await _change(connection, "start", {"space_id": space_id, "id": job.id, "again": again})
    if again:
        await forget_progress(connection, _make_progress_key(space_id, job))


async def cancel_job(connection: AsyncConnection, space_id: int, job_id: int) -> None:
    """Cancel an import; stored rows stay. Raises Conflict."""
    await _change(connection, "cancel", {"space_id": space_id, "id": job_id})


async def _change(connection: AsyncConnection, statement: str, values: dict[str, Any]) -> None:
    if await fetch_optional(connection, queries[statement], values) is None:
        raise Conflict(JOB_CHANGED)


async def fetch_former(connection: AsyncConnection, space_id: int, job: ImportJob) -> Progress | None:
    """Return the progress of an earlier import of the same file and settings."""
    return await fetch_optional(
        make_cursor(connection, Progress), queries["progress"], _make_progress_key(space_id, job)
    )


async def forget_former(connection: AsyncConnection, space_id: int, job: ImportJob) -> None:
    """Let a queued import repeat a finished one of the same file and settings."""
    former_import = await fetch_former(connection, space_id, job)
    if former_import is not None and former_import.finished_at is not None:
        await forget_progress(connection, _make_progress_key(space_id, job))


def _make_progress_key(space_id: int, job: ImportJob) -> dict[str, Any]:
    reading = Reading(**(job.reading or {"columns": {}}))
    columns = reading.build_columns(job.kind)
    return make_progress_key(space_id, job.kind, job.digest, columns, reading.zone, reading.notation)


async def list_refused(
    connection: AsyncConnection, space_id: int, job_id: int, limit: int, after: int = 0
) -> list[RefusedRow]:
    """Return refused rows after a row number, in file order."""
    values = {"space_id": space_id, "id": job_id, "limit": limit, "after": after}
    return await fetch_all(make_cursor(connection, RefusedRow), queries["refused"], values)


async def count_reasons(connection: AsyncConnection, space_id: int, job_id: int) -> list[tuple[str, int]]:
    return await fetch_all(connection, queries["reasons"], {"space_id": space_id, "id": job_id})


def waiting_spaces(connection: Connection[Any]) -> list[int]:
    return sorted({row[0] for row in connection.execute(queries["waiting"], WAITS)})


def claim_next(connection: Connection[Any]) -> ClaimedImport | None:
    """Claim the import waiting longest. Checks go first: a user waits for them. `connection` is in
    autocommit.
    """
    for space_id, job_id in connection.execute(queries["waiting"], WAITS).fetchall():
        values = {
            "space_id": space_id,
            "id": job_id,
            "tries": TRIES,
            "token": uuid4(),
            "now": datetime.now(UTC),
            "exhausted": "The import was interrupted every time.",
            **WAITS,
        }
        job = make_cursor(connection, ClaimedImport).execute(queries["claim"], values).fetchone()
        if job is not None and job.status != "failed":
            return job
    return None


def renew(connection: Connection[Any], job: ClaimedImport) -> bool:
    """Return whether this process holds the lease."""
    return connection.execute(queries["renew"], bind_claim(job) | {"lease": LEASE}).rowcount == 1


def put_back(connection: Connection[Any], job: ClaimedImport, error: str, *, final: bool = False) -> None:
    """Record a failed attempt. Retry, unless it was the last one or `final`."""
    pause = climb(PAUSES, job.attempts)
    values = bind_claim(job) | {"error": error, "pause": pause, "tries": TRIES, "final": final}
    connection.execute(queries["put_back"], values)


def postpone(connection: Connection[Any], job: ClaimedImport, error: str) -> None:
    """Retry later, however often."""
    values = bind_claim(job) | {"error": error, "pause": max(PAUSES)}
    connection.execute(queries["postpone"], values)


def release(connection: Connection[Any], job: ClaimedImport) -> None:
    """Release an import on shutdown."""
    connection.execute(queries["release"], bind_claim(job))


def bind_claim(job: ClaimedImport) -> dict[str, Any]:
    return {"space_id": job.space_id, "id": job.id, "token": job.lease, "now": datetime.now(UTC)}


def spaces_to_tidy(connection: Connection[Any]) -> list[int]:
    values = {"unused": UNUSED, "kept": REFUSED_KEPT}
    return [row[0] for row in connection.execute(queries["spaces_to_tidy"], values)]


def tidy(connection: Connection[Any], storage: Storage, space_id: int) -> None:
    values = {"space_id": space_id, "unused": UNUSED, "kept": REFUSED_KEPT, "error": FILE_EXPIRED}
    connection.execute(queries["end_unused"], values)
    for job_id, file in connection.execute(queries["files_to_remove"], values).fetchall():
        if storage.discard([file]):
            connection.execute(queries["forget_file"], {"space_id": space_id, "id": job_id})
    connection.execute(queries["forget_refused"], values)
