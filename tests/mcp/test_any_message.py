"""Any JSON message gets a valid answer of the protocol."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mcp.assistants import Assistant
from tests.support.campaigns import campaign_size

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
METHODS = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read",
     "resources/templates/list", "prompts/list", "prompts/get", "server/discover",
     "notifications/initialized", "notifications/cancelled", "logging/setLevel"]
)  # fmt: skip
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON, "id": st.integers() | st.text(max_size=5) | JSON,
        "method": METHODS | JSON, "result": JSON, "error": JSON,
        "params": JSON | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["get_space", "query_report", "channel_review"]) | JSON,
                "arguments": JSON, "uri": st.just("trk://space") | JSON, "cursor": JSON,
                "_meta": JSON, "protocolVersion": JSON,
            },
        ),
    },
)  # fmt: skip


@settings(
    max_examples=campaign_size("HEADWATER_MESSAGES", 60, 2000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(message=MESSAGES | JSON, version=st.sampled_from(["2025-11-25", "2026-07-28", "1", None]))
def test_any_json_gets_an_answer_that_is_json(
    assistant: Assistant, message: Any, version: str | None
) -> None:
    headers = {"MCP-Protocol-Version": version, "Content-Type": "application/json"}
    answer = assistant.send(content=json.dumps(message), headers=headers)
    assert answer.status_code in (200, 202, 400, 404), (message, answer.text)
    if answer.status_code == 202:
        assert answer.content == b""
    else:
        reply = answer.json()
        assert reply["jsonrpc"] == "2.0"
        assert ("result" in reply) != ("error" in reply)
        assert reply.get("error", {}).get("code") != -32603, reply
