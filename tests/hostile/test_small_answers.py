"""Errors in a body are explained in an answer of limited size, for every caller and at every depth of
nesting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from headwater.http.errors import MAX_FAULTS, Invalid
from headwater.http.json_decoder import MAX_CONTAINERS, MAX_DEPTH, decode_json
from tests.conftest import Running
from tests.hostile.growth import measure_pace
from tests.hostile.inputs import bodies
from tests.mcp.assistants import Assistant, connect
from tests.support.factories import Stage
from tests.support.sites import Site

FAULTS = bodies()["half a character and many faults"](16_000)
NUL_FAULTS = bodies()["many faults below a long key"](16_000)


@pytest.fixture
def assistant(server: Running, connection: psycopg.Connection, stage: Stage) -> Iterator[Assistant]:
    with connect(server, connection, stage.space_id) as assistant:
        yield assistant


def test_it_works(server: Running) -> None:
    """Without a site, nothing is explained."""
    answer = httpx.post(f"{server.base_url}/t", content=FAULTS, timeout=60)
    assert answer.status_code == 422
    assert len(answer.content) < 500


@pytest.mark.parametrize("body", [FAULTS, NUL_FAULTS], ids=["half a character", "NUL"])
def test_the_api_names_the_first_faults(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/contacts", content=body, timeout=60)
    assert answer.status_code == 422
    assert len(answer.content) < 64 * 1024
    assert len(answer.json()["errors"]) <= MAX_FAULTS
    assert all(len(name) <= 101 for name in answer.json()["errors"])


def test_a_site_s_report_is_explained_briefly(site: Site) -> None:
    items: list[Any] = [{"type": "event", **{f"profile_field_{n}": [] for n in range(1, 31)}}] * 50
    answer = site.report(*items)
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) <= MAX_FAULTS


def test_registration(server: Running) -> None:
    answer = httpx.post(f"{server.base_url}/mcp/oauth/register", content=NUL_FAULTS, timeout=60)
    assert answer.status_code in (400, 429)
    assert len(answer.content) < 2000


def test_unknown_arguments_of_a_tool(assistant: Assistant) -> None:
    message = assistant.refusal("query_report", **{f"argument_{n}": 1 for n in range(3000)})
    assert len(message) < 4096


def test_a_message_nested_too_deeply(assistant: Assistant) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    answer = assistant.post({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": deep}})
    assert answer.status_code == 400
    assert "more than 32 levels" in answer.text


@pytest.mark.parametrize(
    ("opening_bracket", "closing_bracket"),
    [("[", "]"), ('{"a":', "}"), ('{"[\\\\\\"[":', "}"), ('["[",', "]")],
)
def test_the_depth(opening_bracket: str, closing_bracket: str) -> None:
    def nested_json(levels: int) -> bytes:
        return (opening_bracket * levels + "1" + closing_bracket * levels).encode()

    assert decode_json(nested_json(MAX_DEPTH)) is not None
    with pytest.raises(Invalid) as error:
        decode_json(nested_json(MAX_DEPTH + 1))
    assert "more than 32 levels" in error.value.message


def test_brackets_in_texts_are_no_levels() -> None:
    value = ["[" * 100_000, "\\", '"[[', {"{" * 40: "}"}]
    assert decode_json(json.dumps(value).encode()) == value


def test_how_many_arrays_a_body_may_hold() -> None:
    with pytest.raises(Invalid) as error:
        decode_json(b"[" + b"[]," * MAX_CONTAINERS + b"[]]")
    assert "more than 50,000 arrays and objects" in error.value.message


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b'{"a":x}', "invalid character (byte 5)"), (b'{"a":', "it ends too early"),
     (b'{"a":1e9999999999999999999}', "a number beyond all bounds"),
     (b"[1,]", "trailing comma in array (byte 3)")],
)  # fmt: skip
def test_why_a_body_is_no_json(body: bytes, reason: str) -> None:
    with pytest.raises(Invalid) as error:
        decode_json(body)
    assert error.value.message.startswith("The body is not valid JSON: ")
    assert reason in error.value.message


def test_a_long_path_is_logged_in_no_time(server: Running) -> None:
    url = f"{server.base_url}/mcp/oauth/register/" + ":" * 8000 + "g"
    before = time.process_time()
    httpx.get(url, timeout=60)
    httpx.get(url, timeout=60)
    duration = (time.process_time() - before) / max(1.0, measure_pace())
    assert duration < 0.75, "a quadratic pattern takes 0.75 s each"
