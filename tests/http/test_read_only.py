"""A database that refuses writes, like a standby after a failover: requests fail temporarily, in an orderly
way.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.database.migrator import migrate
from headwater.spaces.keys import SCOPES
from tests.conftest import Running, run_application
from tests.support.spaces import insert_space
from tests.support.waiting import wait_until

KEY = "trk_sk_read_only"
EVENT = {"event_name": "purchase", "email": "ada@example.com"}
RANGE = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}
REQUESTS = [
    ("POST", "/events/track", EVENT),
    ("POST", "/events/batch", {"events": [EVENT]}),
    ("GET", "/events", None),
    ("GET", "/events/1", None),
    ("DELETE", "/events/1", None),
    ("GET", "/contacts", None),
    ("POST", "/contacts", {"emails": ["ada@example.com"]}),
    ("GET", "/companies", None),
    ("GET", "/receipts/1", None),
    ("POST", "/contacts/exports", RANGE),
    ("GET", "/destinations", None),
]


@dataclass
class Standby:
    """The application with its own database, which can be made read-only."""

    running: Running
    url: str
    name: str

    def read_only(self, value: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {self.name} SET default_transaction_read_only = {value}")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def is_ready(self) -> bool:
        return httpx.get(f"{self.running.base_url}/readyz", timeout=10).status_code == 200


@pytest.fixture(scope="module")
def standby(database_url: str) -> Iterator[Standby]:
    name = "standby"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = urlsplit(database_url)._replace(path=f"/{name}").geturl()
    migrate(url)
    with psycopg.connect(url) as connection:
        space_id = insert_space(connection)
        connection.execute(
            "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes)"
            " VALUES (%s, 'test', %s, 'only', %s)",
            (space_id, hashlib.sha256(KEY.encode()).digest(), list(SCOPES)),
        )
    running = run_application(Settings(rate_limit_factor=1000), url)
    yield Standby(running, url, name)
    running.stop()


def test_it_works_before_and_after_and_refuses_meanwhile(
    standby: Standby, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    base = f"{standby.running.base_url}/public-api/v1"
    with httpx.Client(base_url=base, headers=headers, timeout=20) as client:
        assert client.get("/companies", params=RANGE).status_code == 200
        standby.read_only("on")
        wait_until(lambda: client.get("/events/1").status_code == 503)
        caplog.clear()
        with caplog.at_level(logging.INFO):
            for method, path, body in REQUESTS:
                params = RANGE if method == "GET" else None
                answer = client.request(method, path, json=body, params=params)
                assert answer.status_code == 503, (method, path, answer.text)
                assert answer.headers["retry-after"]
                assert answer.headers.get("connection") != "close"
        assert not [record for record in caplog.records if record.exc_info]
        wait_until(lambda: not standby.is_ready())
        standby.read_only("off")
        wait_until(lambda: client.get("/companies", params=RANGE).status_code == 200)
        wait_until(standby.is_ready)
