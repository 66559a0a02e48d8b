"""The stage of every test: a real PostgreSQL, the real application on a real port.

A test gets a Space of its own instead of an empty database: isolation by Space is what the
product promises, so the tests live on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headwater.database.embedded import Embedded
from headwater.database.migrate import migrate


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A migrated database. Durability is off, as no test of this server outlives a crash."""
    data: Path = tmp_path_factory.mktemp("headwater")
    server = Embedded(data)
    url = server.start({"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"})
    migrate(url)
    yield url
    server.stop()


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection in autocommit, for looking behind the API."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def space_id(connection: psycopg.Connection) -> int:
    """A new, empty Space."""
    row = connection.execute("INSERT INTO spaces (name) VALUES ('Test') RETURNING id").fetchone()
    assert row is not None
    return row[0]


# Fixtures of their own, shared by several files.
pytest_plugins = ["tests.reading_fixtures"]
