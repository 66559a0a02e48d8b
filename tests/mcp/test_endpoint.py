"""The MCP resource over HTTP: who is let in, and both eras of the protocol."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Running
from tests.mcp.assistants import Assistant, connect


@pytest.fixture
def assistant(server: Running, connection: psycopg.Connection, space_id: int) -> Assistant:
    return connect(server, connection, space_id)


def test_it_works(assistant: Assistant, space_id: int) -> None:
    tools = assistant.ask("tools/list")["tools"]
    assert "get_space" in [tool["name"] for tool in tools]
    answer = assistant.call("get_space")
    assert answer["id"] == space_id
