"""A tool that fails: a text for the assistant, a line in the log for the operator."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp_types import CallToolResult
from psycopg.errors import AdminShutdown, QueryCanceled, UniqueViolation
from psycopg_pool import PoolTimeout

from headwater.assistants.mcp.coercion import tidy
from headwater.assistants.mcp.schemas import LONG_LISTS, outline, short_arguments
from headwater.assistants.mcp.tool import Tool
from headwater.assistants.mcp.tool_calls import DATABASE_AWAY, TOO_LONG, call_tool
from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Conflict, Invalid, NotFound, RateLimited
from tests.mcp.assistants import Assistant


def fail(error: Exception, *, writes: bool = False) -> CallToolResult:
    async def call(_: Any, __: Any) -> Any:
        raise error

    tool = Tool(
        name="probe", title="Probe", description="", answer={}, call=call, hint="Look.", writes=writes
    )
    asking = cast("Any", SimpleNamespace(may_write=True))
    return asyncio.run(call_tool({"probe": tool}, asking, "probe", {}))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NotFound("Event"), "Event not found.\nLook."),
        (Invalid.of("period", "is odd."), "The period is odd."),
        (Invalid({"limit": ["must be small."]}), "The limit must be small."),
        (Conflict("Several.", contact_ids=[1, 2]), 'Several.\n{"contact_ids":[1,2]}'),
        (RateLimited(5), "Too many requests: the rate limit of this operation is used up."),
        (QueryCanceled("x"), TOO_LONG),
        (AdminShutdown("x"), DATABASE_AWAY),
        (PoolTimeout("x"), DATABASE_AWAY),
    ],
)
def test_it_works(error: Exception, message: str) -> None:
    result = fail(error)
    assert result.is_error
    assert result.structured_content is None
    assert [content.model_dump()["text"] for content in result.content] == [message]


def test_a_write_that_waits_too_long_can_be_repeated() -> None:
    (content,) = fail(QueryCanceled("x"), writes=True).content
    assert content.model_dump()["text"] == DATABASE_AWAY


@pytest.mark.parametrize("error", [KeyError("secret"), UniqueViolation("Key (email)=(a@b.c)")])
def test_a_fault_of_ours_is_logged_and_not_told(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    result = fail(error)
    (content,) = result.content
    text = content.model_dump()["text"]
    assert text.startswith("Something went wrong inside Headwater.")
    assert "secret" not in text
    assert "a@b.c" not in text
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert cast("Any", record.msg)["tool"] == "probe"


def test_nothing_personal_is_logged(assistant: Assistant, caplog: pytest.LogCaptureFixture) -> None:
    canary = "canary@people.example"
    with caplog.at_level(logging.INFO):
        assistant.call("track_event", event_name="purchase", email=canary, full_name="Canary Wharf")
        assistant.refusal("find_contact_by_email", email=canary)
        assistant.call("create_contact", emails=[canary], names=["Canary Wharf"])
        assistant.refusal("track_event", event_name=canary, email=canary)
        assistant.message("resources/read", {"uri": canary})
        assistant.message("prompts/get", {"name": canary, "arguments": {canary: canary}})
        assistant.post({"method": canary, "id": canary})
        assistant.send(url=f"{assistant.url}?email={canary}", json={"x": canary})
    own_records = [record for record in caplog.records if not record.name.startswith(("httpx", "uvicorn"))]
    log_text = json.dumps([[str(record.msg), str(record.args)] for record in own_records])
    assert "anary" not in log_text
    assert [record for record in own_records if record.name.startswith("mcp")] == []
    assert assistant.token not in log_text


def test_refusals_are_logged_with_their_reason(
    assistant: Assistant, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assistant.post({}, Authorization=None)
        assistant.post({}, Authorization="Bearer trk_mcp_wrong")
        assistant.post({}, Host="evil.example")
        assistant.post({}, Origin="http://evil.example")
    events = [cast("Any", record.msg) for record in caplog.records]
    reasons = [event["reason"] for event in events if "assistant_refused" in str(event)]
    assert reasons == ["no_token", "unknown_token", "host", "origin"]


def test_arguments_are_tidied_only_where_there_is_no_doubt() -> None:
    schemas: dict[str, dict[str, Any]] = {
        "number": {"type": "integer"}, "list": {"type": "array"}, "text": {"type": "string"},
        "flag": {"type": "integer", "enum": [0, 1]},
    }  # fmt: skip
    arguments = {"number": "7", "list": "a", "text": "7", "flag": True, "other": [1.0, {"x": 2.0}]}
    assert tidy(arguments, schemas) == {
        "number": 7, "list": ["a"], "text": "7", "flag": 1, "other": [1, {"x": 2}],
    }  # fmt: skip
    odd_arguments = {"number": "7.0", "list": 5, "text": 7, "flag": "yes"}
    assert tidy(odd_arguments, schemas) == odd_arguments
    assert str(tidy({"amount": 0.1}, {})["amount"]) == "0.1"
    assert tidy({"number": 1e300}, schemas)["number"] == 10**300


def test_arguments_are_listed_by_type_and_words() -> None:
    text: dict[str, Any] = {"type": "string", "maxLength": 255}
    numbered = {f"field_{n}": text for n in range(1, 8)} | {"field_8": {"type": "number"}}
    choice: dict[str, Any] = {"anyOf": [text, {"type": "integer", "minimum": 1}, {"type": "null"}]}
    names = {"type": "array", "maxItems": 9, "items": {"enum": [*EVENT_NAMES[::-1]]}}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {**numbered, "who": {**choice, "description": "Who."}, "names": names},
        "required": ["who"],
    }
    short_schema = short_arguments(schema, with_null=True)
    assert short_schema == {
        "type": "object",
        "properties": {
            "who": {"type": ["string", "integer", "null"], "description": "Who."},
            "names": {
                "type": "array",
                "items": {"type": "string", "description": LONG_LISTS[frozenset(EVENT_NAMES)]},
            },
        },
        "required": ["who"],
        "patternProperties": {"^field_[0-9]+$": {"type": ["string", "number"]}},
    }
    without = short_arguments({**schema, "required": []}, with_null=False)
    assert without["properties"]["who"]["type"] == ["string", "integer"]
    assert "required" not in without


def test_an_answer_is_listed_where_it_needs_a_word() -> None:
    plain: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}}}
    assert outline(plain) is None
    others_schema = {"type": "array", "items": {"type": "string"}, "description": "Others."}
    short_schema = outline({**plain, "properties": {**plain["properties"], "left_out": others_schema}})
    assert short_schema == {
        "type": "object",
        "properties": {"left_out": {"type": "array", "description": "Others."}},
    }
