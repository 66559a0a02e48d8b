"""Work on export jobs: one at a time, each in a snapshot of its own, its file whole or not there at
all.
"""

from __future__ import annotations

import errno
from typing import Any

import psycopg
import structlog
from obstore.exceptions import BaseError
from psycopg import Connection

from headwater.database.row_security import confined, fetch_role
from headwater.exports import jobs
from headwater.exports.kinds import KINDS
from headwater.exports.models import ClaimedJob
from headwater.exports.stream import compressed, write_lines
from headwater.failpoints import failpoint
from headwater.jobs.lease import LeaseLostError, LeaseRenewal
from headwater.jobs.stop import StopRequested
from headwater.storage import Storage

log = structlog.get_logger()


def work(connection: Connection[Any], storage: Storage, url: str) -> int:
    """Work on jobs until none waits, and return the number of jobs begun. `connection` is in
    autocommit; each job has connections of its own to the database at `url`.
    """
    count = 0
    while (job := jobs.claim_next(connection, storage)) is not None:
        _attempt(connection, storage, url, job)
        count += 1
    return count


def _attempt(connection: Connection[Any], storage: Storage, url: str, job: ClaimedJob) -> None:
    attempt = ExportAttempt(url, job)
    try:
        with attempt.renewal:
            _write(storage, url, attempt)
        failpoint("export_before_complete")
        attempt.hand_over(connection)
    except StopRequested:
        jobs.discard(storage, job.file)
        jobs.release(connection, job)
        raise
    except LeaseLostError:
        jobs.discard(storage, job.file)
        log.warning("export lease lost", space_id=job.space_id, export=job.id)
    except Exception as error:
        jobs.discard(storage, job.file)
        log.warning("export failed", space_id=job.space_id, export=job.id, exc_info=True)
        jobs.put_back(connection, job, reason_of(error))


def _write(storage: Storage, url: str, attempt: ExportAttempt) -> None:
    job = attempt.job
    with (
        psycopg.connect(url, connect_timeout=5) as connection,
        confined(connection, job.space_id, fetch_role(connection).usable),
        storage.create(job.file, job.download_name) as sink,
        compressed(sink) as stream,
    ):
        connection.execute(jobs.queries["snapshot"])
        lines = KINDS[job.request.kind].lines(connection, job.space_id, job.request)
        row = connection.execute(lines.count, lines.parameters).fetchone()
        attempt.total = row[0] if row else None
        failpoint("export_before_copy")
        write_lines(connection, lines, stream, attempt.advance)
        failpoint("export_before_close")


class ExportAttempt:
    """An attempt at a job: its progress, and the lease under which it is this process's."""

    def __init__(self, url: str, job: ClaimedJob) -> None:
        self.job = job
        self.total: int | None = None
        self.renewal = LeaseRenewal(url, self._renew)
        self._done = 0

    def advance(self, done: int) -> None:
        """Note the number of rows written. Raises LeaseLostError when the job is lost to another
        process.
        """
        self._done = done
        self.renewal.check()

    def hand_over(self, connection: Connection[Any]) -> None:
        """Complete the job with its file. Raises LeaseLostError when it is another process's."""
        if not jobs.complete(connection, self.job, self._done):
            raise LeaseLostError

    def _renew(self, connection: Connection[Any]) -> bool:
        return jobs.renew(connection, self.job, self._done, self.total)


def reason_of(error: Exception) -> str:
    """The reason why an attempt failed, for the person who requested the export."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "There is no space left where export files are kept."
    if isinstance(error, BaseError):
        return f"The object store did not take the file ({type(error).__name__})."
    if isinstance(error, OSError):
        return f"Export files cannot be written ({error.strerror or type(error).__name__})."
    if isinstance(error, psycopg.OperationalError):
        return "The database was unavailable."
    return f"An internal error ({type(error).__name__}); the worker's log tells more."
