"""A small installation with rows in most tables, which every test here backs up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.cli import main
from headwater.database.embedded import Embedded
from headwater.database.jobs.connection import connect
from headwater.privacy.erasure_job import erase_all
from headwater.spaces.secret_key import key_file, move_to_file
from tests.conftest import UNSAFE
from tests.support.factories import Stage, make_stage
from tests.support.installations import install
from tests.support.people import merge, person
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import drain, event

ADA, BOB = "ada@backup.example", "bob@backup.example"
SECRET_KEY = "k" * 40
Rows = dict[str, list[Any]]


@dataclass(frozen=True)
class Installation:
    """A data directory with a running PostgreSQL, and a Space with people."""

    data_dir: Path
    stage: Stage
    ada: int
    """Merged with `also_ada` after the backup."""
    also_ada: int
    bob: int

    @property
    def connection(self) -> psycopg.Connection:
        return self.stage.connection

    def merge_ada(self) -> None:
        merge(self.stage, self.also_ada, self.ada)

    def process(self, email: str) -> int:
        """Process what waits, and return the contact with this address."""
        with connect(Embedded(self.data_dir).url) as worker:
            drain(worker)
        row = self.connection.execute(
            "SELECT contact_id FROM contact_identifiers WHERE space_id = %s AND value = %s",
            (self.stage.space_id, email),
        ).fetchone()
        assert row is not None
        return row[0]

    def erase(self, contact_id: int) -> None:
        """Request an erasure and carry it out, as the worker does."""
        self.stage._insert(
            "erasures", {"contact_id": contact_id, "receipt_mark": self.stage._next_value("receipt_ids")}
        )
        with connect(Embedded(self.data_dir).url) as worker:
            assert erase_all(worker) == 0


@pytest.fixture(scope="session")
def running_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory, with its server running."""
    data_dir = install(tmp_path_factory.mktemp("installation") / "data")
    server = Embedded(data_dir)
    url = server.start(UNSAFE, tied=True)
    with psycopg.connect(url, autocommit=True) as connection:
        move_to_file(connection, data_dir)
    yield data_dir
    server.stop()


@pytest.fixture
def installation(running_dir: Path) -> Iterator[Installation]:
    """The installation with a new Space for the test."""
    with psycopg.connect(Embedded(running_dir).url, autocommit=True) as connection:
        stage = make_stage(connection)
        other_ada, ada, bob = (person(stage, address) for address in (f"a.{ADA}", ADA, BOB))
        ada, other_ada = min(ada, other_ada), max(ada, other_ada)
        for contact_id in (ada, other_ada, bob):
            stage.touchpoint(contact_id, "google_ads", campaign_name="Spring")
            stage.event(contact_id, amount=49.9)
        stage.export("contacts", "Oops")
        stage.add_delivery(stage.destination(secrets=b"sealed"), stage.event(bob))
        queue = Queue(connection, stage.space_id)
        queue.put(event(email="new@backup.example", trk_token="token"))
        with connect(Embedded(running_dir).url) as worker:
            drain(worker)
        queue.put(event(email="waits@backup.example"))
        connection.execute("DELETE FROM backups")
        yield Installation(running_dir, stage, ada, other_ada, bob)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for backups."""
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """A function that runs a command successfully and returns its JSON output."""

    def run(*arguments: str | Path, code: int = 0) -> Any:
        capsys.readouterr()
        assert main([*map(str, arguments), "--json"]) == code, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that runs a failing command and returns the reason."""

    def refusal(*arguments: str | Path) -> str:
        capsys.readouterr()
        assert main([*map(str, arguments)]) == 2
        return capsys.readouterr().err

    return refusal


@pytest.fixture
def start_restored() -> Iterator[Callable[[Path], psycopg.Connection]]:
    """A function that starts a restored data directory's PostgreSQL and connects to it."""
    servers: list[Embedded] = []
    connections: list[psycopg.Connection] = []

    def start(data_dir: Path) -> psycopg.Connection:
        servers.append(Embedded(data_dir))
        url = servers[-1].start(UNSAFE, tied=True)
        connections.append(psycopg.connect(url, autocommit=True))
        return connections[-1]

    yield start
    for connection in connections:
        connection.close()
    for server in servers:
        server.stop()
        shutil.rmtree(server.root)


@dataclass(frozen=True)
class Databases:
    """The installation's database, and an empty one on the same server."""

    installed_url: str
    empty: str
    use: Callable[[str], None]
    """Selects the database that commands use."""

    def empty_rows(self) -> Rows:
        with psycopg.connect(self.empty) as connection:
            return all_rows(connection)

    def empty_emails(self, *contact_ids: int) -> list[str | None]:
        with psycopg.connect(self.empty) as connection:
            return emails(connection, *contact_ids)


@pytest.fixture
def databases(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Iterator[Databases]:
    """Both databases. The secret key is in the installation's database, which commands use first."""
    url = Embedded(installation.data_dir).url
    installation.connection.execute("CREATE DATABASE empty")
    installation.connection.execute("UPDATE installation SET secret_key = %s", (SECRET_KEY,))
    use = partial(monkeypatch.setenv, "HEADWATER_DATABASE_URL")
    use(url)
    yield Databases(url, url.replace("@/headwater?", "@/empty?"), use)
    installation.connection.execute("UPDATE installation SET secret_key = NULL")
    installation.connection.execute("DROP DATABASE empty WITH (FORCE)")


def all_rows(connection: psycopg.Connection) -> Rows:
    """Return every row of every table in a backup, in the tables' own order. The era of revisions is left
    out, because a restore draws a new one.
    """
    tables = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relkind = 'r' AND relpersistence = 'p' ORDER BY relname"
    ).fetchall()
    return {
        table: [
            row
            for (row,) in connection.execute(
                SQL("SELECT to_jsonb(t) - 'era' FROM {} t ORDER BY 1::text").format(Identifier(table))
            )
        ]
        for (table,) in tables
    }


def emails(connection: psycopg.Connection, *contact_ids: int) -> list[str | None]:
    """Return the contacts' e-mail addresses, in the order of the ids."""
    rows = connection.execute(
        "SELECT id, email FROM contacts WHERE id = ANY(%s)", (list(contact_ids),)
    ).fetchall()
    return [dict(rows)[contact_id] for contact_id in contact_ids]


__all__ = ["key_file"]
