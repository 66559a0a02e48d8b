"""The stored corpus of hostile requests: each gets exactly the recorded answer.

A case of `corpus.json` has a `name`, the `request` (method and path below the API), the `status` and, for a
422, the key `at` that `errors` contains. Its body is text (`body`), bytes (`base64`), or a valid event with
the JSON text `json` as its `field`. `⟦x*9⟧` stands for nine times x, `{key}` for a valid API key. A case
about a field is sent a second time as the only event of a batch.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest

from tests.conftest import Running
from tests.support.factories import make_stage
from tests.support.waiting import PATIENCE_SECONDS

CORPUS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("corpus.json").read_text())
REPEAT = re.compile(r"⟦(.+?)\*([0-9]+)⟧", re.DOTALL)
TEMPLATE = re.compile(r"\{[a-z_]+\}")


class Target(NamedTuple):
    """The application, a key to a Space with three labelled fields, and the documented operations."""

    connection: http.client.HTTPConnection
    key: str
    paths: dict[str, Any]


@pytest.fixture(scope="module")
def target(server: Running, database_url: str) -> Iterator[Target]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        stage = make_stage(connection)
        for slot in (1, 16, 26):
            stage.label_field(f"profile_field_{slot}")
    paths = httpx.get(f"{server.base_url}/public-api/v1/openapi.json").json()["paths"]
    client = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    yield Target(client, stage.key, paths)
    client.close()


def expand(text: str) -> str:
    return REPEAT.sub(lambda found: found[1] * int(found[2]), text)


def describe_body(case: dict[str, Any]) -> bytes:
    if "base64" in case:
        return base64.b64decode(case["base64"])
    if "field" not in case:
        return expand(case.get("body", "")).encode()
    event = '{"event_name":"purchase","email":"ada@example.com"'
    extra_members = "," + case["with"] if "with" in case else ""
    return expand(f'{event}{extra_members},"{case["field"]}":{case["json"]}}}').encode()


def send(target: Target, case: dict[str, Any], body: bytes) -> tuple[int, dict[str, Any]]:
    method, path = case["request"].split(" ", 1)
    headers = {"Authorization": "Bearer {key}", "Content-Type": "application/json"}
    headers |= case.get("headers", {})
    target.connection.putrequest(method, "/public-api/v1" + expand(path), skip_host="Host" in headers)
    for name, value in headers.items():
        if value is not None:
            text = expand(value).replace("{key}", target.key)
            target.connection.putheader(name, text.encode("utf-8"))
    target.connection.putheader("Content-Length", str(len(body)))
    target.connection.endheaders(body)
    response = target.connection.getresponse()
    content = response.read()
    assert response.status < 500, content
    assert response.getheader("content-type") == "application/json"
    return response.status, json.loads(content)


@pytest.mark.parametrize("case", CORPUS, ids=[case["name"] for case in CORPUS])
def test_each_gets_its_answer(target: Target, case: dict[str, Any]) -> None:
    status, answer = send(target, case, describe_body(case))
    assert status == case["status"], answer
    if status >= 400:
        assert isinstance(answer["message"], str)
        assert answer["message"]
    assert ("errors" in answer) == (status == 422)
    if "at" in case:
        assert case["at"] in answer["errors"]
    assert is_documented(target, case["request"], status)


def is_documented(target: Target, request: str, status: int) -> bool:
    """Return whether the document has this status for the operation, or doesn't have the operation."""
    method, path = request.split(" ", 1)
    path = "/public-api/v1" + path.partition("?")[0]
    for template in sorted(target.paths, key=TEMPLATE.findall):
        if re.fullmatch(TEMPLATE.sub("[^/]+", template), path):
            operation = target.paths[template].get(method.lower())
            return operation is None or str(status) in operation["responses"]
    return True


FIELDS = [case for case in CORPUS if "field" in case]


@pytest.mark.parametrize("case", FIELDS, ids=[case["name"] for case in FIELDS])
def test_and_the_same_one_in_a_batch(target: Target, case: dict[str, Any]) -> None:
    batch = {"request": "POST /events/batch"}
    status, answer = send(target, batch, b'{"events":[%s]}' % describe_body(case))
    assert status == case["status"], answer
    if "at" in case:
        errors = answer["errors"]
        assert f"events.0.{case['at']}" in errors or case["at"] in errors


def test_names_are_unique() -> None:
    assert len({case["name"] for case in CORPUS}) == len(CORPUS)
