"""Other projects' clients call tools with a personal token."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conformance.node import Node
from tests.mcp.assistants import Assistant
from tests.mcp.test_tools import NAMES

CALLING = Path(__file__).with_name("calling.mjs")
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def test_it_works(node: Node, local_assistant: Assistant) -> None:
    """The TypeScript SDK, its old and its new generation, in both eras."""
    result = node.run(CALLING, local_assistant.url, local_assistant.token)
    assert result.returncode == 0, result.stderr
    answers = json.loads(result.stdout)
    assert list(answers) == ["old", "legacy", "auto", "pinned"]
    for answer in answers.values():
        assert answer == {
            "tools": len(NAMES), "space": local_assistant.space_id, "wrong": True, "prompts": 3,
            "columns": ["source", "credited_revenue", "credited_conversions"],
            "resource": local_assistant.space_id, "role": "user",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("space", "token", "message"),
    [(1, "{token}", "another Space|HTTP 403"), (0, "trk_mcp_x", "invalid access token|HTTP 401")],
)
def test_what_fails_says_why(
    node: Node, local_assistant: Assistant, space: int, token: str, message: str
) -> None:
    url = f"{local_assistant.base_url}/mcp/{local_assistant.space_id + space}/public-api"
    answers = json.loads(node.run(CALLING, url, token.format(token=local_assistant.token)).stdout)
    assert len(answers) == 4
    for answer in answers.values():
        assert re.search(message, answer["failed"])


def inspect(node: Node, assistant: Assistant, *arguments: str) -> tuple[int, str, str]:
    result = node.run(
        node.package(INSPECTOR), "--cli", assistant.url, "--transport", "http",
        "--header", f"Authorization: Bearer {assistant.token}", *arguments,
    )  # fmt: skip
    return result.returncode, result.stdout, result.stderr


def test_the_inspector(node: Node, local_assistant: Assistant) -> None:
    code, tools_output, errors = inspect(node, local_assistant, "--method", "tools/list", "--strict")
    assert code == 0, errors  # without warnings about the schemas' portability
    assert {tool["name"] for tool in json.loads(tools_output)["tools"]} == set(NAMES)
    call = ("tools/call", "--tool-name", "resolve_date_range", "--tool-arg", "words=last month")
    code, call_output, errors = inspect(node, local_assistant, "--method", *call)
    assert code == 0, errors
    assert "start_date" in json.loads(call_output)["structuredContent"]
    code, resource_output, errors = inspect(
        node, local_assistant, "--method", "resources/read", "--uri", "trk://space"
    )
    assert code == 0, errors
    assert json.loads(json.loads(resource_output)["contents"][0]["text"])["id"] == local_assistant.space_id


def test_mcp_remote_in_a_wrong_space(node: Node, local_assistant: Assistant) -> None:
    url = f"{local_assistant.base_url}/mcp/{local_assistant.space_id + 1}/public-api"
    result = node.run(
        node.package("mcp-remote/dist/client.js"), url, "--transport", "http-only",
        "--header", f"Authorization: Bearer {local_assistant.token}",
    )  # fmt: skip
    assert result.returncode != 0
    assert "This token is for another Space." in result.stdout + result.stderr
