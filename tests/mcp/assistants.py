"""An assistant in a test: a user's token for a Space, and how it asks."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg

from tests.conftest import BASE_URL, Running

HEADERS = {
    "Host": BASE_URL.partition("//")[2],
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


@dataclass
class Assistant:
    """Who asks."""

    base_url: str
    space_id: int
    token: str

    def post(self, body: Any, **headers: str) -> httpx.Response:
        url = f"{self.base_url}/mcp/{self.space_id}/public-api"
        given = {**HEADERS, "Authorization": f"Bearer {self.token}", **headers}
        return httpx.post(url, json=body, headers=given, timeout=20)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = self.post(body)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def call(self, name: str, **arguments: Any) -> Any:
        """A tool's answer, which must be one."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def refused(self, name: str, **arguments: Any) -> str:
        """What a tool says when it refuses."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert result["isError"], result
        return result["content"][0]["text"]


def connect(
    server: Running, connection: psycopg.Connection, space_id: int, role: str = "owner"
) -> Assistant:
    """An assistant of a new member of the Space."""
    email = f"{secrets.token_hex(6)}@people.example"
    row = connection.execute(
        "INSERT INTO users (email) VALUES (%s) RETURNING id", (email,)
    ).fetchone()
    assert row is not None
    connection.execute(
        "INSERT INTO memberships (space_id, user_id, role) VALUES (%s, %s, %s)",
        (space_id, row[0], role),
    )
    token = "trk_mcp_" + secrets.token_urlsafe(32)
    connection.execute(
        "INSERT INTO mcp_tokens (space_id, user_id, kind, name, token_hash, hint)"
        " VALUES (%s, %s, 'personal', 'test', %s, %s)",
        (space_id, row[0], hashlib.sha256(token.encode()).digest(), token[-4:]),
    )
    return Assistant(server.base_url, space_id, token)
