"""The fixtures of the tests that compare reports with the model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import AsyncConnection

from tests.reports.court import Court


@pytest.fixture
def court(connection: psycopg.Connection, database_url: str) -> Iterator[Court]:
    with asyncio.Runner() as runner:
        reader = runner.run(AsyncConnection.connect(database_url))
        yield Court(connection, runner, reader)
        runner.run(reader.close())
