"""An installation with processes of every kind, which report to a collector and to /metrics."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.operations.terminal.connection import database_url
from tests.conftest import API, Running
from tests.mcp.assistants import Assistant, connect
from tests.support.collector import Collector, collector
from tests.support.factories import make_stage
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.installations import install
from tests.support.processes import Serve
from tests.support.spaces import backdate_space
from tests.support.waiting import PATIENCE_SECONDS, wait_until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
EMAIL = "ada@acme.example"
EVENT = {"event_name": "purchase", "email": EMAIL, "amount": 5}
TELEMETRY = {
    "OTEL_METRIC_EXPORT_INTERVAL": "500", "OTEL_BSP_SCHEDULE_DELAY": "200",
    "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
}  # fmt: skip
WATCHED = "SELECT FROM alert_watches WHERE space_id = %(space_id)s"


@dataclass(frozen=True)
class Observation:
    """The results."""

    collected: Collector
    metrics: str
    """The text of /metrics, at the end."""
    log: str
    code: int
    """The exit code of `serve`."""


@pytest.fixture(scope="session")
def observation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observation]:
    """The installation after an event was tracked, processed, forwarded, reported, exported and requested."""
    data_dir = install(tmp_path_factory.mktemp("observed") / "data")
    success = Answer(body={"events_received": 1})
    with (
        collector() as collection,
        FakePlatform(default=success) as meta,
        Serve(
            data_dir, HEADWATER_META_URL=meta.url, HEADWATER_RATE_LIMIT_FACTOR="1000",
            OTEL_EXPORTER_OTLP_ENDPOINT=collection.url, **TELEMETRY,
        ) as serve,
    ):  # fmt: skip
        application = Running(serve.url(), lambda: None, data_dir)
        database = database_url(Settings(data_dir=data_dir))
        with psycopg.connect(database, autocommit=True) as connection:
            stage = make_stage(connection)
            space = {"space_id": stage.space_id}
            backdate_space(connection, stage.space_id)
            headers = {"Authorization": f"Bearer {stage.key}"}
            url = application.base_url + API
            with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_SECONDS) as client:
                _work(client)
            with connect(application, connection, stage.space_id) as assistant:
                _ask(assistant)
            wait_until(lambda: connection.execute(WATCHED, space).fetchone() is not None)
        wait_until(lambda: len(collection.find_spans("POST /mcp/{space_id}/public-api")) == 2)
        metrics = httpx.get(f"{application.base_url}/metrics", timeout=PATIENCE_SECONDS).text
        code = serve.stop()
        yield Observation(collection, metrics, serve.log.read_text(), code)


def _work(client: httpx.Client) -> None:
    destination: dict[str, Any] = {
        "platform": "meta", "name": "Shop", "settings": {"pixel_id": "1234567890"},
        "secrets": {"access_token": "EAAB-token"}, "all_events": True,
    }  # fmt: skip
    answer = client.post("/destinations", json=destination)
    assert answer.status_code == 201, answer.text
    trace_headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    assert client.post("/events/track", json=EVENT, headers=trace_headers).status_code == 202
    assert client.post("/events/track", json={**EVENT, "amount": "x"}).status_code == 422
    path = f"/destinations/{answer.json()['id']}"
    _wait(client, path, lambda answer: answer["deliveries"]["delivered"] == 1)
    assert client.get(f"/contacts/by-email/{EMAIL}").status_code == 200
    report = {"measures": "events", "period": "this year"}
    assert client.get("/reports", params=report).status_code == 200
    year = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}
    export = client.post("/contacts/exports", json=year)
    assert export.is_success, export.text
    path = f"/contacts/exports/{export.json()['export_id']}"
    _wait(client, path, lambda answer: answer["status"] == "completed")


def _wait(client: httpx.Client, path: str, condition: Any) -> None:
    pause = threading.Event()

    def holds() -> bool:
        answer = client.get(path)
        return answer.is_success and condition(answer.json())

    wait_until(holds, pause=lambda: pause.wait(0.2))


def _ask(assistant: Assistant) -> None:
    host = assistant.base_url.removeprefix("http://")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "get_space", "arguments": {}}}  # fmt: skip
    assert assistant.post(body, Host=host).status_code == 200
    answer = assistant.post(body, Host=host, Authorization="Bearer trk_mcp_none")
    assert answer.status_code == 401
