"""Messages of both eras of the protocol: their headers, methods and versions."""

from __future__ import annotations

import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import httpx

from tests.mcp.assistants import HEADERS, Assistant, initialize
from tests.support.waiting import PATIENCE_SECONDS


def test_header_values_may_have_blanks_around_them(assistant: Assistant) -> None:
    """HTTP trims them (RFC 9110 §5.5), and the protocol compares the value with the body."""
    body = json.dumps(modern_message("tools/call", {"name": "get_space", "arguments": {}}))
    headers = {**HEADERS, **MODERN, "Authorization": f"Bearer {assistant.token}",
               "Content-Type": "application/json", "Mcp-Method": "tools/call",
               "Mcp-Name": "  get_space \t "}  # fmt: skip
    connection = HTTPConnection(assistant.base_url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    with closing(connection):
        connection.request("POST", f"/mcp/{assistant.space_id}/public-api", body, headers)
        reply = json.loads(connection.getresponse().read())
    assert reply["result"]["structuredContent"]["id"] == assistant.space_id


MODERN = {"MCP-Protocol-Version": "2026-07-28"}


def modern_message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a message of the era without sessions."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def modern(assistant: Assistant, method: str, params: dict[str, Any], **headers: str) -> httpx.Response:
    """Send a request of that era."""
    body = modern_message(method, params)
    return assistant.send(json=body, headers={**MODERN, "Mcp-Method": method, **headers})


def test_headers_that_belie_the_body_are_refused(assistant: Assistant) -> None:
    call = {"name": "get_space", "arguments": {}}
    answer = modern(assistant, "tools/call", call, **{"Mcp-Name": "delete_event"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32020


def test_methods_there_are_not(assistant: Assistant) -> None:
    assert modern(assistant, "x", {}).json()["error"]["code"] == -32601
    assert assistant.message("x")["error"]["code"] == -32601
    listen = modern(assistant, "subscriptions/listen", {"notifications": {}})
    assert listen.json()["error"]["code"] == -32601


def test_versions_of_the_handshake(assistant: Assistant) -> None:
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        result = assistant.post(initialize(version)).json()["result"]
        assert result["protocolVersion"] == version
        assert result["serverInfo"] == {"name": "Headwater Conversion Tracking", "version": "2.3.0"}
        assert result["capabilities"].keys() == {"tools", "resources", "prompts"}
    unknown = assistant.post(initialize("1999-01-01")).json()["result"]
    assert unknown["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" not in assistant.post(initialize()).headers


def test_a_notification_is_taken_without_an_answer(assistant: Assistant) -> None:
    answer = assistant.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")
