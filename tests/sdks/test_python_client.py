"""The Python client against the real application."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from headwater_client import (
    ApiError,
    Client,
    ConnectionFailedError,
    assistant_url,
    configure_assistant,
    sign_identity,
    sign_webhook,
)
from headwater_client.api import TrackPayload
from headwater_client.requests import flatten
from scripts.generate_sdk import GENERATED, METHODS, generate

from headwater.api.operations import PREFIX, describe_api
from headwater.intake.webhooks.models import WebhookRequest
from headwater.intake.webhooks.signatures import check_standard
from headwater.spaces.sites.signatures import sign
from tests.conftest import Running
from tests.mcp.assistants import connect
from tests.sdks.wire import HALVES, failing_network
from tests.support.factories import Stage
from tests.support.pipeline import Stage as Queue

EVENT: TrackPayload = {"event_name": "purchase", "email": "anna@example.com", "amount": 89.5}
YEAR = {"start_date": "2026-01-01 00:00:00", "end_date": "2027-12-31 23:59:59"}
DOCUMENT = json.loads(json.dumps(describe_api()))


@pytest.fixture
def sdk(server: Running, stage: Stage, make_key: Callable[..., str]) -> Iterator[Client]:
    client = Client(server.base_url, make_key(stage.space_id))
    yield client
    client.close()


def process(connection: psycopg.Connection, space_id: int) -> None:
    Queue(connection, space_id).process()


def test_it_works(sdk: Client, stage: Stage) -> None:
    """An event is sent, and read back in a list and in a report."""
    assert sdk.track(EVENT)["status"] == 202
    process(stage.connection, stage.space_id)
    (event,) = sdk.iterate_events(**YEAR, fields=["amount"])
    assert event.get("amount") == 89.5
    report = sdk.get_report(measures=["events", "revenue"], period="this year")
    assert report["overall"] == {"events": 1, "revenue": 89.5}
    contact = sdk.get_contact_by_email("anna@example.com")
    assert contact["emails"] == ["anna@example.com"]
    (match,) = sdk.iterate_contacts(email=["anna@example.com", "nobody@example.com"])
    assert match["id"] == contact["id"]


def test_it_is_what_the_document_says() -> None:
    """`make sdk` would generate the same files."""
    for path, text in generate(describe_api()).items():
        assert path.read_text() == text


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if method in METHODS:
                yield method.upper(), path.removeprefix(PREFIX), operation


class Recorder(Client):
    """A client that records its requests instead of sending them."""

    def call(self, method: str, path: str, query: Any, body: Any = None) -> Any:
        self.requests = (method, path, [name for name, _ in flatten(query)], body)


@pytest.mark.parametrize(("method", "path", "operation"), list(operations()), ids=lambda each: str(each)[:40])
def test_every_operation_is_sent_as_it_is_described(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    arguments: dict[str, Any] = {}
    names: list[str] = []
    for parameter in operation.get("parameters", []):
        name = wire = parameter["name"]
        is_list = parameter["schema"].get("type") == "array"
        conditions = "contentSchema" in parameter["schema"]
        arguments[name] = [{"field": "x"}] if conditions else ["x", "y"] if is_list else "x/y"
        if parameter["in"] == "query":
            names += [f"{wire}[0][field]" if conditions else wire] * (2 if is_list else 1)
        path = path.replace(f"{{{name}}}", "x%2Fy")
    body: Any = None
    if "requestBody" in operation:
        is_json = "application/json" in operation["requestBody"]["content"]
        body = {"a": 1} if is_json else b"a,b"
        arguments["body" if is_json else "file"] = body
    recorder = Recorder("http://nowhere", "key")
    getattr(recorder, operation["operationId"])(**arguments)
    assert recorder.requests == (method, path, names, body)


def test_pages_are_one_list(sdk: Client, stage: Stage) -> None:
    emails = [f"p{number}@example.com" for number in range(7)]
    for email in emails:
        stage.contact(email=email)
    rows = list(sdk.iterate_contacts(**YEAR, per_page=2))
    assert {row["email"] for row in rows} == set(emails)
    assert len(rows) == 7


def test_many_events_have_a_result_each(sdk: Client) -> None:
    wrong_event: Any = {**EVENT, "amount": "x"}
    results = list(sdk.track_many([*[EVENT] * 999, wrong_event, EVENT, wrong_event]))
    assert [result["index"] for result in results] == list(range(1002))
    assert [n for n, result in enumerate(results) if result["status"] == "invalid"] == [999, 1001]
    (rejection,) = sdk.track_many([wrong_event])
    assert list(rejection["errors"]) == ["amount"]


def test_large_events_are_sent_in_smaller_batches(sdk: Client) -> None:
    large_event: TrackPayload = {**EVENT, "profile_field_1": "x" * 10_000}
    results = sdk.track_many([large_event] * 1000)
    assert [(result["index"], result["status"]) for result in results] == [
        (index, "queued") for index in range(1000)
    ]


def test_true_is_yes(sdk: Client, stage: Stage) -> None:
    stage.contact(email="anna@example.com")
    yes: Any = True
    (contact,) = sdk.list_contacts(**YEAR, include_all_emails=yes)["data"]
    assert "emails" in contact


def test_a_refusal_says_why(sdk: Client) -> None:
    wrong_event: Any = {**EVENT, "amount": "x"}
    with pytest.raises(ApiError, match="422") as error:
        sdk.track(wrong_event)
    assert error.value.errors == {"amount": ["The amount must be a number."]}
    with pytest.raises(ApiError) as unknown:
        sdk.get_company(999_999_999)
    assert unknown.value.status == 404


def test_a_network_that_fails(
    sdk: Client, server: Running, stage: Stage, open_client: Callable[..., Client]
) -> None:
    """Repeatable requests arrive once. Others are tried once, and the failure is reported."""
    with failing_network(server.base_url) as network:
        cut_client = open_client(network.url, sdk._options.key, backoff=0)
        for _ in range(5):
            assert cut_client.track(EVENT)["status"] == 202
            cut_client.close()
        attempts = len(network.done)
        assert attempts == 15
        with pytest.raises(ConnectionFailedError):
            cut_client.create_contact({"emails": ["b@example.com"]})
        assert len(network.done) == attempts + 1
    process(stage.connection, stage.space_id)
    assert len(list(sdk.iterate_events(**YEAR))) == 5


def test_a_deletion_whose_answer_is_lost_is_done(
    sdk: Client, server: Running, stage: Stage, open_client: Callable[..., Client]
) -> None:
    sdk.track(EVENT)
    process(stage.connection, stage.space_id)
    (event,) = sdk.iterate_events(**YEAR, fields=["id"])
    with failing_network(server.base_url) as network:
        cut_client = open_client(network.url, sdk._options.key, backoff=0)
        assert cut_client.delete_event(event["id"])["status"] == 200
        assert network.done == ["before", "after", "none"]
    with pytest.raises(ApiError, match="404"):
        sdk.delete_destination(999_999)
    assert list(sdk.iterate_events(**YEAR)) == []


@pytest.mark.parametrize("partial_answer", HALVES.values(), ids=HALVES)
def test_half_an_answer_is_none(
    sdk: Client, server: Running, partial_answer: bytes, open_client: Callable[..., Client]
) -> None:
    """This holds for every cut, and for a foreign page."""
    with failing_network(server.base_url, prefix=partial_answer) as network:
        client = open_client(network.url, sdk._options.key, backoff=0, retries=3)
        (result,) = client.track_many([EVENT])
    assert result["status"] == "queued"
    assert network.done == ["before", "after", "none"]


def test_signatures_hold() -> None:
    signature_fields = sign_identity(
        "s3cret", email=" Anna@Example.com ", tracking_id="u-1", at=1_790_000_000
    )
    expected = sign(b"s3cret", "1790000000", "anna@example.com", "u-1")
    assert signature_fields["signature"] == expected
    body = b'{"order": 1}'
    headers = sign_webhook("whsec_c2VjcmV0", body, at=1_790_000_000)
    delivery = WebhookRequest(headers, body, 1_790_000_060.0)
    check_standard(b"whsec_c2VjcmV0", delivery, 300)
    with pytest.raises(ValueError, match="whsec_ and a key in base64"):
        sign_webhook("s3cret", body)


def test_assistants_are_told_the_address(server: Running, stage: Stage) -> None:
    with connect(server, stage.connection, stage.space_id) as assistant:
        assert assistant_url(server.base_url + "/", stage.space_id) == assistant.url
    entry = configure_assistant("https://hw.example", 1, "trk_mcp_x")["mcpServers"]["headwater"]
    assert entry["headers"] == {"Authorization": "Bearer trk_mcp_x"}


def test_the_page_runs(
    sdk: Client, server: Running, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example of the README runs, in order."""
    monkeypatch.chdir(tmp_path)
    key = sdk._options.key
    text = (GENERATED.parents[2] / "README.md").read_text().replace("trk_sk_…", key)
    names: dict[str, Any] = {}
    origin = "https://headwater.example.com"
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(block.replace(f'Client("{origin}"', f'Client("{server.base_url}"'), names)
    process(stage.connection, stage.space_id)
    event_names = {event["event_name"] for event in sdk.iterate_events(**YEAR, fields=["event_name"])}
    assert event_names == {"purchase", "sign_up", "lead_generated"}
    assert names["entry"]["mcpServers"]["headwater"]["url"].endswith("/mcp/1/public-api")
    names["client"].close()
