"""Run imports of uploaded files, one at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import structlog
from obstore.exceptions import BaseError
from psycopg import AsyncConnection, Connection
from psycopg.types.json import Json

from headwater.base.failpoints import failpoint
from headwater.base.storage import Storage
from headwater.base.telemetry.spans import span
from headwater.database.jobs.lease import LEASE, LeaseLostError, LeaseRenewal
from headwater.database.jobs.stop import StopRequested
from headwater.database.row_security import confine_session
from headwater.http.errors import make_sentence
from headwater.intake.imports import jobs
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.files import RowSource
from headwater.intake.imports.importer import Import, Progress
from headwater.intake.imports.job_models import ClaimedImport, Reading
from headwater.intake.imports.job_refusals import JobRefusals
from headwater.spaces.spaces import fetch_space

FILE_MISSING = (
    "The uploaded file is missing. Upload it again. If it is missing again, the worker is on another machine:"
    " the operator must set HEADWATER_STORAGE_URL to a place that all machines share."
)
STORED_BEFORE = "This file was imported in the same way before, on {date}. Nothing was stored again."
DISK_FULL = "The database's disk is full. Ask the operator of this service."

log = structlog.get_logger()


def work(connection: Connection[Any], storage: Storage, url: str) -> int:
    """Return the number of imports run. `connection` is in autocommit; imports connect to `url`."""
    count = 0
    while (job := jobs.claim_next(connection)) is not None:
        attributes = {"headwater.space_id": job.space_id, "headwater.kind": job.kind}
        with span("import", attributes):
            _attempt(connection, storage, url, job)
        count += 1
    return count


def _attempt(connection: Connection[Any], storage: Storage, url: str, job: ClaimedImport) -> None:
    try:
        with LeaseRenewal(url, lambda renewing: jobs.renew(renewing, job)) as renewal:
            asyncio.run(_run(storage, url, job, renewal))
        jobs.attempts.labels("completed").inc()
    except StopRequested:
        jobs.release(connection, job)
        raise
    except LeaseLostError:
        jobs.attempts.labels("lost").inc()
        log.info("import ended elsewhere", space_id=job.space_id, import_id=job.id)
    except UnreadableError as error:
        jobs.attempts.labels("failed").inc()
        jobs.put_back(connection, job, make_sentence(str(error)), final=True)
    except psycopg.errors.DiskFull as error:  # only the operator can mend it, so the import waits
        jobs.attempts.labels("failed").inc()
        log.warning("import put off", space_id=job.space_id, import_id=job.id, reason=str(error))
        jobs.postpone(connection, job, DISK_FULL)
    except Exception as error:
        jobs.attempts.labels("failed").inc()
        log.warning("import failed", space_id=job.space_id, import_id=job.id, exc_info=True)
        is_file_missing = isinstance(error, FileNotFoundError)
        jobs.put_back(connection, job, explain_failure(error), final=is_file_missing)


async def _run(storage: Storage, url: str, job: ClaimedImport, renewal: LeaseRenewal) -> None:
    async with await AsyncConnection.connect(url, autocommit=True, connect_timeout=5) as connection:
        await confine_session(connection, job.space_id)
        with storage.open(job.file) as raw:
            source = RowSource(raw, "csv", job.bytes, job.digest, job.dialect)
            refusals = JobRefusals(job)
            reading = Reading(**job.reading)
            run = Import(
                await fetch_space(connection, job.space_id),
                job.kind,
                source,
                reading.build_columns(job.kind),
                refusals,
                reading.zone,
                reading.notation,
                job.defaults,
                job.is_check,
            )
            if not await run.begin(connection, again=False):
                await _complete(connection, job, run.progress, _stored_before(job, run.progress))
                return
            async for progress in run.chunks(connection):
                renewal.check()
                await _advance(connection, job, progress, raw.tell())
        failpoint("import_before_complete")
        async with connection.transaction():
            if job.is_check:
                await refusals.flush(connection)
            await _complete(connection, job, run.progress)


def _stored_before(job: ClaimedImport, progress: Progress) -> str | None:
    if job.attempts > 1 or progress.finished_at is None:
        return None
    return STORED_BEFORE.format(date=f"{progress.finished_at:%Y-%m-%d}")


async def _advance(
    connection: AsyncConnection, job: ClaimedImport, progress: Progress, position: int
) -> None:
    claim = jobs.bind_claim(job) | {"bytes_done": position, "lease": LEASE, "is_check": job.is_check}
    values = claim | _count_rows(progress)
    await connection.execute(jobs.queries["advance"], values)


async def _complete(
    connection: AsyncConnection, job: ClaimedImport, progress: Progress, note: str | None = None
) -> None:
    values = jobs.bind_claim(job) | _count_rows(progress) | {"note": note}
    await connection.execute(jobs.queries["complete"], values)


def _count_rows(progress: Progress) -> dict[str, Any]:
    counts = {"rows_done": progress.rows_done, "taken": progress.taken, "refused": progress.refused}
    return counts | {"sources": Json(progress.sources)}


def explain_failure(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return FILE_MISSING
    if isinstance(error, BaseError | OSError):
        return f"The uploaded file cannot be read ({type(error).__name__})."
    if isinstance(error, psycopg.OperationalError):
        return "The database was unavailable."
    return f"Internal error ({type(error).__name__}). See the worker's log."
