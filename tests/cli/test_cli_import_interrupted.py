"""`headwater import`, interrupted, killed or run twice: each row of the file is imported once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.cli import main
from headwater.intake.imports import importer as import_run
from tests.cli.test_cli_import import BAD, EVENT, numbered_events
from tests.support.campaigns import campaign_size
from tests.support.factories import make_stage
from tests.support.importing import Importer


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


class Interruption(Exception):
    """Raised in the middle of an import to interrupt it."""


@settings(
    max_examples=campaign_size("HEADWATER_INTERRUPTIONS", 10, 500), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(
    bad=st.lists(st.booleans(), min_size=1, max_size=12),
    chunk=st.integers(1, 5),
    interruptions=st.lists(st.integers(0, 3), max_size=4),
)
def test_interrupted_anywhere_each_row_is_done_once(
    importer: Importer, connection: psycopg.Connection, bad: list[bool], chunk: int, interruptions: list[int]
) -> None:
    importer = importer.importer_for(make_stage(connection))
    rows = [{**(BAD if is_bad else EVENT), "order_id": str(n)} for n, is_bad in enumerate(bad)]
    file = importer.write(f"f-{importer.stage.space_id}.ndjson", *rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_run, "CHUNK", chunk)
        for end in interruptions:
            passed = iter(range(end + 1))

            def fail(_: str, steps: Any = passed) -> None:
                if next(steps, None) is None:
                    raise Interruption

            patch.setattr(import_run, "failpoint", fail)
            arguments = ["--space", str(importer.stage.space_id), str(file)]
            try:
                main(["import", "events", *arguments])
            except Interruption:
                continue
        patch.setattr(import_run, "failpoint", lambda _: None)
        report = importer.run("events", file, status=1 if any(bad) else 0)
    assert (report["rows"], report["refused"]) == (len(bad), sum(bad))
    good = [str(number) for number, is_bad in enumerate(bad) if not is_bad]
    assert [payload["order_id"] for payload in importer.payloads()] == good
    refusal_file = Path(f"{file}.refused.ndjson")
    lines = refusal_file.read_text().splitlines() if any(bad) else []
    assert [json.loads(line)["row"] - 1 for line in lines] == [n for n, is_bad in enumerate(bad) if is_bad]
    assert not Path(f"{refusal_file}.part").exists()


@pytest.mark.parametrize("point", ["import_before_commit", "import_before_finish"])
def test_killed(importer: Importer, point: str) -> None:
    file = importer.write("f.ndjson", *numbered_events(1500), BAD)
    arguments = ["--space", str(importer.stage.space_id), str(file)]
    command = [sys.executable, "-m", "headwater", "import", "events", *arguments]
    process = subprocess.run(
        command, env={**os.environ, "HEADWATER_FAILPOINT": point}, check=False, capture_output=True
    )
    assert process.returncode == -signal.SIGKILL
    report = importer.run("events", file, status=1)
    assert (report["rows"], report["queued"], report["refused"]) == (1501, 1500, 1)
    assert [int(payload["order_id"]) for payload in importer.payloads()] == list(range(1500))
    assert len((importer.folder / "f.ndjson.refused.ndjson").read_text().splitlines()) == 1


def test_an_overtaken_chunk_is_imported_once(importer: Importer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second import finds that the first has imported its chunk."""
    file = importer.write("f.ndjson", *numbered_events(3))

    def overtake(_: str) -> None:
        monkeypatch.setattr(import_run, "failpoint", lambda _: None)
        with psycopg.connect(os.environ["HEADWATER_DATABASE_URL"]) as other_connection:
            other_connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
            other_connection.execute("SET LOCAL lock_timeout = '1ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other_connection.execute("UPDATE imports SET rows_done = 3")

    monkeypatch.setattr(import_run, "failpoint", overtake)
    assert importer.run("events", file)["queued"] == 3
    importer.stage.connection.execute(
        "UPDATE imports SET finished_at = NULL, rows_done = 0 WHERE space_id = %s", (importer.stage.space_id,)
    )
    real = import_run.Import._store

    async def take_over(self: Any, connection: Any, chunk: Any) -> Any:
        importer.stage.connection.execute(
            "UPDATE imports SET rows_done = 2 WHERE space_id = %s", (importer.stage.space_id,)
        )
        return await real(self, connection, chunk)

    monkeypatch.setattr(import_run.Import, "_store", take_over)
    assert "another process is importing this file" in importer.refusal("events", file)
    assert len(importer.waiting()) == 3
