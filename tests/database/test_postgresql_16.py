"""The oldest supported PostgreSQL, reached by URL: the same schema, the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.database.embedded import Embedded
from headwater.database.jobs.connection import connect
from headwater.database.migrator import migrate
from tests.conftest import UNSAFE, client_for, run_application
from tests.support.old_postgresql import OLDEST
from tests.support.pipeline import drain


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database on the oldest version, in place of the newest one that other tests use."""
    server = Embedded(tmp_path_factory.mktemp("oldest"), OLDEST)
    url = server.start(UNSAFE, tied=True)
    migrate(url)
    yield url
    server.stop()


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection to the oldest version. The other tests' connection is shared by the whole run."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_it_works(
    database_url: str, connection: psycopg.Connection, space_id: int, make_key: Callable[..., str]
) -> None:
    assert connection.info.server_version // 10_000 == 16
    application = run_application(Settings(), database_url)
    events = [
        {"event_name": "sign_up", "trk_token": "t", "trk_source": "google_ads",
         "event_time": "2026-05-01T10:00:00Z"},
        {"event_name": "purchase", "email": "ada@acme.example", "trk_token": "t", "amount": 100,
         "trk_source": "email", "event_time": "2026-05-02T10:00:00Z"},
    ]  # fmt: skip
    period = {
        "start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 00:00:00",
        "event_names": "purchase", "sources": ["google_ads", "email"],
        "fields": ["amount", "source"], "attribution_model": "u_shaped",
        "attribution_window": 30,
    }  # fmt: skip
    with client_for(application, make_key(space_id)) as client:
        assert client.post("/events/batch", json={"events": events}).status_code == 202
        with connect(database_url) as worker:
            drain(worker)
        rows = client.get("/events", params=period).json()["data"]
    application.stop()
    assert [(row["source"], row["amount"]) for row in rows] == [("email", 50), ("google_ads", 50)]
