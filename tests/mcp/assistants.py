"""An assistant in a test: a user's token for a Space, and the requests it sends."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

import httpx
import psycopg
from jsonschema_rs import Draft202012Validator

from headwater.assistants.mcp.tools import TOOLS
from tests.conftest import BASE_URL, Running
from tests.support.waiting import PATIENCE_SECONDS

HEADERS = {
    "Host": BASE_URL.partition("//")[2],
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}
BY_NAME = {tool.name: tool for tool in TOOLS}


def initialize(version: str = "2025-11-25") -> dict[str, Any]:
    """Return the first message of a client of the handshake era."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


@dataclass
class Assistant:
    """A client with a user's token."""

    base_url: str
    space_id: int
    user_id: int
    token: str
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=PATIENCE_SECONDS))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    @property
    def url(self) -> str:
        return f"{self.base_url}/mcp/{self.space_id}/public-api"

    def send(self, method: str = "POST", url: str | None = None, **options: Any) -> httpx.Response:
        """Send a request; a header given as None is left out."""
        headers = {**HEADERS, "Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        present_headers = {name: value for name, value in headers.items() if value is not None}
        return self.client.request(method, url or self.url, headers=present_headers, **options)

    def post(self, body: Any, **headers: str | None) -> httpx.Response:
        header_fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send(json=body, headers=header_fields)

    def message(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the server's answer to a request of the protocol."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = self.post(body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        message = self.message(method, params)
        assert "result" in message, message
        return message["result"]

    def result(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return the result of a tool, or its error."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Return a tool's answer, and check it against the tool's schema."""
        result = self.result(name, arguments)
        assert not result.get("isError"), result
        content = result["structuredContent"]
        Draft202012Validator(BY_NAME[name].answer_schema).validate(content)
        return content

    def call_confirmed(self, name: str, /, **arguments: Any) -> Any:
        """Return the answer of a tool that shows what it would delete before it deletes it."""
        preview = self.call(name, **arguments)
        return self.call(name, **arguments, confirm=preview["confirm"])

    def refusal(self, name: str, /, **arguments: Any) -> str:
        """Return a tool's error text when it refuses."""
        result = self.result(name, arguments)
        assert result.get("isError"), result
        assert "structuredContent" not in result
        return result["content"][0]["text"]


def tool_rows(rows: list[dict[str, Any]], zone: str = "UTC") -> list[dict[str, Any]]:
    """Return rows of the API as a tool lists them: without null members, and with each UTC time also in the
    Space's zone.
    """
    return [
        localized({name: value for name, value in row.items() if value is not None}, zone) for row in rows
    ]


def localized(row: dict[str, Any], zone: str = "UTC") -> dict[str, Any]:
    """Return an object of the API with its times in the Space's zone; members named _utc also stay."""
    local = {
        name.removesuffix("_utc"): datetime.fromisoformat(value).astimezone(ZoneInfo(zone)).isoformat()
        for name, value in row.items()
        if isinstance(value, str) and name.endswith(("_utc", "_at"))
    }
    return {**row, **local}


def connect(server: Running, connection: psycopg.Connection, space_id: int, role: str = "owner") -> Assistant:
    """Return an assistant of a new member of the Space."""
    email = f"{secrets.token_hex(6)}@people.example"
    row = connection.execute("INSERT INTO users (email) VALUES (%s) RETURNING id", (email,)).fetchone()
    assert row is not None
    connection.execute(
        "INSERT INTO memberships (space_id, user_id, role) VALUES (%s, %s, %s)", (space_id, row[0], role)
    )
    token = "trk_mcp_" + secrets.token_urlsafe(32)
    connection.execute(
        "INSERT INTO mcp_tokens (space_id, user_id, kind, name, token_hash, hint)"
        " VALUES (%s, %s, 'personal', 'test', %s, %s)",
        (space_id, row[0], hashlib.sha256(token.encode()).digest(), token[-4:]),
    )
    return Assistant(server.base_url, space_id, row[0], token)
