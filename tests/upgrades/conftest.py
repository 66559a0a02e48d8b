"""An installation on the package's other PostgreSQL, the oldest supported version."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.database.embedded import Embedded
from headwater.database.jobs.connection import connect
from headwater.database.migrator import migrate
from headwater.database.programs import Programs
from headwater.privacy.erasure_job import erase_all
from tests.backups.conftest import all_rows
from tests.conftest import UNSAFE
from tests.support.directories import copy_with_owners
from tests.support.factories import make_stage
from tests.support.old_postgresql import OLDEST
from tests.support.people import person
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import drain, event


@dataclass(frozen=True)
class Installation:
    """A data directory of the old major version. Its PostgreSQL isn't running."""

    data_dir: Path
    contents: dict[str, Any]
    """Its rows, and everything else that must be there afterwards."""


@contextmanager
def serve_data(data_dir: Path, programs: Programs | None = None) -> Iterator[psycopg.Connection]:
    """Start a data directory's PostgreSQL and connect to it."""
    server = Embedded(data_dir, programs)
    try:
        url = server.start(UNSAFE, tied=True)
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection
    finally:
        server.stop()


def read(connection: psycopg.Connection) -> dict[str, Any]:
    """Return all rows, the rows that a session confined to each Space sees, the next ids, and so on."""
    contents: dict[str, Any] = dict(all_rows(connection))
    spaces = connection.execute("SELECT id FROM spaces ORDER BY id").fetchall()
    for (space_id,) in spaces:
        with connection.transaction(force_rollback=True):
            connection.execute("SELECT set_config('headwater.space_id', %s::text, true)", (space_id,))
            connection.execute("SET LOCAL ROLE headwater_space")
            contents[f"confined to {space_id}"] = connection.execute("SELECT count(*) FROM events").fetchone()
    contents["sequences"] = connection.execute(
        "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1"
    ).fetchall()
    contents["nearest"] = connection.execute("SELECT v <-> '[1,2]' FROM extra.places").fetchall()
    return contents


@pytest.fixture(scope="session")
def crashed_installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A crashed installation with people in two Spaces: one person is erased, another is about to be. It has
    an extension and an operator's setting.
    """
    data_dir = tmp_path_factory.mktemp("sixteen") / "data"
    server = Embedded(data_dir, OLDEST)
    url = server.start(UNSAFE, tied=True)
    assert server.pid is not None
    migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("ada", "bob"):
            stage = make_stage(connection)
            contact_ids = [person(stage, f"{name}{number}@old.example") for number in range(3)]
            for contact_id in contact_ids:
                stage.touchpoint(contact_id, "google_ads", campaign_name="Spring")
                stage.event(contact_id, amount=49.9)
            queue = Queue(connection, stage.space_id)
            queue.put(event(email=f"new-{name}@old.example"))
            mark = stage._next_value("receipt_ids")
            stage._insert("erasures", {"contact_id": contact_ids[0], "receipt_mark": mark})
            with connect(url) as worker:
                drain(worker)
                if name == "ada":
                    erase_all(worker)
            queue.put(event(email=f"waits-{name}@old.example"))
        connection.execute("CREATE SCHEMA extra")
        connection.execute("CREATE EXTENSION vector SCHEMA extra")
        connection.execute("CREATE TABLE extra.places (v extra.vector(2))")
        connection.execute("INSERT INTO extra.places VALUES ('[3,4]')")
        connection.execute("ALTER DATABASE headwater SET search_path = public, extra")
        connection.execute("ALTER SYSTEM SET work_mem = '17MB'")
    with psycopg.connect(url, autocommit=True) as connection:
        holds = read(connection)
        connection.execute("CHECKPOINT")  # sequences skip values that are logged after it
    os.kill(server.pid, signal.SIGQUIT)
    server.stop()
    return Installation(data_dir, holds)


@pytest.fixture
def old_installation(crashed_installation: Installation, tmp_path: Path) -> Installation:
    """A copy of the installation."""
    copy_with_owners(crashed_installation.data_dir, tmp_path / "data")
    return Installation(tmp_path / "data", crashed_installation.contents)


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[int], Path]:
    """A function that makes a data directory with nothing but a version."""

    def make(major: int) -> Path:
        cluster = tmp_path / "shell" / "postgresql"
        cluster.mkdir(parents=True)
        (cluster / "PG_VERSION").write_text(f"{major}\n")
        return cluster.parent

    return make
