"""Databases and connections that no start accepts, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from headwater.base.failure import Failure
from headwater.cli import main
from headwater.database import suitability
from headwater.database.migrator import migrate

NAME = "unsuitable"


@pytest.fixture(params=["LATIN1", "SQL_ASCII"])
def url(database_url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with another encoding."""
    form = "CREATE DATABASE {} ENCODING {} TEMPLATE template0 LOCALE 'C'"
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(SQL(form).format(Identifier(NAME), request.param))
        yield make_conninfo(database_url, dbname=NAME)
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(NAME)))


def test_another_encoding(url: str) -> None:
    with pytest.raises(Failure, match="UTF8"):
        migrate(url)


def make_read_only(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        name = Identifier(connection.info.dbname)
        connection.execute(SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))


def test_a_database_that_takes_no_writes(young_url: str) -> None:
    make_read_only(young_url)
    with pytest.raises(Failure, match="default_transaction_read_only"):
        migrate(young_url)


@pytest.mark.parametrize(
    "arguments",
    [["space", "create", "--name", "Shop"], ["user", "log-out", "--all"], ["secret-key", "renew"]],
)
def test_a_change_by_a_command_is_refused_with_the_reason(
    young_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], arguments: list[str],
) -> None:  # fmt: skip
    make_read_only(young_url)
    monkeypatch.setenv("HEADWATER_DATABASE_URL", young_url)
    monkeypatch.setenv("HEADWATER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("HEADWATER_SECRET_KEY", "test" * 8)
    monkeypatch.setenv("HEADWATER_FORMER_SECRET_KEY", "past" * 8)
    assert main(arguments) == 2
    assert "default_transaction_read_only" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["migrate", "serve", "api", "worker"])
def test_a_pooler_that_mixes_sessions(
    young_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], command: str,
) -> None:  # fmt: skip
    """Such a pooler gives the session of an idle connection to the next one."""
    migrate(young_url)
    monkeypatch.setenv("HEADWATER_DATABASE_URL", young_url)
    monkeypatch.setenv("HEADWATER_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(suitability, "_fetch_session", lambda _: 4711)
    arguments = ["--port", "0"] if command in {"serve", "api"} else []
    assert main([command, *arguments]) == 2
    assert "pooler" in capsys.readouterr().err
