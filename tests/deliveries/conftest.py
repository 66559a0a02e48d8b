"""A Space whose deliveries are sent to a platform of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.deliveries.staging import Sending
from tests.support import factories
from tests.support.fake_platform import FakePlatform


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    """A platform that takes everything unless it is told otherwise."""
    with FakePlatform() as platform:
        yield platform


@pytest.fixture
def sending(connection: psycopg.Connection, database_url: str, platform: FakePlatform) -> Iterator[Sending]:
    """A Space whose destinations are at that platform; nothing of it is due afterwards."""
    # What another test has left waiting is not this one's.
    connection.execute("UPDATE destinations SET status = 'removed'")
    sending = Sending(factories.make_stage(connection), database_url, urls={"meta": platform.url})
    yield sending
    connection.execute("UPDATE destinations SET status = 'removed'")
