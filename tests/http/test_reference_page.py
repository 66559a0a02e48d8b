"""The reference page: complete without network or scripts, under a policy that allows nothing else, with a
real example of every operation.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from headwater import __version__
from headwater.api.reference.commands import KEY
from headwater.api.reference.examples import ERRORS, EXAMPLES
from headwater.api.reference.introduction import FIRST_CALLS
from headwater.base.settings import Settings
from tests.conftest import API, BASE_URL, Running, run_application
from tests.reference.sending import new_installation, send_all
from tests.sdks.contract import RUNS, alternate_clients
from tests.support.commands import run_command

LOADED = re.compile(r'(?:src|href)="([^"#][^"]*)"')


@pytest.fixture
def page(server: Running) -> httpx.Response:
    return httpx.get(f"{server.base_url}/docs")


@pytest.fixture
def document(server: Running) -> dict[str, Any]:
    return httpx.get(f"{server.base_url}{API}/openapi.json").json()


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        operation["operationId"]: operation
        for methods in document["paths"].values() for operation in methods.values()
    }  # fmt: skip


@pytest.fixture
def subject_page(server: Running) -> Callable[[str], httpx.Response]:
    return lambda subject: httpx.get(f"{server.base_url}/docs/{subject.lower()}")


def test_it_works(
    page: httpx.Response, subject_page: Callable[[str], httpx.Response], document: dict[str, Any]
) -> None:
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>Headwater API reference</title>" in page.text
    assert f"API 1.3.0 · Headwater {__version__}" in page.text
    pages = {tag["name"]: subject_page(tag["name"]) for tag in document["tags"]}
    for name, operation in operations(document).items():
        (subject,) = operation["tags"]
        assert f'<a href="/docs/{subject.lower()}#{name}">' in page.text
        assert f'<li id="{name}">' in page.text, "former links have their target"
        assert pages[subject].status_code == 200
        assert f'<h2 id="{name}">' in pages[subject].text
        assert operation["summary"] in unescape(pages[subject].text)


def test_an_unknown_subject(subject_page: Callable[[str], httpx.Response]) -> None:
    assert subject_page("nothing").status_code == 404


FOUND = re.compile(r'<li id="(\w+)">')


@pytest.mark.parametrize(
    ("search_text", "operation_ids"),
    [
        ("/events/track", {"create_event"}),
        ("STORE rates", {"put_rates"}),
        ("put_spend", {"put_spend"}),
        ("do_not_capi", {"create_event"}),
    ],
)
def test_a_search_finds_paths_words_ids_and_fields(
    server: Running, search_text: str, operation_ids: set[str]
) -> None:
    results = httpx.get(f"{server.base_url}/docs", params={"q": search_text}).text
    assert operation_ids <= {*FOUND.findall(results)}
    assert len(FOUND.findall(results)) < 10
    assert escape(search_text) in results


@pytest.mark.parametrize("search_text", ["<b>nothing</b>", "x" * 5000, "é\0%"])
def test_a_search_without_results(server: Running, search_text: str) -> None:
    answer = httpx.get(f"{server.base_url}/docs", params={"q": search_text})
    assert answer.status_code == 200
    assert not FOUND.findall(answer.text)
    assert "<b>nothing" not in answer.text
    assert "All endpoints" in answer.text


def test_it_begins_with_an_introduction_and_a_first_call(
    page: httpx.Response, document: dict[str, Any]
) -> None:
    text = unescape(page.text)
    first = text.index("curl --globoff -X POST")
    assert text[first:].startswith(f"curl --globoff -X POST '{BASE_URL}/public-api/v1/events/track'")
    assert first < text.index('<li id="')
    subjects = re.findall(r'<h2 id="(\w+)">', page.text)
    assert subjects[:5] == ["introduction", "start", "rules", "ingest", "events"]
    for tag in document["tags"]:
        assert tag["description"], f"{tag['name']} says nothing of itself"


def test_every_error_has_a_real_example(
    server: Running, page: httpx.Response, document: dict[str, Any],
    make_key: Callable[..., str], space_id: int,
) -> None:  # fmt: skip
    for answer in document["components"]["responses"].values():
        content = answer["content"]["application/json"]
        schema = {**content["schema"], "components": document["components"]}
        jsonschema_rs.validate(schema, content["example"])
        assert escape(content["example"]["message"]) in page.text
    key = {"Authorization": f"Bearer {make_key(space_id, scopes=['events:write', 'events:read'])}"}
    narrow_headers = {"Authorization": f"Bearer {make_key(space_id, scopes=['events:write'])}"}
    with httpx.Client(base_url=f"{server.base_url}{API}") as client:
        answers = {
            401: client.get("/events/1"),
            403: client.get("/events/1", headers=narrow_headers),
            404: client.get("/events/1", headers=key),
            413: client.post("/events/track", headers=key, content=b" " * 300_000),
            415: client.post("/events/track", headers={**key, "Content-Encoding": "gzip"}),
            422: client.post("/events/track", headers=key, json={"email": "a@example.com", "amount": "x"}),
        }
    for status, answer in answers.items():
        assert (answer.status_code, answer.json()) == (status, ERRORS[status])


def test_every_operation_has_a_real_example(document: dict[str, Any]) -> None:
    documented_operations = operations(document)
    assert set(EXAMPLES) == set(documented_operations)
    for name, example in EXAMPLES.items():
        operation = documented_operations[name]
        (body, *_) = [*operation.get("requestBody", {}).get("content", {}).values(), {}]
        assert body.get("example") == example.body
        for parameter in operation.get("parameters", []):
            if parameter.get("required"):
                assert "example" in parameter, (name, parameter["name"])
        (good,) = [response for status, response in operation["responses"].items() if status < "3"]
        content = good["content"]["application/json"]
        assert content["example"] == example.response is not None
        for media, example_value in ((body, example.body), (content, example.response)):
            if media:
                schema = {**media["schema"], "components": document["components"]}
                jsonschema_rs.validate(schema, example_value)
        assert ("409" in operation["responses"]) is (example.conflict is not None)
        if example.conflict is not None:
            content = operation["responses"]["409"]["content"]["application/json"]
            assert content["example"] == example.conflict
            schema = {**content["schema"], "components": document["components"]}
            jsonschema_rs.validate(schema, example.conflict)


def test_conflicts_are_answered_as_in_their_examples(
    server: Running, make_key: Callable[..., str], space_id: int
) -> None:
    headers = {"Authorization": f"Bearer {make_key(space_id)}"}
    with httpx.Client(base_url=f"{server.base_url}{API}", headers=headers) as client:
        contact = {"emails": ["two@example.com"]}
        ids = [client.post("/contacts", json=contact).json()["id"] for _ in range(2)]
        answers = {
            "get_contact_by_email": client.get("/contacts/by-email/two@example.com"),
            "find_contact_by_email": client.get("/contacts/by-email?email=two@example.com"),
            "delete_contact_pii_by_email": client.delete("/contacts/pii?email=two@example.com"),
        }
        for name, answer in answers.items():
            assert answer.status_code == 409
            assert answer.json() == {**EXAMPLES[name].conflict, "contact_ids": ids}


def shape(value: Any) -> Any:
    """Return the members of an answer at every depth. A list counts as its first item."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items() if shape(item) is not None}
    return [shape(value[0])] if isinstance(value, list) and value else None


@pytest.mark.parametrize("names", RUNS, ids="+".join)
def test_every_example_works_and_is_answered_so(names: tuple[str, ...], tmp_path: Path) -> None:
    """They are sent to a new installation in their order, as written and by each client."""
    with new_installation(tmp_path) as (client, data_dir):
        url = str(client.base_url).rstrip("/")
        key = client.headers["Authorization"].removeprefix("Bearer ")
        with alternate_clients(names, url, key) as send:
            for name, text in send_all(client, data_dir, send):
                answer, expected = json.loads(text), EXAMPLES[name].response
                assert type(answer) is type(expected), name
                if isinstance(answer, dict) and not name.startswith("delete_"):
                    assert answer.keys() == expected.keys(), name
                elif isinstance(answer, dict):  # after a lost response, a client's own has no id
                    assert answer.keys() >= expected.keys() - {"contact_id"}, name
        try_first_calls(client, data_dir)


COMMAND = re.compile(r'aria-label="[^"]*, as a command"><code>(.*?)</code>', re.DOTALL)
OF_TODAY = {"period", "first_event", "last_event", "snapshot"}


def try_first_calls(client: httpx.Client, data_dir: Path) -> None:
    """Send the commands of the introduction as written, in a Space without events."""
    data_options = ("--data-dir", str(data_dir))
    space = json.loads(run_command("space", "create", "--name", "New", *data_options, "--json").stdout)
    result = run_command("key", "create", "--space", str(space["id"]), "--name", "x", *data_options, "--json")
    key = json.loads(result.stdout)["key"]
    commands = [unescape(text) for text in COMMAND.findall(client.get("/docs").text)]
    for command, call in zip(commands, FIRST_CALLS, strict=True):
        request = as_request(command.replace(KEY, key))
        answer = json.loads(client.send(request).raise_for_status().text)
        assert answer.keys() == call.answer.keys()
        for name in answer.keys() - OF_TODAY:
            assert answer[name] == call.answer[name], name
        assert run_command("queue", "wait", *data_options).returncode == 0


def as_request(command: str) -> httpx.Request:
    """Return the request that curl would send."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--globoff", action="store_true", required=True)
    parser.add_argument("-X", default="GET")
    parser.add_argument("-H", action="append")
    parser.add_argument("-d")
    parser.add_argument("url")
    program, *words = shlex.split(command.replace("\\\n", " "))
    assert program == "curl"
    arguments = parser.parse_args(words)
    headers = dict(header.split(": ", 1) for header in arguments.H)
    return httpx.Request(arguments.X, arguments.url, headers=headers, content=arguments.d)


def test_all_it_loads_comes_from_here(server: Running, page: httpx.Response) -> None:
    addresses = {address for address in LOADED.findall(page.text) if address != "data:,"}
    assert {"/docs/reference.css", "/docs/reference.js", "/docs/spend#put_spend"} <= addresses
    for address in addresses:
        assert address.startswith("/"), address
        response = httpx.get(server.base_url + address, follow_redirects=True)
        assert response.status_code == 200
    style = httpx.get(f"{server.base_url}/docs/reference.css").text
    assert not re.findall(r"@import|url\(", style)
    assert "prefers-color-scheme: dark" in style


def test_the_policy_is_strict(page: httpx.Response) -> None:
    parts = page.headers["content-security-policy"].split("; ")
    policy = {name: sources for name, _, sources in (directive.partition(" ") for directive in parts)}
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "<script>" not in page.text
    assert not re.findall(r"\son\w+=|\sstyle=", re.sub(r"<(pre|textarea).*?</\1>", "", page.text))
    assert page.headers["x-content-type-options"] == "nosniff"


def test_the_brand_is_text(database_url: str) -> None:
    branded_server = run_application(Settings(brand="<script>alert(1)</script>&amp;"), database_url)
    text = httpx.get(f"{branded_server.base_url}/docs").text
    branded_server.stop()
    assert "<script>alert" not in text
    assert "&amp;amp; API reference" in text
