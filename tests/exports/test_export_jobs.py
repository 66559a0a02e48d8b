"""The life of an export job: tries, leases, crashes, full disks, retention."""

from __future__ import annotations

import errno
import gzip
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from obstore.exceptions import GenericError

from headwater.database.jobs.lease import LeaseLostError
from headwater.database.jobs.stop import StopRequested
from headwater.exports import jobs
from headwater.exports.formats import ParquetMissingError
from headwater.exports.models import ClaimedJob
from headwater.exports.worker import ExportAttempt, explain_failure, work
from tests.support.exports import Exports
from tests.support.factories import Stage
from tests.support.waiting import PATIENCE_SECONDS

DAY = "2026-05-13"


@pytest.fixture
def folder(data_dir: Path) -> Path:
    return data_dir / "exports"


def fill(stage: Stage, events: int) -> None:
    """Store events, with random texts that don't compress to nothing."""
    contact_id = stage.contact()
    stage.connection.execute(
        "INSERT INTO events (space_id, id, contact_id, event_name, event_time, received_at,"
        " order_name) SELECT %s, nextval('receipt_ids'), %s, 'purchase', '2026-05-13 12:00Z',"
        " now(), gen_random_uuid()::text FROM generate_series(1, %s)",
        (stage.space_id, contact_id, events),
    )


def retry_now(stage: Stage) -> None:
    stage.connection.execute(
        "UPDATE exports SET retry_at = now(), leased_until = least(leased_until, now())"
        " WHERE space_id = %s", (stage.space_id,),
    )  # fmt: skip


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*")}


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """Limit files to `limit` bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def claim(exports: Exports) -> ClaimedJob:
    job = jobs.claim_next(exports.connection, exports.storage)
    assert job is not None
    return job


def test_it_works(stage: Stage, exports: Exports, folder: Path) -> None:
    fill(stage, 5000)
    export_id = exports.ask(date=DAY, fields=["order_name"])
    before = files(folder)
    exports.work()
    (file,) = files(folder) - before
    assert len(gzip.decompress((folder / file).read_bytes()).splitlines()) == 5000
    row = stage.connection.execute(
        "SELECT status, attempts, rows_done, file, lease FROM exports"
        " WHERE space_id = %s AND id = %s", (stage.space_id, export_id),
    ).fetchone()  # fmt: skip
    assert row == ("completed", 1, 5000, file, None)


def test_the_message_tells_how_far_it_is(exports: Exports) -> None:
    export_id = exports.ask(date=DAY)
    assert exports.status(export_id)["message"] == "The export is queued."
    job = claim(exports)
    assert exports.status(export_id)["status"] == "processing"
    assert exports.status(export_id)["message"] == "The export is being prepared."
    assert jobs.renew(exports.connection, job, 1200, 5000)
    progress = exports.status(export_id)["message"]
    assert progress == "1200 rows written so far, from 5000 events."
    jobs.put_back(exports.connection, job, "The database was unavailable.")
    progress = exports.status(export_id)
    assert progress["status"] == "queued"
    assert progress["message"].endswith("The database was unavailable.")


def test_equal_exports_are_equal_files(stage: Stage, exports: Exports) -> None:
    fill(stage, 3000)
    contents = []
    for _ in range(2):
        export_id = exports.ask(date=DAY, fields=["order_name"])
        exports.work()
        contents.append(exports.fetch(exports.status(export_id)["download_url"]).content)
    assert contents[0] == contents[1]


def test_a_full_disk_fails_the_job_and_leaves_nothing(stage: Stage, exports: Exports, folder: Path) -> None:
    fill(stage, 20_000)
    export_id = exports.ask(date=DAY, fields=["order_name"])
    before = files(folder)
    for attempt in range(1, jobs.TRIES + 1):
        with small_files(100_000):
            exports.work()
        assert files(folder) == before
        status = exports.status(export_id)
        assert status["status"] == ("queued" if attempt < jobs.TRIES else "failed")
        assert "space left" in status["message"]
        retry_now(stage)
    other_id = exports.ask(date="2030-01-01")  # the other exports go on
    exports.work()
    assert exports.lines(other_id) == []


def test_a_folder_that_cannot_be_used_fails_the_job_and_says_why(
    stage: Stage, exports: Exports, folder: Path
) -> None:
    export_id = exports.ask(date=DAY)
    aside = folder.with_name("exports-aside")
    folder.mkdir(parents=True, exist_ok=True)
    folder.rename(aside)
    folder.write_text("a file in its place")
    reason = "Export files cannot be written ("
    try:
        for attempt in range(1, jobs.TRIES + 1):
            exports.work()
            status = exports.status(export_id)
            assert status["status"] == ("queued" if attempt < jobs.TRIES else "failed")
            assert reason in status["message"]
            retry_now(stage)
    finally:
        folder.unlink()
        aside.rename(folder)
    assert status["message"].startswith(reason)


def test_the_reason_outlives_an_attempt_that_was_killed(stage: Stage, exports: Exports) -> None:
    export_id = exports.ask(date=DAY)
    jobs.put_back(stage.connection, claim(exports), "There is no space left.")
    for _ in range(jobs.TRIES - 1):
        retry_now(stage)
        claim(exports)
    retry_now(stage)
    exports.work()
    status = exports.status(export_id)
    assert (status["status"], status["message"]) == ("failed", "There is no space left.")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "x"), "No space left in the storage of export files."),
        (OSError(errno.EDQUOT, "x"), "No space left in the storage of export files."),
        (OSError(errno.EFBIG, "x"), "No space left in the storage of export files."),
        (PermissionError(errno.EACCES, "Permission denied"),
         "Export files cannot be written (Permission denied)."),
        (psycopg.OperationalError("secret"), "The database was unavailable."),
        (psycopg.errors.DiskFull("secret"), "The database's disk is full."),
        (GenericError("secret"), "The object store refused the file (GenericError)."),
        (ParquetMissingError(), "Parquet needs the package headwater[parquet], which is not installed."),
        (ValueError("secret"), "An internal error (ValueError); see the worker's log."),
    ],
)  # fmt: skip
def test_every_reason_is_told_in_words(error: Exception, message: str) -> None:
    assert explain_failure(error) == message


FAILPOINTS = ("export_before_copy", "export_before_close", "export_before_complete")


@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_a_killed_exporter_leaves_a_job_that_completes(
    stage: Stage, exports: Exports, folder: Path, failpoint: str
) -> None:
    fill(stage, 4000)
    export_id = exports.ask(date=DAY, fields=["order_name"])
    before = files(folder)
    environment = {
        **os.environ, "HEADWATER_FAILPOINT": failpoint, "HEADWATER_DATABASE_URL": exports.url,
        "HEADWATER_DATA_DIR": str(folder.parent),
    }  # fmt: skip
    died = subprocess.run(
        [sys.executable, "-m", "headwater", "exporter"],
        env=environment,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert died.returncode == -signal.SIGKILL
    assert exports.status(export_id)["status"] == "processing"
    exports.work()
    assert exports.status(export_id)["status"] == "processing"  # its lease is still valid
    retry_now(stage)
    exports.work()
    assert len(exports.lines(export_id)) == 4000
    assert len(files(folder) - before) == 1


def test_a_job_of_a_clock_that_was_put_back_is_taken_over(stage: Stage, exports: Exports) -> None:
    export_id = exports.ask(date=DAY)
    claim(exports)
    stage.connection.execute(
        "UPDATE exports SET leased_until = now() + interval '1 hour',"
        " retry_at = now() + interval '1 hour' WHERE space_id = %s", (stage.space_id,),
    )  # fmt: skip
    exports.work()
    assert exports.status(export_id)["status"] == "completed"


def test_a_job_whose_every_try_was_killed_has_failed(stage: Stage, exports: Exports) -> None:
    export_id = exports.ask(date=DAY)
    for _ in range(jobs.TRIES):
        claim(exports)
        retry_now(stage)
    exports.work()
    status = exports.status(export_id)
    assert (status["status"], status["message"]) == ("failed", jobs.EXHAUSTED)


def test_who_lost_the_lease_hands_nothing_over(stage: Stage, exports: Exports) -> None:
    fill(stage, 10)
    export_id = exports.ask(date=DAY)
    slow = claim(exports)
    retry_now(stage)
    exports.work()
    status = exports.status(export_id)
    assert not jobs.renew(exports.connection, slow, 3, 10)
    assert not jobs.complete(exports.connection, slow, [3])
    jobs.put_back(exports.connection, slow, "too late")
    jobs.release(exports.connection, slow)
    with pytest.raises(LeaseLostError):
        ExportAttempt(exports.url, slow).hand_over(exports.connection, [3])
    after = exports.status(export_id)
    assert after["status"] == "completed"
    assert after["completed_at"] == status["completed_at"]
    assert len(exports.lines(export_id)) == 10


def test_a_lost_lease_ends_the_writing(
    stage: Stage, exports: Exports, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    fill(stage, 3000)
    export_id = exports.ask(date=DAY)
    before = files(folder)
    monkeypatch.setattr("headwater.database.jobs.lease.RENEW_SECONDS", 0.0)

    def steal(_: Any) -> None:
        stage.connection.execute(
            "UPDATE exports SET lease = %s WHERE space_id = %s", (uuid4(), stage.space_id)
        )

    monkeypatch.setattr("headwater.exports.worker.failpoint", steal)
    work(exports.connection, exports.storage, exports.url)
    assert exports.status(export_id)["status"] == "processing"
    assert files(folder) == before


def test_a_stop_gives_the_job_back_uncounted(
    stage: Stage, exports: Exports, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headwater.exports import worker  # noqa: PLC0415

    fill(stage, 3000)
    export_id = exports.ask(date=DAY)
    before = files(folder)

    def stop(name: str) -> None:
        if name == "export_before_close":
            raise StopRequested

    with monkeypatch.context() as patch:
        patch.setattr(worker, "failpoint", stop)
        with pytest.raises(StopRequested):
            exports.work()
    assert files(folder) == before
    row = stage.connection.execute(
        "SELECT status, attempts FROM exports WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert row == ("queued", 0)
    exports.work()
    assert len(exports.lines(export_id)) == 3000


def test_files_are_kept_for_seven_days(stage: Stage, exports: Exports, folder: Path) -> None:
    before = files(folder)
    old, young = exports.ask(date=DAY), exports.ask(date=DAY)
    exports.work()
    assert len(files(folder) - before) == 2
    stage.connection.execute(
        "UPDATE exports SET completed_at = now() - interval '7 days 1 second'"
        " WHERE space_id = %s AND id = %s", (stage.space_id, old),
    )  # fmt: skip
    assert stage.space_id in jobs.spaces_to_tidy(exports.connection)
    jobs.tidy(exports.connection, exports.storage, stage.space_id)
    assert stage.space_id not in jobs.spaces_to_tidy(exports.connection)
    assert len(files(folder) - before) == 1
    status = exports.status(old)
    assert (status["status"], status["message"]) == ("failed", jobs.FORGOTTEN)
    assert exports.lines(young) == []


def test_memory_does_not_grow_with_the_file(stage: Stage, exports: Exports) -> None:
    """The bound is generous: the benchmark measures the figure."""
    export_id = exports.ask(date=DAY, fields=["order_name"])
    exports.work()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fill(stage, 100_000)
    export_id = exports.ask(date=DAY, fields=["order_name"])
    exports.work()
    assert exports.status(export_id)["status"] == "completed"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
