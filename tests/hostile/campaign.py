"""Hostile input of every kind at once beside honest traffic: what it does to others. Runs against a
`headwater serve` of its own; `python -m tests.hostile.campaign` prints the figures of a minute.
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
"""Hostile requests that say something."""
EVENTS_A_REQUEST = 10
SENDERS = 5
"""Connections that share the honest events: one alone would wait for its answers too long."""


@dataclass
class Figures:
    """What was seen."""

    accepted: int = 0
    stored: int = 0
    hostile: int = 0
    broken: list[int] = field(default_factory=list[int])
    """Statuses of the server's own failures that hostile requests were answered with."""
    health: list[float] = field(default_factory=list[float])
    growth: int = 0
    """Bytes of memory of the API process, after against before."""

    def health_at(self, part: float) -> float:
        return sorted(self.health)[int(len(self.health) * part)]


async def _hostile(client: httpx.AsyncClient, site_key: str, key: str, figures: Figures) -> None:
    """One request of each kind, over and over, until it is cancelled."""
    made = [make(SIZE) for make in bodies().values()]
    named = b'{"site":"' + site_key.encode() + b'","token":"t","items":'
    authorized = {"Authorization": f"Bearer {key}"}
    api = "/public-api/v1"
    for turn in count():
        body = made[turn % len(made)]
        agent = f"{turn}" + "aB-"[turn % 3] * 2000
        page = {"Origin": ORIGIN, "User-Agent": agent}
        requests: list[httpx.Request] = [
            client.build_request("POST", "/t", content=body),
            client.build_request("POST", "/t", content=named + body + b"}", headers=page),
            client.build_request("GET", "/mcp/oauth/register/" + ":" * 8000 + "g"),
            client.build_request("GET", f"{api}/contacts?email=" + "%22%5C" * 3000, headers=authorized),
            client.build_request("POST", f"{api}/events/track", content=body, headers=authorized),
            client.build_request("POST", f"{api}/contacts", content=body, headers=authorized),
            client.build_request("POST", "/mcp/oauth/register", content=body),
        ]
        for request in requests:
            answer = await client.send(request)
            figures.hostile += 1
            if answer.status_code >= 500 and answer.status_code != 503:
                figures.broken.append(answer.status_code)


async def _honest(client: httpx.AsyncClient, sender: int, key: str, rate: float, figures: Figures) -> None:
    """Events in batches at a steady rate; those that were acknowledged are counted."""
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
        started = time.monotonic()
        await client.get("/healthz")
        figures.health.append(time.monotonic() - started)
        await asyncio.sleep(HEALTH_EVERY)


async def _for(
    seconds: float, works: list[Callable[[], Awaitable[None]]], is_enough: Callable[[], bool]
) -> None:
    """Work for so long, and on a slow machine until it is enough."""
    tasks = [asyncio.ensure_future(work()) for work in works]
    ends_at = time.monotonic() + PATIENCE_SECONDS
    done, waiting = await asyncio.wait(tasks, timeout=seconds)
    while not done and not is_enough() and time.monotonic() < ends_at:
        done, waiting = await asyncio.wait(tasks, timeout=HEALTH_EVERY)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()  # none of them ends by itself


async def _attack(url: str, seconds: float, rate: int, keys: tuple[str, str]) -> Figures:
    figures = Figures()
    site_key, key = keys
    timeout = httpx.Timeout(60)
    async with (
        httpx.AsyncClient(base_url=url, timeout=timeout) as bad,
        httpx.AsyncClient(base_url=url, timeout=timeout, headers={"User-Agent": CHROME}) as good,
        httpx.AsyncClient(base_url=url, timeout=timeout) as watch,
    ):
        await _for(
            seconds,
            [
                lambda: _hostile(bad, site_key, key, figures),
                *(partial(_honest, good, sender, key, rate / SENDERS, figures) for sender in range(SENDERS)),
                lambda: _health(watch, figures),
            ],
            lambda: figures.hostile >= LEAST_HOSTILE,
        )
    return figures


def run(directory: Path, seconds: float, rate: int) -> Figures:
    """Serve, attack, and look at what is left."""
    with Serve(install(directory / "data")) as service:
        url = service.url()
        with psycopg.connect(Embedded(directory / "data").url, autocommit=True) as connection:
            stage = make_stage(connection)
            site = make_site(stage, url)
            (api,) = service.named("api")
            asyncio.run(_attack(url, 2.0, rate, (site.key, stage.key)))  # warms everything up
            before = api.memory_info().rss
            warm = _stored(connection, stage.space_id)
            figures = asyncio.run(_attack(url, seconds, rate, (site.key, stage.key)))
            figures.growth = api.memory_info().rss - before
            figures.stored = _stored(connection, stage.space_id) - warm
        service.stop()
    return figures


def _stored(connection: psycopg.Connection, space_id: int) -> int:
    """Events of the honest sender, processed or waiting."""
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
        f" {figures.accepted} events accepted, {figures.stored} stored;"
        f" /healthz p50 {figures.health_at(0.5) * 1000:.0f} ms,"
        f" p99 {figures.health_at(0.99) * 1000:.0f} ms;"
        f" memory {figures.growth / 1e6:+.0f} MB\n"
    )


if __name__ == "__main__":
    main()
