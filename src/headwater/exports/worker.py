"""Working on export jobs: one at a time, each in a snapshot of its own, its file whole or not
there at all.
"""

from __future__ import annotations

import errno
import threading
from types import TracebackType
from typing import Any, Self

import psycopg
import structlog
from obstore.exceptions import BaseError
from psycopg import Connection

from headwater.exports import jobs
from headwater.exports.kinds import KINDS
from headwater.exports.models import ClaimedJob
from headwater.exports.stream import compressed, write_lines
from headwater.failpoints import failpoint
from headwater.storage import Storage

RENEW_SECONDS = 2.0

log = structlog.get_logger()


class StopRequested(BaseException):
    """The process was told to stop."""


class JobLostError(Exception):
    """The job belongs to somebody else by now."""


def work(connection: Connection[Any], storage: Storage, url: str) -> int:
    """Work on jobs until none waits, and return how many were begun. `connection` is in
    autocommit; each job has others of its own to the database at `url`.
    """
    count = 0
    while (job := jobs.claim_next(connection, storage)) is not None:
        _attempt(connection, storage, url, job)
        count += 1
    return count


def _attempt(connection: Connection[Any], storage: Storage, url: str, job: ClaimedJob) -> None:
    try:
        with Lease(url, job) as lease:
            _write(storage, url, lease)
        failpoint("export_before_complete")
        lease.hand_over(connection)
    except StopRequested:
        jobs.discard(storage, job.file)
        jobs.release(connection, job)
        raise
    except JobLostError:
        jobs.discard(storage, job.file)
        log.warning("export lease lost", space_id=job.space_id, export=job.id)
    except Exception as error:
        jobs.discard(storage, job.file)
        log.warning("export failed", space_id=job.space_id, export=job.id, exc_info=True)
        jobs.put_back(connection, job, reason_of(error))


def _write(storage: Storage, url: str, lease: Lease) -> None:
    job = lease.job
    with (
        psycopg.connect(url, connect_timeout=5) as connection,
        storage.create(job.file, job.shown_as) as sink,
        compressed(sink) as stream,
    ):
        connection.execute(jobs.queries["snapshot"])
        lines = KINDS[job.request.kind].lines(connection, job.space_id, job.request)
        row = connection.execute(lines.count, lines.parameters).fetchone()
        lease.total = row[0] if row else None
        failpoint("export_before_copy")
        write_lines(connection, lines, stream, lease.tell)
        failpoint("export_before_close")


class Lease:
    """Keeps a job by renewing it in the background, also while PostgreSQL has not yet begun to
    send.
    """

    def __init__(self, url: str, job: ClaimedJob) -> None:
        self.job = job
        self.done = 0
        self.total: int | None = None
        self._url = url
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def tell(self, done: int) -> None:
        """Note progress. Raises LeaseLostError when there is no point in going on."""
        self.done = done
        if self._lost.is_set():
            raise JobLostError

    def hand_over(self, connection: Connection[Any]) -> None:
        """End the job with its file. Raises LeaseLostError when it belongs to somebody else."""
        if not jobs.complete(connection, self.job, self.done):
            raise JobLostError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._ended.wait(RENEW_SECONDS):
            try:
                with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as connection:
                    while jobs.renew(connection, self.job, self.done, self.total):
                        if self._ended.wait(RENEW_SECONDS):
                            return
                    self._lost.set()
                    return
            except psycopg.OperationalError as error:
                log.warning("lease not renewed", error=type(error).__name__)


def reason_of(error: Exception) -> str:
    """Why an attempt failed, for the person who asked for the export."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "There is no space left where export files are kept."
    if isinstance(error, BaseError):
        return f"The object store did not take the file ({type(error).__name__})."
    if isinstance(error, OSError):
        return f"Export files cannot be written ({error.strerror or type(error).__name__})."
    if isinstance(error, psycopg.OperationalError):
        return "The database was unavailable."
    return f"An internal error ({type(error).__name__}); the worker's log tells more."
