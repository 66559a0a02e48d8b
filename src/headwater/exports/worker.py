"""Process export jobs one at a time, each in its own snapshot, with complete files or none."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg
import structlog
from obstore.exceptions import BaseError
from psycopg import Connection

from headwater.base.failpoints import failpoint
from headwater.base.files import NO_ROOM
from headwater.base.storage import Sink, Storage
from headwater.base.telemetry.counters import make_counter
from headwater.base.telemetry.spans import span
from headwater.database.jobs.lease import LeaseLostError, LeaseRenewal
from headwater.database.jobs.stop import StopRequested
from headwater.database.row_security import confined, fetch_role
from headwater.exports import jobs
from headwater.exports.formats import ParquetMissingError, part_names
from headwater.exports.kinds import KINDS
from headwater.exports.models import ClaimedJob
from headwater.exports.stream import FileSet, write_files
from headwater.http.errors import Problem

log = structlog.get_logger()
attempts = make_counter(
    "headwater_export_attempts", "Attempts at exports", outcome=("completed", "failed", "lost")
)


def work(connection: Connection[Any], storage: Storage, url: str) -> int:
    """Process jobs until none waits, and return their number. `connection` is in autocommit; jobs connect to
    `url`.
    """
    count = 0
    while (job := jobs.claim_next(connection, storage)) is not None:
        attributes = {"headwater.space_id": job.space_id, "headwater.kind": job.request.kind}
        with span("export", attributes):
            _attempt(connection, storage, url, job)
        count += 1
    return count


def _attempt(connection: Connection[Any], storage: Storage, url: str, job: ClaimedJob) -> None:
    attempt = ExportAttempt(url, job)

    def discard() -> None:
        storage.discard(part_names(job.file, attempt.parts))

    try:
        with attempt.renewal:
            part_rows = _write(connection, storage, url, attempt)
        failpoint("export_before_complete")
        attempt.move_to_folder(connection, storage, part_rows)
        attempt.hand_over(connection, part_rows)
        attempts.labels("completed").inc()
    except StopRequested:
        discard()
        jobs.release(connection, job)
        raise
    except LeaseLostError:
        discard()
        attempts.labels("lost").inc()
        log.warning("export lease lost", space_id=job.space_id, export=job.id)
    except Exception as error:
        discard()
        attempts.labels("failed").inc()
        log.warning("export failed", space_id=job.space_id, export=job.id, exc_info=True)
        jobs.put_back(connection, job, explain_failure(error))


def _write(jobs_connection: Connection[Any], storage: Storage, url: str, attempt: ExportAttempt) -> list[int]:
    job, request = attempt.job, attempt.job.request

    @contextmanager
    def open_file(number: int) -> Generator[Sink]:
        attempt.take_name(jobs_connection, number)
        with storage.create(*job.names(number)) as sink:
            yield sink
            failpoint("export_before_close")

    files = FileSet(request.form, request.rows_per_file, open_file)
    with (
        psycopg.connect(url, connect_timeout=5) as connection,
        confined(connection, job.space_id, fetch_role(connection).usable_name),
    ):
        connection.execute(jobs.queries["snapshot"])
        lines = KINDS[request.kind].lines(connection, job.space_id, request)
        row = connection.execute(lines.count, lines.parameters).fetchone()
        attempt.total = row[0] if row else None
        failpoint("export_before_copy")
        return write_files(connection, lines, files, attempt.advance)


class ExportAttempt:
    """An attempt at a job: its progress and its lease."""

    def __init__(self, url: str, job: ClaimedJob) -> None:
        self.job = job
        self.total: int | None = None
        self.parts = 1
        self.renewal = LeaseRenewal(url, self._renew)
        self._rows_done = 0

    def advance(self, rows_done: int) -> None:
        """Record rows written. Raises LeaseLostError."""
        self._rows_done = rows_done
        self.renewal.check()

    def take_name(self, connection: Connection[Any], number: int) -> None:
        """Record that a file will be created. Raises LeaseLostError."""
        if number > 1 and not jobs.add_part(connection, self.job, number):
            raise LeaseLostError
        self.parts = number

    def move_to_folder(self, connection: Connection[Any], storage: Storage, part_rows: list[int]) -> None:
        """Replace the files of a schedule's last run. Raises LeaseLostError."""
        job = self.job
        if job.folder is None:
            return
        if not jobs.announce_parts(connection, job, part_rows):
            raise LeaseLostError
        extension = job.request.form.extension
        for number, file in enumerate(part_names(job.file, self.parts), 1):
            storage.move(file, f"{job.folder}/part-{number:04}{extension}")
        for number in range(self.parts + 1, job.former_parts + 1):
            storage.delete(f"{job.folder}/part-{number:04}{extension}")

    def hand_over(self, connection: Connection[Any], part_rows: list[int]) -> None:
        """Complete the job. Raises LeaseLostError."""
        if not jobs.complete(connection, self.job, part_rows):
            raise LeaseLostError

    def _renew(self, connection: Connection[Any]) -> bool:
        return jobs.renew(connection, self.job, self._rows_done, self.total)


def explain_failure(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return "No space left in the storage of export files."
    if isinstance(error, BaseError):
        return f"The object store refused the file ({type(error).__name__})."
    if isinstance(error, OSError):
        return f"Export files cannot be written ({error.strerror or type(error).__name__})."
    if isinstance(error, ParquetMissingError | Problem):
        return error.message
    if isinstance(error, psycopg.OperationalError):
        is_full = isinstance(error, psycopg.errors.DiskFull)
        return "The database's disk is full." if is_full else "The database was unavailable."
    return f"An internal error ({type(error).__name__}); see the worker's log."
