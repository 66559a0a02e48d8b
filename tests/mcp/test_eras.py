"""The protocol's own Python client in both of its eras: with a handshake, and without sessions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from headwater.assistants.mcp.tools import TOOLS
from tests.mcp.assistants import HEADERS, Assistant
from tests.support.waiting import PATIENCE_SECONDS

ERAS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28", "auto": "2026-07-28"}


@asynccontextmanager
async def open_client(assistant: Assistant, mode: str, url: str = "") -> AsyncIterator[Client]:
    headers = {"Host": HEADERS["Host"], "Authorization": f"Bearer {assistant.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as http:
        transport = streamable_http_client(url or assistant.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@pytest.mark.parametrize("mode", ERAS)
def test_it_works(assistant: Assistant, mode: str) -> None:
    async def run() -> None:
        async with open_client(assistant, mode) as client:
            assert client.session.protocol_version == ERAS[mode]
            tools = (await client.list_tools()).tools
            assert len(tools) == len(TOOLS)
            answer = await client.call_tool("get_space", {})
            assert answer.structured_content is not None
            assert answer.structured_content["id"] == assistant.space_id
            wrong = await client.call_tool("get_event", {"event_id": 0})
            assert wrong.is_error
            resources = (await client.list_resources()).resources
            text = (await client.read_resource(resources[0].uri)).contents[0]
            assert json.loads(text.text)["id"] == assistant.space_id
            prompts = (await client.list_prompts()).prompts
            assert len(prompts) == 3
            prompt = await client.get_prompt("channel_review", {"period": "2026-05"})
            assert "2026-05" in prompt.messages[0].content.text
            with pytest.raises(MCPError, match="There is no resource"):
                await client.read_resource("trk://nothing")

    anyio.run(run)


@pytest.mark.parametrize("mode", ERAS)
def test_another_space_fails_cleanly(assistant: Assistant, mode: str) -> None:
    """With the reason, and without asking for another authorization."""
    url = f"{assistant.base_url}/mcp/{assistant.space_id + 1}/public-api"

    async def run() -> None:
        async with open_client(assistant, mode, url) as client:
            await client.list_tools()

    with pytest.raises(BaseExceptionGroup) as failure:
        anyio.run(run)
    assert "This token is for another Space." in error_text(failure.value)


def error_text(error: BaseException) -> str:
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return " ".join([str(error), *map(error_text, inner)])
