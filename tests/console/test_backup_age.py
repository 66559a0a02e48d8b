"""The age of the latest backup: on the Setup page, and in the metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import httpx
import psycopg
import pytest

from headwater.operations.backups.records import OLD
from tests.conftest import Running
from tests.console.conftest import Person

GAUGE = re.compile(r"^headwater_backup_age_seconds (\S+)$", re.MULTILINE)
DAY = timedelta(days=1)


class Records:
    """The record of backups, which the tests share."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection

    def add(self, age: timedelta) -> None:
        self.connection.execute(
            "INSERT INTO backups (id, made_at, finished_at, bytes, name, folder, verified_at)"
            " VALUES (%s, now() - %s, now(), 1, 'b.zip', '/none', now())",
            (uuid4(), age),
        )


@pytest.fixture
def records(connection: psycopg.Connection) -> Iterator[Records]:
    yield Records(connection)
    connection.execute("DELETE FROM backups")


def line(owner: Person, space_id: int) -> str:
    """Return the page's line about backups, without tags."""
    page = owner.browser.get(f"/console/spaces/{space_id}/setup").text
    text = re.sub("<[^>]*>", "", page.partition('id="checklist"')[2].partition("</section>")[0])
    return " ".join(text.partition("Backup")[2].split())


def test_it_works(owner: Person, space_id: int, records: Records) -> None:
    assert line(owner, space_id).startswith("(to do) No backup yet. The operator creates one")
    records.add(OLD + DAY)
    assert "(to do)" in line(owner, space_id)
    assert "more than 7 days ago" in line(owner, space_id)
    records.add(DAY)
    assert line(owner, space_id).startswith("(done) Last one: ")
    assert ", verified." in line(owner, space_id)


def test_it_is_measured(server: Running, records: Records) -> None:
    assert GAUGE.search(httpx.get(f"{server.base_url}/metrics").text) is None
    records.add(2 * DAY)
    records.add(DAY)
    match = GAUGE.search(httpx.get(f"{server.base_url}/metrics").text)
    assert match is not None
    assert 86_400 <= float(match[1]) < 90_000
