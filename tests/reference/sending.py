"""Send the examples of the reference to a new installation, one after another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from headwater.api.reference.examples import EXAMPLES, Example
from headwater.attribution.models import FEWEST_CONVERSIONS
from tests.conftest import API
from tests.support.commands import run_command
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.installations import install
from tests.support.preloaded import CopiedServe
from tests.support.waiting import wait_until
from tests.support.wire import ReceivedRequest


@contextmanager
def new_installation(folder: Path) -> Iterator[tuple[httpx.Client, Path]]:
    """Yield a client of a newly set-up service, whose ad platform accepts everything."""
    data_dir = install(folder / "data")
    with (
        FakePlatform(default=_answer) as meta,
        CopiedServe(
            data_dir,
            HEADWATER_META_URL=meta.url,
            HEADWATER_META_SPEND_URL=meta.url,
            HEADWATER_RATE_LIMIT_FACTOR="1000",
        ) as server,
    ):
        url = server.url()
        data_options = ("--data-dir", str(data_dir), "--json")
        run_command("space", "create", "--name", "Shop", "--currency", "EUR", *data_options)
        run_command("space", "set", "--space", "1", "field_label.profile_field_1=Sport", *data_options)
        key = json.loads(run_command("key", "create", "--space", "1", "--name", "x", *data_options).stdout)
        headers = {"Authorization": f"Bearer {key['key']}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            yield client, data_dir
        assert server.stop() == 0


def _answer(request: ReceivedRequest) -> Answer:
    """Return Meta's answer about events, an ad account or its spend."""
    path = urlsplit(request.target).path
    if path.endswith("/insights"):
        day = str(datetime.now(UTC).date())
        row = {"campaign_id": "4711", "campaign_name": "Autumn", "date_start": day, "spend": "84.20"}
        return Answer(body={"data": [{**row, "impressions": "12000", "clicks": "240"}]})
    if "/act_" in path:
        return Answer(body={"name": "Shop", "currency": "EUR", "timezone_name": "Europe/Berlin"})
    return Answer(body={"events_received": 1})


JOBS = {"export": "export_id", "import": "import_id"}
"""Background jobs, and the name of their id in answers. Ids of exports are random."""
Send = Callable[[str, Example], str]
"""Sends an example by its operation's id, and returns the answer's JSON."""


def send_all(client: httpx.Client, data_dir: Path, send: Send) -> Iterator[tuple[str, str]]:
    """Yield every example's operation and its answer, in order."""
    job_id = ""
    for name, example in EXAMPLES.items():
        if name == "create_trained_model":
            _sell(client)
            _wait(data_dir)
        path_values = {key: job_id if key in JOBS.values() else text for key, text in example.path.items()}
        text = send(name, msgspec.structs.replace(example, path=path_values))
        yield name, text
        kind = name.rpartition("_")[2]
        if kind in JOBS and name.startswith("create_"):
            job_id = str(json.loads(text)[JOBS[kind]])
            _, path = operations(client)[name]
            wait_until(lambda at=f"{path}/{job_id}": _is_completed(client, at))
        elif name in ("create_event", "create_events", "create_touchpoints"):
            _wait(data_dir)


def operations(client: httpx.Client) -> dict[str, tuple[str, str]]:
    """Return the method and path of every operation, by id."""
    document = client.get(f"{API}/openapi.json").json()
    return {
        operation["operationId"]: (method, path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def make_plain_sender(client: httpx.Client) -> Send:
    """Return a function that sends examples as written."""
    methods_and_paths = operations(client)

    def send(name: str, example: Example) -> str:
        method, path = methods_and_paths[name]
        body: dict[str, Any] = {} if example.body is None else {"json": example.body}
        if isinstance(example.body, str):
            body = {"content": example.body, "headers": {"Content-Type": "text/csv"}}
        response = client.request(method, example.target(path), **body)
        assert response.is_success, (name, response.text)
        return response.text

    return send


def _sell(client: httpx.Client) -> None:
    """Send a summer's visits and purchases, as many as training needs."""
    paths = (("google_ads", "email"), ("facebook_ads", "direct"), ("google_ads",))
    touchpoints: list[dict[str, str]] = []
    events: list[dict[str, str]] = []
    for number in range(FEWEST_CONVERSIONS):
        day, email = f"2026-07-{1 + number % 31:02}", f"summer{number}@example.com"
        touchpoints += [
            {"email": email, "occurred_at": f"{day}T0{hour}:00:00Z", "source": source}
            for hour, source in enumerate(paths[number % len(paths)])
        ]
        events.append({"email": email, "event_name": "purchase", "event_time": f"{day}T12:00:00Z"})
    for kind, rows in (("touchpoints", touchpoints), ("events", events)):
        assert client.post(f"{API}/{kind}/batch", json={kind: rows}).is_success


def _is_completed(client: httpx.Client, path: str) -> bool:
    return client.get(path).json()["status"] in ("completed", "finished")


def _wait(data_dir: Path) -> None:
    for command in (("queue", "wait"), ("delivery", "wait", "--space", "1")):
        assert run_command(*command, "--data-dir", str(data_dir)).returncode == 0
