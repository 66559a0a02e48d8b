"""Assistants of the test's Space: an owner's and a viewer's."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Running
from tests.mcp.assistants import Assistant, connect
from tests.support.factories import Stage


@pytest.fixture
def assistant(server: Running, connection: psycopg.Connection, stage: Stage) -> Iterator[Assistant]:
    with connect(server, connection, stage.space_id) as assistant:
        yield assistant


@pytest.fixture
def viewer(server: Running, connection: psycopg.Connection, stage: Stage) -> Iterator[Assistant]:
    with connect(server, connection, stage.space_id, "viewer") as assistant:
        yield assistant
