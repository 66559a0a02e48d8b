"""The stage of the tests of delivery."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.forwarding.fake_platform import FakePlatform
from tests.forwarding.staging import Stage
from tests.support import factories


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    """A platform that takes everything unless it is told otherwise."""
    with FakePlatform() as platform:
        yield platform


@pytest.fixture
def stage(
    connection: psycopg.Connection, database_url: str, platform: FakePlatform
) -> Iterator[Stage]:
    """A Space whose destinations are at that platform; nothing of it is due afterwards."""
    # What another test has left waiting is not this one's.
    connection.execute("UPDATE destinations SET status = 'removed'")
    stage = Stage(factories.make_stage(connection), database_url, urls={"meta": platform.url})
    yield stage
    connection.execute("UPDATE destinations SET status = 'removed'")
