"""A Space whose deliveries go to a fake platform."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.deliveries.staging import Sending
from tests.support import factories
from tests.support.fake_platform import FakePlatform


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    """A platform that accepts everything unless scripted otherwise."""
    with FakePlatform() as platform:
        yield platform


@pytest.fixture
def sending(connection: psycopg.Connection, database_url: str, platform: FakePlatform) -> Iterator[Sending]:
    """A Space whose destinations use the fake platform. Destinations are removed at the end, so nothing stays
    due.
    """
    # Don't send deliveries that other tests left waiting.
    connection.execute("UPDATE destinations SET status = 'removed'")
    sending = Sending(factories.make_stage(connection), database_url, urls={"meta": platform.url})
    yield sending
    connection.execute("UPDATE destinations SET status = 'removed'")
