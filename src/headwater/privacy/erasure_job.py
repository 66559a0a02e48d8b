"""Run erasures one at a time, each in one transaction under its Space's lock."""

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
"""The pause after the first failure; it doubles with each further one."""
MAX_PAUSE_SECONDS = 300.0

log = structlog.get_logger()


class _Job(NamedTuple):
    id: int
    contact_id: int
    receipt_mark: int
    attempts: int


def erase_next(connection: Connection[Any], space_id: int, limit: int = BATCH_ROWS) -> bool:
    """Return whether there was a due erasure. Needs an autocommit connection.

    A failure is recorded and postpones the erasure; a lost connection is raised.
    """
    started = time.perf_counter()
    job: _Job | None = None
    try:
        with connection.transaction():
            job = _claim(connection, space_id)
            if job is None:
                return False
            has_erased = _erase(connection, space_id, job, limit)
    except Exception as error:
        if job is None or connection.closed:
            raise
        _postpone(connection, space_id, job, error)
        return True
    if has_erased:
        failpoint("erasure_after_commit")
        seconds = round(time.perf_counter() - started, 4)
        log.info("contact erased", space_id=space_id, erasure=job.id, seconds=seconds)
    return True


def _claim(connection: Connection[Any], space_id: int) -> _Job | None:
    """Lock the Space and return its next job; None without a job or while the Space is locked."""
    values = {"space_id": space_id, "lease": LEASE}
    if not try_lock(connection, space_id):
        return None
    row = connection.execute(queries["next"], values).fetchone()
    return _Job(*row) if row is not None else None


def _erase(connection: Connection[Any], space_id: int, job: _Job, limit: int) -> bool:
    """Return False while items accepted before the request are waiting, which must be erased too."""
    process_space(connection, space_id, limit)
    values = {"space_id": space_id, **job._asdict()}
    row = connection.execute(queries["waits"], values).fetchone()
    if row is None or row[0]:
        return False
    failpoint("erasure_after_processing")
    scrub(connection, space_id, job.contact_id)
    (current_time,) = connection.execute(queries["clock"]).fetchall()[0]
    connection.execute(queries["done"], values | {"now": current_time})
    failpoint("erasure_before_commit")
    return True


def _postpone(connection: Connection[Any], space_id: int, job: _Job, error: Exception) -> None:
    reason = describe(error)
    pause = timedelta(seconds=double_pause(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, job.attempts + 1))
    values = {"space_id": space_id, "id": job.id, "last_error": reason, "pause": pause}
    connection.execute(queries["put_off"], values)
    log.error("erasure failed", space_id=space_id, erasure=job.id, error=reason)


def erase_again(connection: Connection[Any], erasures: Sequence[PastErasure]) -> int:
    """Request erasures in an older copy of the database, after processing waiting items that create one of
    the contacts. Return the number of unknown ones.
    """
    while spaces := list_unprocessed(connection, erasures):
        for space_id in spaces:
            process_space(connection, space_id)
    return request_again(connection, erasures)


def erase_all(connection: Connection[Any]) -> int:
    """Return the number postponed after a failure. Needs an autocommit connection, and no other process
    working on the database.
    """
    end_holds(connection)
    while spaces := _find_due_spaces(connection):
        for space_id in spaces:
            erase_next(connection, space_id)
    return count_waiting(connection)


def _find_due_spaces(connection: Connection[Any]) -> list[int]:
    return [row[0] for row in connection.execute(queries["due"], {"lease": LEASE})]


ERASURE_JOB = Duty(_find_due_spaces, erase_next, pause_seconds=SCARCE_SECONDS, name="erasures")
