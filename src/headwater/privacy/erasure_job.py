"""Carry out erasures: one at a time, each in one transaction under its Space's lock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import structlog
from psycopg import Connection

from headwater.base.failpoints import failpoint
from headwater.database.jobs.backoff import double_pause
from headwater.database.jobs.duties import SCARCE_SECONDS, Duty
from headwater.database.jobs.lease import LEASE
from headwater.exports.jobs import end_holds
from headwater.intake.pipeline.batch_runner import BATCH_ROWS, describe, process_space
from headwater.privacy.erasures import PastErasure, count_waiting, list_unprocessed, queries, request_again
from headwater.privacy.scrub import scrub
from headwater.spaces.locks import try_lock

FIRST_PAUSE_SECONDS = 2.0
"""The pause after the first failure; it doubles with each that follows."""
LONGEST_PAUSE_SECONDS = 300.0

log = structlog.get_logger()


class _Job(NamedTuple):
    id: int
    contact_id: int
    receipt_mark: int
    attempts: int
    """The number of failed attempts."""


def erase_next(connection: Connection[Any], space_id: int, limit: int = BATCH_ROWS) -> bool:
    """Carry out the Space's next due erasure. Returns True when there was one. The connection must
    be in autocommit.

    A failure is noted on the erasure, which is then put off; without a connection it is raised.
    """
    started = time.perf_counter()
    job: _Job | None = None
    try:
        with connection.transaction():
            job = _take(connection, space_id)
            if job is None:
                return False
            erased = _erase(connection, space_id, job, limit)
    except Exception as error:
        if job is None or connection.closed:
            raise
        _put_off(connection, space_id, job, error)
        return True
    if erased:
        failpoint("erasure_after_commit")
        seconds = round(time.perf_counter() - started, 4)
        log.info("contact erased", space_id=space_id, erasure=job.id, seconds=seconds)
    return True


def _take(connection: Connection[Any], space_id: int) -> _Job | None:
    """The next job, with the Space locked; None as well when another has the Space."""
    values = {"space_id": space_id, "lease": LEASE}
    if not try_lock(connection, space_id):
        return None
    row = connection.execute(queries["next"], values).fetchone()
    return _Job(*row) if row is not None else None


def _erase(connection: Connection[Any], space_id: int, job: _Job, limit: int) -> bool:
    """Erase the person. Returns False while items wait that were accepted before the request: they
    must become the contact's first, so that they are erased like the others.
    """
    process_space(connection, space_id, limit)
    values = {"space_id": space_id, **job._asdict()}
    row = connection.execute(queries["waits"], values).fetchone()
    if row is None or row[0]:
        return False
    failpoint("erasure_after_processing")
    scrub(connection, space_id, job.contact_id)
    (now,) = connection.execute(queries["clock"]).fetchall()[0]
    connection.execute(queries["done"], values | {"now": now})
    failpoint("erasure_before_commit")
    return True


def _put_off(connection: Connection[Any], space_id: int, job: _Job, error: Exception) -> None:
    reason = describe(error)
    seconds = double_pause(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, job.attempts + 1)
    pause = timedelta(seconds=seconds)
    values = {"space_id": space_id, "id": job.id, "last_error": reason, "pause": pause}
    connection.execute(queries["put_off"], values)
    log.error("erasure failed", space_id=space_id, erasure=job.id, error=reason)


def erase_again(connection: Connection[Any], erasures: Sequence[PastErasure]) -> int:
    """Request erasures in an older copy of the database, and return the number of those that it did
    not know of. What waits there and made one of the contacts is processed first.
    """
    while spaces := list_unprocessed(connection, erasures):
        for space_id in spaces:
            process_space(connection, space_id)
    return request_again(connection, erasures)


def erase_all(connection: Connection[Any]) -> int:
    """Carry out every erasure that is due, and return the number of those left: they are put off.
    The connection must be in autocommit, and nothing else at work on the database.
    """
    end_holds(connection)
    while spaces := _waiting(connection):
        for space_id in spaces:
            erase_next(connection, space_id)
    return count_waiting(connection)


def _waiting(connection: Connection[Any]) -> list[int]:
    return [row[0] for row in connection.execute(queries["due"], {"lease": LEASE})]


ERASURE_DUTY = Duty(_waiting, erase_next, pause_seconds=SCARCE_SECONDS, name="erasures")
"""The worker's duty of privacy: to carry out the requested erasures."""
