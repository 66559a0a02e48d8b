"""Hostile input of every kind next to honest traffic, to measure its effect on others. Runs against its own
`headwater serve`. `python -m tests.hostile.campaign` prints the figures of a minute.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import httpx
import psycopg

from headwater.database.embedded import Embedded
from tests.hostile.inputs import bodies
from tests.support.factories import make_stage
from tests.support.installations import install
from tests.support.processes import Serve
from tests.support.sites import CHROME, ORIGIN, make_site
from tests.support.waiting import PATIENCE_SECONDS

SIZE = 16 * 1024
HEALTH_EVERY = 0.02
LEAST_HOSTILE = 20
"""The fewest hostile requests for a meaningful result."""
EVENTS_A_REQUEST = 10
SENDERS = 5
"""Connections that share the honest events: a single one would spend too long waiting for answers."""


@dataclass
class Figures:
    """The measurements."""

    accepted: int = 0
    stored_count: int = 0
    hostile: int = 0
    broken: list[int] = field(default_factory=list[int])
    """Status codes of server errors in answers to hostile requests."""
    health: list[float] = field(default_factory=list[float])
    growth: int = 0
    """Growth of the API process's memory in bytes."""

    def health_at(self, part: float) -> float:
        return sorted(self.health)[int(len(self.health) * part)]


async def _attack_repeatedly(client: httpx.AsyncClient, site_key: str, key: str, figures: Figures) -> None:
    """Send one request of each kind repeatedly, until cancelled."""
    hostile_bodies = [make(SIZE) for make in bodies().values()]
    body_start = b'{"site":"' + site_key.encode() + b'","token":"t","items":'
    key_header = {"Authorization": f"Bearer {key}"}
    api = "/public-api/v1"
    for turn in count():
        body = hostile_bodies[turn % len(hostile_bodies)]
        agent = f"{turn}" + "aB-"[turn % 3] * 2000
        page = {"Origin": ORIGIN, "User-Agent": agent}
        requests: list[httpx.Request] = [
            client.build_request("POST", "/t", content=body),
            client.build_request("POST", "/t", content=body_start + body + b"}", headers=page),
            client.build_request("GET", "/mcp/oauth/register/" + ":" * 8000 + "g"),
            client.build_request("GET", f"{api}/contacts?email=" + "%22%5C" * 3000, headers=key_header),
            client.build_request("POST", f"{api}/events/track", content=body, headers=key_header),
            client.build_request("POST", f"{api}/contacts", content=body, headers=key_header),
            client.build_request("POST", "/mcp/oauth/register", content=body),
        ]
        for request in requests:
            answer = await client.send(request)
            figures.hostile += 1
            if answer.status_code >= 500 and answer.status_code != 503:
                figures.broken.append(answer.status_code)


async def _send_honest_events(
    client: httpx.AsyncClient, sender: int, key: str, rate: float, figures: Figures
) -> None:
    """Send events in batches at a steady rate, and count the acknowledged ones."""
    pause = EVENTS_A_REQUEST / rate
    headers = {"Authorization": f"Bearer {key}"}
    due = time.monotonic()
    for turn in count():
        events = [
            {"event_name": "purchase", "email": f"p{sender}-{turn}-{n}@example.com"}
            for n in range(EVENTS_A_REQUEST)
        ]
        body = json.dumps({"events": events})
        answer = await client.post("/public-api/v1/events/batch", content=body, headers=headers)
        if answer.status_code == 202:
            figures.accepted += EVENTS_A_REQUEST
        due += pause
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _health(client: httpx.AsyncClient, figures: Figures) -> None:
    while True:
        start = time.monotonic()
        await client.get("/healthz")
        figures.health.append(time.monotonic() - start)
        await asyncio.sleep(HEALTH_EVERY)


async def _work_for(
    seconds: float, works: list[Callable[[], Awaitable[None]]], is_enough: Callable[[], bool]
) -> None:
    """Work for this time, or longer on a slow machine, until it is enough."""
    tasks = [asyncio.ensure_future(work()) for work in works]
    ends_at = time.monotonic() + PATIENCE_SECONDS
    finished_tasks, unfinished_tasks = await asyncio.wait(tasks, timeout=seconds)
    while not finished_tasks and not is_enough() and time.monotonic() < ends_at:
        finished_tasks, unfinished_tasks = await asyncio.wait(tasks, timeout=HEALTH_EVERY)
    for task in unfinished_tasks:
        task.cancel()
    await asyncio.gather(*unfinished_tasks, return_exceptions=True)
    for task in finished_tasks:
        task.result()  # the tasks don't end by themselves


async def _attack(url: str, seconds: float, rate: int, keys: tuple[str, str]) -> Figures:
    figures = Figures()
    site_key, key = keys
    timeout = httpx.Timeout(60)
    async with (
        httpx.AsyncClient(base_url=url, timeout=timeout) as bad_client,
        httpx.AsyncClient(base_url=url, timeout=timeout, headers={"User-Agent": CHROME}) as good_client,
        httpx.AsyncClient(base_url=url, timeout=timeout) as watch,
    ):
        await _work_for(
            seconds,
            [
                lambda: _attack_repeatedly(bad_client, site_key, key, figures),
                *(
                    partial(_send_honest_events, good_client, sender, key, rate / SENDERS, figures)
                    for sender in range(SENDERS)
                ),
                lambda: _health(watch, figures),
            ],
            lambda: figures.hostile >= LEAST_HOSTILE,
        )
    return figures


def run(directory: Path, seconds: float, rate: int) -> Figures:
    """Serve, attack, and measure the result."""
    with Serve(install(directory / "data")) as service:
        url = service.url()
        with psycopg.connect(Embedded(directory / "data").url, autocommit=True) as connection:
            stage = make_stage(connection)
            site = make_site(stage, url)
            (api,) = service.find_children("api")
            asyncio.run(_attack(url, 2.0, rate, (site.key, stage.key)))  # warm-up
            before = api.memory_info().rss
            warm = _count_honest_events(connection, stage.space_id)
            figures = asyncio.run(_attack(url, seconds, rate, (site.key, stage.key)))
            figures.growth = api.memory_info().rss - before
            figures.stored_count = _count_honest_events(connection, stage.space_id) - warm
        service.stop()
    return figures


def _count_honest_events(connection: psycopg.Connection, space_id: int) -> int:
    """Return the number of honest events, processed or waiting."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM inbox WHERE space_id = %(space)s AND kind = 'event')"
        " + (SELECT count(*) FROM events WHERE space_id = %(space)s)", {"space": space_id}
    ).fetchone()  # fmt: skip
    assert row is not None
    return row[0]


def main() -> None:
    seconds = float(os.environ.get("HEADWATER_HOSTILE_SECONDS", "60"))
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), seconds, 500)
    sys.stdout.write(
        f"{figures.hostile} hostile requests, {len(figures.broken)} failures of the server;"
        f" {figures.accepted} events accepted, {figures.stored_count} stored;"
        f" /healthz p50 {figures.health_at(0.5) * 1000:.0f} ms,"
        f" p99 {figures.health_at(0.99) * 1000:.0f} ms;"
        f" memory {figures.growth / 1e6:+.0f} MB\n"
    )


if __name__ == "__main__":
    main()
