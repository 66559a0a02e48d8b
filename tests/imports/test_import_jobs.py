"""Imports of uploaded files that are killed, stopped or cancelled at any point: each row is stored once, and
a person erased meanwhile doesn't come back.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from psycopg import AsyncConnection

from headwater.base.storage import LocalFolder
from headwater.database.jobs.connection import connect
from headwater.database.jobs.stop import StopRequested
from headwater.http.errors import Conflict
from headwater.intake.imports import importer, job_worker, jobs
from headwater.intake.imports.formats.dialects import FileSurvey
from headwater.intake.imports.job_models import ImportJob, Reading
from headwater.intake.imports.uploads import judge_file
from headwater.privacy.erasure_job import erase_next
from headwater.spaces.locks import try_lock
from tests.support.factories import Stage
from tests.support.forks import die_at
from tests.support.lock_waits import is_waited_for
from tests.support.pipeline import Stage as Pipeline
from tests.support.waiting import wait_until

READING = Reading({"id": "order_id", "email": "email", "total": "amount"}, {"event_name": "purchase"})
Result = TypeVar("Result")


def orders_file(count: int, *bad: int) -> str:
    rows = [f"{n},{'kein' if n in bad else f'p{n}@example.com'},5" for n in range(count)]
    return "\n".join(["id,email,total", *rows]) + "\n"


@dataclass
class Uploads:
    """The imports of a Space, and a worker."""

    stage: Stage
    url: str
    storage: LocalFolder

    def call(self, verb: Callable[..., Awaitable[Result]], *values: Any, **options: Any) -> Result:
        """Call a function of `jobs` on a new connection."""

        async def run() -> Result:
            async with await AsyncConnection.connect(self.url, autocommit=True) as connection:
                return await verb(connection, self.stage.space_id, *values, **options)

        return asyncio.run(run())

    def put(self, content: str, file_reading: Reading = READING, kind: str = "events") -> int:
        """Upload a file and let it be checked."""
        job_id, file = self.call(jobs.create_job, kind, "f.csv", 1)
        survey = FileSurvey()
        survey.add(content.encode())
        survey.finish()
        with self.storage.create(file, file) as sink:
            sink.write(content.encode())
        self.call(jobs.note_upload, job_id, survey, judge_file(kind, survey))
        self.call(jobs.check_job, job_id, file_reading)
        self.work()
        return job_id

    def start(self, job_id: int) -> None:
        self.call(jobs.start_job, self.job(job_id), again=False)

    def job(self, job_id: int) -> ImportJob:
        return self.call(jobs.fetch_job, job_id)

    def work(self) -> None:
        job_worker.work(self.stage.connection, self.storage, self.url)

    def die_at(self, point: str) -> int:
        """Work in a process that is killed at this failpoint, and return its exit code."""

        def work() -> None:
            with psycopg.connect(self.url, autocommit=True) as connection:
                job_worker.work(connection, self.storage, self.url)

        code = die_at(point, work)
        self.stage.connection.execute("UPDATE import_jobs SET leased_until = NULL")
        return code

    def orders(self) -> list[str]:
        rows = self.stage.connection.execute(
            "SELECT payload::json->>'order_id' FROM inbox WHERE space_id = %s ORDER BY id",
            (self.stage.space_id,),
        )
        return [order for (order,) in rows]

    def refused_lines(self, job_id: int) -> list[int]:
        rows = self.stage.connection.execute(
            "SELECT line FROM refused_rows WHERE space_id = %s AND import_id = %s ORDER BY row",
            (self.stage.space_id, job_id),
        )
        return [line for (line,) in rows]

    def erase(self, contact_id: int) -> None:
        self.stage.connection.execute(
            "INSERT INTO erasures (space_id, contact_id, receipt_mark)"
            " VALUES (%s, %s, nextval('receipt_ids'))", (self.stage.space_id, contact_id)
        )  # fmt: skip
        with connect(self.url) as worker:
            assert erase_next(worker, self.stage.space_id)


def attempts() -> dict[str, float]:
    """Return the metric of attempts by outcome."""
    return {
        outcome: jobs.attempts.labels(outcome)._value.get() for outcome in ("completed", "failed", "lost")
    }


@pytest.fixture
def uploads(stage: Stage, database_url: str, tmp_path: Path) -> Uploads:
    stage.connection.execute(
        "UPDATE import_jobs SET status = 'cancelled' WHERE status IN ('checking', 'queued', 'running')"
    )
    return Uploads(stage, database_url, LocalFolder(tmp_path))


def test_it_works(uploads: Uploads) -> None:
    before = attempts()
    job_id = uploads.put(orders_file(5, 3))
    job_after_check = uploads.job(job_id)
    assert (
        job_after_check.status,
        job_after_check.taken,
        job_after_check.refused,
        job_after_check.stored,
    ) == ("checked", 4, 1, 0)
    assert uploads.orders() == []
    uploads.start(job_id)
    uploads.work()
    job = uploads.job(job_id)
    assert (job.status, job.stored, job.refused, job.error) == ("finished", 4, 1, None)
    assert attempts() == {**before, "completed": before["completed"] + 2}
    assert uploads.orders() == ["0", "1", "2", "4"]
    assert uploads.refused_lines(job_id) == [5]
    jobs.tidy(uploads.stage.connection, uploads.storage, uploads.stage.space_id)
    assert list(uploads.storage.folder.iterdir()) == []


@pytest.mark.parametrize("point", ["import_before_commit", "import_before_finish", "import_before_complete"])
def test_a_killed_worker_goes_on_and_doubles_nothing(uploads: Uploads, point: str) -> None:
    job_id = uploads.put(orders_file(1500, 2, 1400))
    uploads.start(job_id)
    assert uploads.die_at(point) == -signal.SIGKILL
    assert uploads.job(job_id).status == "running"
    uploads.work()
    job = uploads.job(job_id)
    assert (job.status, job.stored, job.refused, job.error) == ("finished", 1498, 2, None)
    assert uploads.orders() == [str(n) for n in range(1500) if n not in {2, 1400}]
    assert uploads.refused_lines(job_id) == [4, 1402]


def test_killed_every_time_it_fails_and_says_so(uploads: Uploads) -> None:
    job_id = uploads.put(orders_file(3))
    uploads.start(job_id)
    uploads.stage.connection.execute("UPDATE import_jobs SET attempts = %s", (jobs.TRIES,))
    uploads.work()
    assert uploads.job(job_id).status == "failed"
    assert "interrupted every time" in (uploads.job(job_id).error or "")


def test_the_file_is_gone(uploads: Uploads) -> None:
    job_id = uploads.put(orders_file(3))
    uploads.start(job_id)
    for file in uploads.storage.folder.iterdir():
        file.unlink()
    before = attempts()
    uploads.work()
    assert attempts() == {**before, "failed": before["failed"] + 1}
    assert (uploads.job(job_id).status, uploads.job(job_id).error) == ("failed", job_worker.FILE_MISSING)


def test_a_file_that_cannot_be_read_is_not_tried_again(uploads: Uploads) -> None:
    job_id = uploads.put(orders_file(3))
    uploads.start(job_id)
    (file,) = uploads.storage.folder.iterdir()
    file.write_text("total,total\n5,5\n")
    before = attempts()
    uploads.work()
    job = uploads.job(job_id)
    assert (job.status, job.error) == ("failed", "The header names the column total twice.")
    assert attempts() == {**before, "failed": before["failed"] + 1}


def during_the_import(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch, disturb: Callable[[], None], *, is_counted: bool = True
) -> None:
    """Work, and call `disturb` after the first chunk of two rows, once its rows are counted or before."""
    monkeypatch.setattr(importer, "CHUNK", 2)
    advance, pending_calls = job_worker._advance, [disturb]

    async def notice(*values: Any) -> None:
        if is_counted:
            await advance(*values)
        while pending_calls:
            await asyncio.to_thread(pending_calls.pop())
        if not is_counted:
            await advance(*values)

    monkeypatch.setattr(job_worker, "_advance", notice)
    uploads.work()


@pytest.mark.parametrize("is_counted", [True, False])
def test_cancelled_in_the_middle(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch, *, is_counted: bool
) -> None:
    job_id = uploads.put(orders_file(7))
    uploads.start(job_id)
    before = attempts()
    cancel = partial(uploads.call, jobs.cancel_job, job_id)
    during_the_import(uploads, monkeypatch, cancel, is_counted=is_counted)
    assert attempts() == {**before, "lost": before["lost"] + 1}
    job = uploads.job(job_id)
    assert (job.status, job.rows_done, job.stored) == ("cancelled", 2, 2)
    assert uploads.orders() == ["0", "1"]
    with pytest.raises(Conflict):
        uploads.start(job_id)


def test_a_check_cancelled_in_the_middle_counts_nothing(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = uploads.put(orders_file(7))
    uploads.call(jobs.check_job, job_id, READING)
    cancel = partial(uploads.call, jobs.cancel_job, job_id)
    during_the_import(uploads, monkeypatch, cancel, is_counted=False)
    assert (uploads.job(job_id).status, uploads.job(job_id).stored, uploads.orders()) == ("cancelled", 0, [])


def test_on_a_full_disk_it_waits_however_long(uploads: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise psycopg.errors.DiskFull

    job_id = uploads.put(orders_file(20))
    uploads.start(job_id)
    for _ in range(jobs.TRIES + 1):
        during_the_import(uploads, monkeypatch, fail)
        job = uploads.job(job_id)
        assert (job.status, job.error) == ("running", job_worker.DISK_FULL)
        uploads.stage.connection.execute("UPDATE import_jobs SET retry_at = now()")
    uploads.work()
    job = uploads.job(job_id)
    assert (job.status, job.error, job.stored) == ("finished", None, 20)
    assert sorted(map(int, uploads.orders())) == list(range(20))


def test_stopped_in_the_middle_the_next_worker_goes_on_at_once(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise StopRequested

    job_id = uploads.put(orders_file(7))
    uploads.start(job_id)
    with pytest.raises(StopRequested):
        during_the_import(uploads, monkeypatch, stop)
    uploads.work()
    assert (uploads.job(job_id).status, uploads.job(job_id).stored) == ("finished", 7)
    assert uploads.orders() == [str(n) for n in range(7)]


@pytest.mark.parametrize("kind", ["events", "contacts"])
def test_who_is_erased_meanwhile_does_not_come_back(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    reading = READING if kind == "events" else Reading({"id": "", "email": "email", "total": ""})
    contact = uploads.stage.contact(email="p4@example.com")
    uploads.stage.identifier(contact, "email", "p4@example.com")
    job_id = uploads.put(orders_file(7).replace("p4@", "P4@"), reading, kind)
    uploads.start(job_id)
    during_the_import(uploads, monkeypatch, lambda: uploads.erase(contact))
    job = uploads.job(job_id)
    assert (job.status, job.stored, job.refused) == ("finished", 6, 1)
    assert uploads.refused_lines(job_id) == [6]
    Pipeline(uploads.stage.connection, uploads.stage.space_id).process()
    for table in ("contacts", "inbox", "refused_rows", "import_jobs", "contact_identifiers"):
        (count,) = uploads.stage.connection.execute(
            f"SELECT count(*) FROM {table} t WHERE space_id = %s AND t::text ILIKE '%%p4@%%'",
            (uploads.stage.space_id,),
        ).fetchone() or (None,)
        assert count == 0, table


def test_contacts_are_imported_in_the_order_of_an_erasure_s_locks(uploads: Uploads) -> None:
    """The import waits for the Space without holding its job. Otherwise an erasure would wait for the job."""
    job_id = uploads.put(orders_file(3), Reading({"id": "", "email": "email", "total": ""}), "contacts")
    uploads.start(job_id)
    with psycopg.connect(uploads.url) as erasure, psycopg.connect(uploads.url, autocommit=True) as observer:
        assert try_lock(erasure, uploads.stage.space_id)
        worker = threading.Thread(target=uploads.work)
        worker.start()
        try:
            wait_until(lambda: is_waited_for(observer, erasure))
            erasure.execute(
                "SELECT 1 FROM import_jobs WHERE space_id = %s AND id = %s FOR NO KEY UPDATE NOWAIT",
                (uploads.stage.space_id, job_id),
            )
        finally:
            erasure.rollback()
            worker.join()
    assert (uploads.job(job_id).status, uploads.job(job_id).stored) == ("finished", 3)


def test_an_erased_token_is_recognized_in_any_letters(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded database's `lower` knows only ASCII letters."""
    contact = uploads.stage.contact()
    uploads.stage.identifier(contact, "trk_token", "KÖLN-4")
    reading = Reading({"id": "order_id", "email": "trk_token", "total": "amount"}, READING.constants)
    job_id = uploads.put(orders_file(7).replace("p4@example.com", "KÖLN-4"), reading)
    uploads.start(job_id)
    during_the_import(uploads, monkeypatch, lambda: uploads.erase(contact))
    job = uploads.job(job_id)
    assert (job.status, job.stored, job.refused) == ("finished", 6, 1)


def test_an_erasure_withdraws_files_that_wait_and_refused_rows(uploads: Uploads) -> None:
    contact = uploads.stage.contact(email="kein@example.com")
    uploads.stage.identifier(contact, "email", "kein@example.com")
    job_id = uploads.put("id,email,total\n1,kein@example.com,viel\n2,b@example.com,viel\n")
    assert uploads.refused_lines(job_id) == [2, 3]
    uploads.erase(contact)
    job = uploads.job(job_id)
    assert job.status == "failed"
    assert "A person was erased" in (job.error or "")
    assert uploads.refused_lines(job_id) == [3]
    jobs.tidy(uploads.stage.connection, uploads.storage, uploads.stage.space_id)
    assert list(uploads.storage.folder.iterdir()) == []


def test_what_nobody_needs_is_removed(uploads: Uploads) -> None:
    waiting_id, done_id = uploads.put(orders_file(2)), uploads.put(orders_file(4, 1))
    uploads.start(done_id)
    uploads.work()
    change, space_id = uploads.stage.connection.execute, uploads.stage.space_id
    change("UPDATE import_jobs SET created_at = now() - interval '25 hours' WHERE id = %s",
           (waiting_id,))  # fmt: skip
    assert uploads.refused_lines(done_id) == [3]
    change("UPDATE import_jobs SET ended_at = now() - interval '15 days' WHERE id = %s", (done_id,))
    assert space_id in jobs.spaces_to_tidy(uploads.stage.connection)
    jobs.tidy(uploads.stage.connection, uploads.storage, space_id)
    assert "not imported within a day" in (uploads.job(waiting_id).error or "")
    assert uploads.refused_lines(done_id) == []
    assert list(uploads.storage.folder.iterdir()) == []
    assert space_id not in jobs.spaces_to_tidy(uploads.stage.connection)


def test_refused_rows_have_a_bound(uploads: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.intake.imports.job_refusals.MOST_KEPT", 3)
    job_id = uploads.put(orders_file(9, *range(8)))
    assert (uploads.job(job_id).refused, len(uploads.refused_lines(job_id))) == (8, 3)
