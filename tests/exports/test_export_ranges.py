"""Exports of whole ranges, and their files of bounded size."""

from __future__ import annotations

import gzip
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from arro3.io import read_parquet

from headwater.base.storage import Storage
from headwater.exports import jobs
from headwater.exports.formats import part_names
from tests.exports.test_export_jobs import files, fill, retry_now
from tests.support.exports import Exports
from tests.support.factories import NOON, Stage

DAY = "2026-05-13"
RANGE = {"start_date": "2026-05-12 00:00:00", "end_date": "2026-05-13 23:59:59"}


def read(exports: Exports, link: str) -> list[dict[str, Any]]:
    """Return the rows of an NDJSON file."""
    content = exports.fetch(link).content
    return [json.loads(line) for line in gzip.decompress(content).splitlines()]


def test_it_works(stage: Stage, exports: Exports) -> None:
    fill(stage, 2500)
    before = files(exports.storage.folder)
    export_id = exports.ask(whole_range=True, rows_per_file=1000, fields=["order_name"])
    exports.work()
    status = exports.status(export_id)
    assert [file["rows"] for file in status["files"]] == [1000, 1000, 500]
    links = [file["download_url"] for file in status["files"]]
    assert links[0].partition("?")[0] == status["download_url"].partition("?")[0]
    parts = [read(exports, link) for link in links]
    assert [len(rows) for rows in parts] == [1000, 1000, 500]
    ids = [row["id"] for rows in parts for row in rows]
    assert ids == sorted(ids, reverse=True)
    assert len({*ids}) == 2500
    (first,) = stage.connection.execute(
        "SELECT file FROM exports WHERE space_id = %s AND id = %s", (stage.space_id, export_id)
    ).fetchall()
    new_files = files(exports.storage.folder) - before
    assert new_files == {*part_names(first[0], 3)}
    assert f"-0003-{first[0]}" not in links[2]
    stage.connection.execute(
        "UPDATE exports SET completed_at = now() - interval '8 days' WHERE space_id = %s", (stage.space_id,)
    )
    jobs.tidy(exports.connection, exports.storage, stage.space_id)
    assert files(exports.storage.folder) & new_files == set()


def test_a_range_of_events(stage: Stage, exports: Exports) -> None:
    contact_id = stage.contact()
    ids = [stage.event(contact_id, event_time=NOON + timedelta(days=day)) for day in range(-3, 3)]
    assert [row["id"] for row in exports.export(**RANGE)] == [ids[3], ids[2]]
    all_ids = [row["id"] for row in exports.export(whole_range=True)]
    assert all_ids == ids[::-1]
    future = stage.event(contact_id, event_time="2100-01-01 00:00Z")
    assert future not in [row["id"] for row in exports.export(whole_range=True)], "until now"
    assert [row["id"] for row in exports.export(date=DAY, **RANGE)] == [ids[3]], "a day, as ever"


@pytest.mark.parametrize("kind", ["contacts", "companies"])
def test_all_of_a_kind(stage: Stage, exports: Exports, kind: str) -> None:
    make = stage.contact if kind == "contacts" else stage.company
    ids = [make(created_at=NOON - timedelta(days=day * 400)) for day in range(3)]
    assert [row["id"] for row in exports.export(kind, whole_range=True)] == ids
    assert list(exports.refusal(kind, whole_range=True, **RANGE)) == ["start_date", "end_date"]
    assert list(exports.refusal(kind, whole_range=False)) == ["start_date", "end_date"]


def test_files_of_several_formats(stage: Stage, exports: Exports) -> None:
    fill(stage, 1001)
    for body in ({"format": "csv", "compression": "none"}, {"format": "parquet"}):
        export_id = exports.ask(date=DAY, rows_per_file=1000, **body)
        exports.work()
        contents = [exports.fetch(file["download_url"]).content
                 for file in exports.status(export_id)["files"]]  # fmt: skip
        if body["format"] == "csv":
            assert [data.splitlines()[0] for data in contents] == [b"id,event_time_utc"] * 2
            assert [len(data.splitlines()) for data in contents] == [1001, 2]
        else:
            rows = [read_parquet(io.BytesIO(data)).read_all().num_rows for data in contents]
            assert rows == [1000, 1]


def test_one_file_where_none_is_asked_for_even_if_it_is_empty(exports: Exports) -> None:
    export_id = exports.ask(date="2031-01-01", rows_per_file=1000)
    exports.work()
    assert [file["rows"] for file in exports.status(export_id)["files"]] == [0]
    export_id = exports.ask(date="2031-01-01")
    exports.work()
    assert "files" not in exports.status(export_id)


def test_an_attempt_that_was_killed_leaves_none_of_its_files(
    stage: Stage, exports: Exports, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stage, 2500)
    folder: Path = exports.storage.folder
    folder.mkdir(parents=True, exist_ok=True)
    before = files(folder)
    export_id = exports.ask(date=DAY, rows_per_file=1000)
    count = 0

    def fail(name: str) -> None:
        nonlocal count
        count += name == "export_before_close"
        if count == 3:
            raise psycopg.OperationalError

    with monkeypatch.context() as patch:
        patch.setattr("headwater.exports.worker.failpoint", fail)
        patch.setattr(Storage, "discard", lambda *_: True)  # as if it had been killed
        exports.work()
    leftover_files = files(folder) - before
    assert len(leftover_files) == 2
    retry_now(stage)
    exports.work()
    assert len(exports.status(export_id)["files"]) == 3
    assert not files(folder) & leftover_files
