"""The last release and the current code work on the current schema at the same time. If both have the same
migrations, they work on the schema of a possible later version.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.base.settings import Settings
from headwater.database import migrator
from headwater.database.jobs.connection import connect
from headwater.database.migrator import Migration
from tests.conftest import API, BASE_URL, client_for, run_application
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import drain
from tests.support.processes import environment, is_ready
from tests.support.releases import former_source
from tests.support.waiting import wait_until

MIGRATIONS = "headwater/database/migrations"
LATER = Migration(
    "9999_later",
    "CREATE TABLE colours (space_id bigint NOT NULL, name text NOT NULL UNIQUE);"
    "ALTER TABLE events ADD COLUMN colour text;"
    "ALTER TABLE contacts ADD COLUMN shade int NOT NULL DEFAULT 0 CHECK (shade >= 0);"
    "CREATE INDEX events_colour ON events (space_id, colour);",
)
DAY = timedelta(days=1)
EVENT = {"event_name": "purchase", "amount": 50, "trk_source": "google_ads"}


@pytest.fixture(scope="module")
def former_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the last release."""
    return former_source(tmp_path_factory.mktemp("former"))


@pytest.fixture(scope="module")
def url(database_url: str, former_sources: Path) -> Iterator[str]:
    """A database with the current schema, or with a later version's."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE two_versions")
        conninfo = make_conninfo(database_url, dbname="two_versions")
        all_migrations = migrator.migrations()
        released_names = {path.name for path in (former_sources / MIGRATIONS).glob("*.sql")}
        with pytest.MonkeyPatch.context() as patch:
            if len(released_names) == len(all_migrations):
                patch.setattr(migrator, "migrations", lambda: [*all_migrations, LATER])
            migrator.migrate(conninfo)
        yield database_url.replace("/headwater?", "/two_versions?")
        server.execute("DROP DATABASE two_versions WITH (FORCE)")


@dataclass
class Former:
    """Processes of the previous version."""

    source: Path
    url: str
    folder: Path

    @contextmanager
    def run(self, *arguments: str) -> Iterator[None]:
        """Run one of its commands during the block."""
        variables = environment(
            PYTHONPATH=str(self.source), HEADWATER_DATABASE_URL=self.url,
            HEADWATER_DATA_DIR=str(self.folder),
        )  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, "-P", "-m", "headwater", *arguments]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=variables)
        try:
            yield
            assert process.poll() is None, (self.folder / "log").read_text()[-3000:]
        finally:
            process.terminate()
            process.wait()


def track(client: httpx.Client, email: str) -> None:
    answer = client.post(f"{API}/events/track", json={**EVENT, "email": email})
    assert answer.status_code == 202, answer.text


def is_processed(stage: Stage) -> bool:
    rows = stage.connection.execute("SELECT FROM inbox WHERE space_id = %s", (stage.space_id,)).fetchall()
    return not rows


def test_it_works(former_sources: Path, url: str, tmp_path: Path) -> None:
    """Each version accepts what the other one processes, and both answer every request."""
    before = Former(former_sources, url, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    now = datetime.now(UTC)
    with ExitStack() as stack, psycopg.connect(url, autocommit=True) as connection:
        today = run_application(Settings(base_url=BASE_URL, data_dir=tmp_path), url)
        stack.callback(today.stop)
        stage = make_stage(connection)
        headers = {"Authorization": f"Bearer {stage.key}"}
        with (
            before.run("api", "--port", str(port)),
            client_for(today, stage.key) as client,
            httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as old,
        ):
            wait_until(lambda: is_ready(str(old.base_url)))
            track(old, "ada@example.com")
            with connect(url) as worker:
                drain(worker)
            assert is_processed(stage)
            answer = client.post("/events/track", json={**EVENT, "email": "bob@example.com"})
            assert answer.status_code == 202
            with before.run("worker"):
                wait_until(lambda: is_processed(stage))
            assert_answers(old)
            period = {"start_date": f"{now - DAY:%F %T}", "end_date": f"{now + DAY:%F %T}"}
            answers = [
                api.get(path, params=period).json()["data"]
                for api, path in ((old, f"{API}/events"), (client, "/events"))
            ]
            assert answers[0] == answers[1]
            assert len(answers[0]) == 2


def assert_answers(client: httpx.Client) -> None:
    """Check that every GET endpoint without an id answers."""
    paths = client.get(f"{API}/openapi.json").json()["paths"]
    readable = [path for path, methods in paths.items() if "get" in methods and "{" not in path]
    assert len(readable) > 10
    period = {"start_date": "2026-01-01", "end_date": "2026-01-31"}
    for path in readable:
        for parameters in ({}, period):
            answer = client.get(path if path.startswith(API) else f"{API}{path}", params=parameters)
            assert answer.status_code < 500, (path, parameters, answer.text)
