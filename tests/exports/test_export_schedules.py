"""Scheduled exports: their settings, the days of a run, the files in their folders."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from arro3.io import read_parquet
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.storage import LocalFolder
from headwater.exports import jobs, worker
from headwater.exports.schedule_days import DAY, Cadence, ScheduleDays, next_run
from headwater.exports.schedules import REMOVED, due_spaces, queue_runs
from headwater.privacy.erasure_job import erase_next
from tests.exports.test_export_jobs import small_files
from tests.support.exports import Exports
from tests.support.factories import Stage

NOW = datetime.now(UTC)
TODAY = NOW.date()
YESTERDAY = TODAY - DAY
PLAIN = {"compression": "none"}


def schedule(exports: Exports, **body: Any) -> dict[str, Any]:
    response = exports.api.send("POST", "/exports/schedules", json=body)
    assert response.status_code == 201, response.text
    return response.json()


def run(stage: Stage, exports: Exports) -> None:
    """Make the schedules due, and work until no export is waiting."""
    stage.connection.execute(
        "UPDATE export_schedules SET next_at = now() - interval '1 second' WHERE space_id = %s",
        (stage.space_id,),
    )
    assert stage.space_id in due_spaces(stage.connection)
    assert queue_runs(stage.connection, stage.space_id)
    stage.connection.execute("UPDATE exports SET retry_at = now() WHERE space_id = %s", (stage.space_id,))
    exports.work()


def runs(exports: Exports, schedule_id: int) -> list[dict[str, Any]]:
    response = exports.api.get(f"/exports/schedules/{schedule_id}/runs")
    assert response.status_code == 200, response.text
    return response.json()["data"]


def ids(folder: Path) -> list[int]:
    """Return the ids in a folder's files, file by file."""
    return [
        json.loads(line)["id"]
        for path in sorted(folder.glob("part-*.ndjson"))
        for line in path.read_text().splitlines()
    ]


def run_until_failed(stage: Stage, exports: Exports, most_bytes: int = 10) -> None:
    """Run the schedules with too little room for their files."""
    with small_files(most_bytes):
        run(stage, exports)
        for _ in range(jobs.TRIES):
            stage.connection.execute(
                "UPDATE exports SET retry_at = now() WHERE space_id = %s", (stage.space_id,)
            )
            exports.work()


def moment(day: date, hour: int = 12) -> datetime:
    return datetime(day.year, day.month, day.day, hour, tzinfo=UTC)


def test_it_works(stage: Stage, exports: Exports) -> None:
    contact_id = stage.contact()
    first, second = (stage.event(contact_id, event_time=moment(TODAY - DAY * back)) for back in (2, 1))
    export_schedule = schedule(
        exports, table="events", start_date=f"{TODAY - DAY * 2}", fields=["amount"], **PLAIN
    )
    folder = f"space={stage.space_id}/events"
    assert export_schedule["folder"] == folder
    assert (export_schedule["cadence"], export_schedule["format"], export_schedule["rewritten_days"]) == (
        "daily",
        "ndjson",
        2,
    )
    assert (export_schedule["waiting"], export_schedule["failed"], export_schedule["completed_at"]) == (
        0,
        0,
        None,
    )
    run(stage, exports)
    root = exports.storage.folder
    assert ids(root / folder / f"date={TODAY - DAY * 2}") == [first]
    assert ids(root / folder / f"date={YESTERDAY}") == [second]
    run_rows = runs(exports, export_schedule["id"])
    assert [(row["folder"], row["status"], row["rows"], row["files"]) for row in run_rows] == [
        (f"{folder}/date={day}", "completed", 1, 1) for day in (YESTERDAY, TODAY - DAY * 2)
    ]
    (now,) = exports.api.get("/exports/schedules").json()["data"]
    assert now["completed_at"] is not None
    assert now["next_run_at"] > f"{NOW:%Y-%m-%dT%H:%M}"
    late = stage.event(contact_id, event_time=moment(YESTERDAY, 13))
    run(stage, exports)
    assert ids(root / folder / f"date={YESTERDAY}") == [late, second], "what came late is there"
    assert len(runs(exports, export_schedule["id"])) == 2, "a folder has one row"
    jobs.tidy(exports.connection, exports.storage, stage.space_id)
    assert ids(root / folder / f"date={YESTERDAY}") == [late, second], "and the files stay"


def test_old_days_are_written_again_on_request(stage: Stage, exports: Exports) -> None:
    contact_id = stage.contact()
    old = TODAY - DAY * 10
    export_schedule = schedule(
        exports, table="events", start_date=f"{old}", rewritten_days=0, cadence="hourly", **PLAIN
    )
    run(stage, exports)
    assert len(runs(exports, export_schedule["id"])) == 11, "hourly files have the present day as well"
    event_id = stage.event(contact_id, event_time=moment(old))
    run(stage, exports)
    folder = exports.storage.folder / export_schedule["folder"] / f"date={old}"
    assert ids(folder) == []
    path = f"/exports/schedules/{export_schedule['id']}/runs"
    days = {"start_date": f"{old - DAY}", "end_date": f"{old + DAY}"}
    response = exports.api.send("POST", path, json=days)
    assert (response.status_code, response.json()) == (
        202, {"message": "2 folders will be written again."},
    )  # fmt: skip
    exports.work()
    assert ids(folder) == [event_id]


def test_every_day_is_written_again_in_another_time_zone(stage: Stage, exports: Exports) -> None:
    """No event is in two folders or in none, although days begin at other times."""
    contact_id = stage.contact()
    times = [moment(TODAY - DAY * back, hour) for back in (4, 3, 2) for hour in range(0, 24, 2)]
    events = [stage.event(contact_id, event_time=event_time) for event_time in times]
    export_schedule = schedule(
        exports, table="events", start_date=f"{TODAY - DAY * 8}", rewritten_days=0, **PLAIN
    )
    folder = exports.storage.folder / export_schedule["folder"]
    run(stage, exports)
    for zone in ("America/New_York", "Asia/Kolkata"):
        stage.connection.execute("UPDATE spaces SET timezone = %s WHERE id = %s", (zone, stage.space_id))
        run(stage, exports)
        assert {event_id: path.name for path in folder.glob("date=*") for event_id in ids(path)} == {
            event_id: f"date={event_time.astimezone(ZoneInfo(zone)).date()}"
            for event_id, event_time in zip(events, times, strict=True)
        }
        assert sum(row["rows"] for row in runs(exports, export_schedule["id"])) == len(events)


def test_days_of_more_than_a_week_ago_are_not_tidied_away_while_they_are_written(
    stage: Stage, exports: Exports, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact_id = stage.contact()
    export_schedule = schedule(exports, table="events", start_date=f"{YESTERDAY}", **PLAIN)
    run(stage, exports)
    stage.connection.execute(
        "UPDATE exports SET completed_at = now() - interval '8 days' WHERE space_id = %s", (stage.space_id,)
    )
    event_id = stage.event(contact_id, event_time=moment(YESTERDAY))

    def tidy(name: str) -> None:
        if name == "export_before_close":
            jobs.tidy(exports.connection, exports.storage, stage.space_id)

    monkeypatch.setattr(worker, "failpoint", tidy)
    run(stage, exports)
    folder = exports.storage.folder / export_schedule["folder"] / f"date={YESTERDAY}"
    assert ids(folder) == [event_id]
    assert runs(exports, export_schedule["id"])[0]["status"] == "completed"


def test_a_failed_run_that_is_queued_again_while_its_files_are_removed_stays_queued(
    stage: Stage, exports: Exports
) -> None:
    schedule(exports, table="contacts")
    with small_files(1):
        stage.contact(email="a@acme.com")
        run(stage, exports)
    stage.connection.execute("UPDATE exports SET status = 'failed' WHERE space_id = %s", (stage.space_id,))

    class QueueingStorage(LocalFolder):
        def discard(self, names: Iterable[str]) -> bool:
            stage.connection.execute(
                "UPDATE exports SET status = 'queued' WHERE space_id = %s", (stage.space_id,)
            )
            return super().discard(names)

    jobs.tidy(exports.connection, QueueingStorage(exports.storage.folder), stage.space_id)
    row = stage.connection.execute(
        "SELECT status FROM exports WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert row == ("queued",)


def test_fewer_files_than_before_leave_none_behind(stage: Stage, exports: Exports) -> None:
    contact_id = stage.contact()
    for _ in range(1001):
        stage.event(contact_id, event_time=moment(YESTERDAY))
    export_schedule = schedule(
        exports, table="events", start_date=f"{YESTERDAY}", rows_per_file=1000, name="all_of_it",
        format="parquet",
    )  # fmt: skip
    run(stage, exports)
    folder = exports.storage.folder / f"space={stage.space_id}" / "all_of_it" / f"date={YESTERDAY}"
    files = [folder / f"part-000{number}.parquet" for number in (1, 2)]
    assert [read_parquet(path).read_all().num_rows for path in files] == [1000, 1]
    stage.connection.execute(
        "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE space_id = %s LIMIT 1)",
        (stage.space_id,),
    )
    run(stage, exports)
    assert sorted(folder.iterdir()) == files[:1]
    assert runs(exports, export_schedule["id"])[0]["files"] == 1


def test_an_interrupted_run_leaves_no_files_that_the_next_does_not_write(
    stage: Stage, exports: Exports, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact_id = stage.contact()
    for _ in range(1001):
        stage.event(contact_id, event_time=moment(YESTERDAY))
    schedule(exports, table="events", start_date=f"{YESTERDAY}", rows_per_file=1000, **PLAIN)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "lost")

    with monkeypatch.context() as patch:
        patch.setattr(worker.ExportAttempt, "hand_over", fail)
        run(stage, exports)
    folder = exports.storage.folder / f"space={stage.space_id}" / "events" / f"date={YESTERDAY}"
    assert len(ids(folder)) == 1001
    stage.connection.execute(
        "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE space_id = %s LIMIT 2)",
        (stage.space_id,),
    )
    run(stage, exports)
    assert len(ids(folder)) == 999
    assert [path.name for path in folder.iterdir()] == ["part-0001.ndjson"]


@pytest.mark.parametrize("fails", [False, True])
def test_contacts_are_written_whole_and_again_without_who_was_erased(
    stage: Stage, exports: Exports, *, fails: bool
) -> None:
    """Also if a run since then has failed, and left the files as they were."""
    erased_id, stays = stage.contact(email="gone@acme.com"), stage.contact(email="stays@acme.com")
    stage.identifier(erased_id, "email", "gone@acme.com")
    export_schedule = schedule(exports, table="contacts", include_trk_tokens=True)
    run(stage, exports)
    path = exports.storage.folder / export_schedule["folder"] / "part-0001.ndjson.gz"
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert {row["id"]: row["email"] for row in rows} == {
        erased_id: "gone@acme.com", stays: "stays@acme.com",
    }  # fmt: skip
    assert all("trk_tokens" in row for row in rows)
    if fails:
        run_until_failed(stage, exports)
        assert b"gone@acme.com" in gzip.decompress(path.read_bytes())
    assert exports.api.send("DELETE", f"/contacts/{erased_id}/pii").status_code == 202
    while erase_next(stage.connection, stage.space_id):
        pass
    exports.work()
    assert b"gone@acme.com" not in gzip.decompress(path.read_bytes())
    assert runs(exports, export_schedule["id"])[0]["status"] == "completed"


def test_one_that_is_removed_makes_no_more_files(stage: Stage, exports: Exports) -> None:
    export_schedule = schedule(exports, table="companies", **PLAIN)
    run(stage, exports)
    path = exports.storage.folder / export_schedule["folder"] / "part-0001.ndjson"
    assert path.read_text() == ""
    days = {"start_date": f"{TODAY}", "end_date": f"{TODAY}"}
    response = exports.api.send("POST", f"/exports/schedules/{export_schedule['id']}/runs", json=days)
    assert response.json() == {"message": "1 folder will be written again."}
    for status in (200, 404):
        deletion = exports.api.send("DELETE", f"/exports/schedules/{export_schedule['id']}")
        assert deletion.status_code == status
    assert exports.work() == 0
    assert path.exists()
    row = stage.connection.execute(
        "SELECT error FROM exports WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert row == (REMOVED,)
    assert exports.api.get("/exports/schedules").json() == {"data": []}


def test_its_runs_are_no_exports_of_the_api(stage: Stage, exports: Exports) -> None:
    schedule(exports, table="companies")
    run(stage, exports)
    row = stage.connection.execute("SELECT id FROM exports WHERE space_id = %s", (stage.space_id,)).fetchone()
    assert row is not None
    assert exports.api.get(f"/companies/exports/{row[0]}").status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "table"),
        ({"table": "orders"}, "table"),
        ({"table": "events", "name": "../up"}, "name"),
        ({"table": "events", "name": "A"}, "name"),
        ({"table": "events", "name": "x" * 41}, "name"),
        ({"table": "events", "cadence": "weekly"}, "cadence"),
        ({"table": "events", "start_date": "2100-01-01"}, "start_date"),
        ({"table": "events", "start_date": "1990-01-01"}, "start_date"),
        ({"table": "events", "start_date": "soon"}, "start_date"),
        ({"table": "events", "rewritten_days": 32}, "rewritten_days"),
        ({"table": "events", "fields": ["nonsense"]}, "fields"),
        ({"table": "events", "fields": ["campaign_id"]}, "fields"),
        ({"table": "contacts", "include_trk_tokens": "often"}, "include_trk_tokens"),
        ({"table": "events", "include_trk_tokens": True}, "include_trk_tokens"),
        ({"table": "companies", "fields": ["amount"]}, "fields"),
        ({"table": "events", "format": "parquet", "compression": "gzip"}, "compression"),
    ],
)
def test_bad_schedules_are_refused(exports: Exports, body: dict[str, Any], field: str) -> None:
    response = exports.api.send("POST", "/exports/schedules", json=body)
    assert response.status_code == 422, response.text
    assert list(response.json()["errors"]) == [field]


def test_names_differ_and_there_is_an_end_to_them(stage: Stage, exports: Exports) -> None:
    schedule(exports, table="events")
    for body in ({"table": "events"}, {"table": "contacts", "name": "events"}):
        response = exports.api.send("POST", "/exports/schedules", json=body)
        assert list(response.json()["errors"]) == ["name"]
    for number in range(19):
        stage.export_schedule(f"n{number}")
    response = exports.api.send("POST", "/exports/schedules", json={"table": "contacts"})
    assert "there are 20" in response.json()["errors"]["table"][0]


@pytest.mark.parametrize("body", [
    {}, {"start_date": "2026-05-02", "end_date": "2026-05-01"}, {"start_date": "2026-05-02"},
    {"start_date": "1900-01-01", "end_date": "2026-05-01"},
])  # fmt: skip
def test_days_to_write_again_are_days(exports: Exports, body: dict[str, str]) -> None:
    export_schedule = schedule(exports, table="events")
    response = exports.api.send("POST", f"/exports/schedules/{export_schedule['id']}/runs", json=body)
    assert response.status_code == 422


ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/Santiago", "Pacific/Apia"]).map(ZoneInfo)
MOMENTS = st.datetimes(datetime(2011, 12, 1), datetime(2012, 1, 30), timezones=st.just(UTC))  # noqa: DTZ001


@given(
    zone=ZONES, start=MOMENTS, cadence=st.sampled_from(get_args(Cadence)),
    pauses=st.lists(st.integers(0, 100), min_size=1, max_size=12), rewritten_days=st.integers(0, 3),
)  # fmt: skip
def test_every_day_is_written_when_it_is_over(
    zone: ZoneInfo, start: datetime, cadence: Cadence, pauses: list[int], rewritten_days: int
) -> None:
    """However late the runs are, no day is missed, and every day is exported in full once it has ended."""
    first = start.astimezone(zone).date()
    days, written_days, now = ScheduleDays(cadence, first, first, rewritten_days), set[date](), start
    for pause in pauses:
        now = next_run(cadence, now, zone) + timedelta(hours=pause)
        today = now.astimezone(zone).date()
        run_days = days.to_write(now, zone)
        assert all(first <= day <= today for day in run_days)
        assert run_days == sorted(set(run_days))
        last = days.last_day(now, zone)
        due_days = {last - DAY * back for back in range(rewritten_days + 1)}
        assert {day for day in due_days if day >= first} <= set(run_days)
        written_days |= {day for day in run_days if day < today}
        days = ScheduleDays(cadence, first, days.next_day_after(now, zone), rewritten_days)
        over = {first + DAY * n for n in range((today - first).days)}
        assert written_days == over
