"""The CPU time of an API process for a single event, by part: the minimum of many short runs, in a separate
process without sockets, so that other load on the machine hardly matters.
"""

from __future__ import annotations

import asyncio
import gc
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import psycopg
import uvicorn
import uvloop

from bench.ingest import TRACK, event
from bench.load import request
from bench.stage import Stage
from headwater.database.pool import Database, connect
from headwater.front import Front
from headwater.http.bodies import read_body
from headwater.http.connection import Protocol, State
from headwater.http.health import healthz
from headwater.http.rate_limits import Quota
from headwater.http.server import NEW_OBJECTS, make_server
from headwater.intake.inbox.inbox import Inbox, Request
from headwater.intake.ingest.endpoints import SCOPE, TRACKING, Ingest, TrackEndpoint
from headwater.intake.ingest.payload import accept
from headwater.spaces.access import Caller, KeyCache

GROUPS = (64, 32)
"""Requests that share a commit. With 64 connections, groups have about 30 to 40 requests."""
SECONDS = 4.0
KEY = "k" * 50
QUOTA = Quota(100_000_000, 1, 99_999_999, 2_000_000_000, 30)


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print this part of the table."""
    stage.pause_worker()
    for size in GROUPS:
        spaces = [space_id for space_id, _ in stage.spaces(size)]
        print_line(f"CPU time of an API process for a single event, of {size} in a commit, without sockets")
        print_line("us", "what")
        for name, seconds in uvloop.run(_measure(stage.url, spaces)).items():
            print_line(f"{1e6 * seconds / size:.1f}", name)
    with psycopg.connect(stage.url, autocommit=True) as connection:
        connection.execute("TRUNCATE inbox")
    stage.resume_worker()


class _Transport(asyncio.Transport):
    """Remembers whether an answer was written."""

    answered = False

    def write(self, _: Any) -> None:
        self.answered = True

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class _Keys(KeyCache):
    """Accepts a single caller."""

    async def find(self, _: bytes) -> Caller | None:
        return Caller(1, 1, frozenset({SCOPE}))


class _Inbox(Inbox):
    """Answers without a commit."""

    def answer(self) -> None:
        for tracking_request in self._gather():
            tracking_request.receipts, tracking_request.quota = (1,), QUOTA
            tracking_request.finish()


async def _read(_: Any, receive: Any, send: Any) -> None:
    await read_body(receive)
    await healthz(_, receive, send)


async def _measure(url: str, spaces: list[int]) -> dict[str, float]:
    """Return the minimum of seconds for one unit of work per Space."""
    run = secrets.token_hex(4)
    bodies = [json.dumps(event(number, run)).encode() for number, _ in enumerate(spaces)]
    inbox = _Inbox(url, TRACKING)
    track = TrackEndpoint(Ingest(_Keys(Database(url), 1.0), inbox))
    app = Front({("GET", "/healthz"): healthz, ("POST", "/read"): _read, ("POST", TRACK): track}, healthz)
    config = make_server(app).config
    config.load()
    connections = [_connect(config) for _ in spaces]

    def exchange(method: str, path: str) -> Callable[[], Awaitable[None]]:
        requests = [request(method, path, KEY, body) for body in bodies]

        async def send() -> None:
            for (protocol, transport), content in zip(connections, requests, strict=True):
                transport.answered = False
                protocol.data_received(content)
            while not all(transport.answered for _, transport in connections):
                await asyncio.sleep(0)
                inbox.answer()

        return send

    async def validate() -> None:
        for body in bodies:
            accept(body, time.time())

    rows = [_row(body) for body in bodies]
    async with await connect(url) as connection:

        async def commit() -> None:
            pairs = zip(spaces, rows, strict=True)
            group = [Request(space_id, 10**8, 1, [row]) for space_id, row in pairs]
            await inbox._flush(connection, group)  # noqa: SLF001 - the work of its background task

        return await _least({
            "no-op": exchange("GET", "/healthz"),
            "no-op that reads the body": exchange("POST", "/read"),
            "event, without its commit": exchange("POST", TRACK),
            "... of which validation": validate,
            "commit of the group": commit,
        })  # fmt: skip


def _connect(config: uvicorn.Config) -> tuple[Protocol, _Transport]:
    protocol, transport = Protocol(config, State(1_000), {}, asyncio.get_running_loop()), _Transport()
    protocol.connection_made(transport)
    return protocol, transport


def _row(body: bytes) -> bytes:
    return msgspec.json.encode(accept(body, time.time()))


async def _least(works: dict[str, Callable[[], Awaitable[None]]]) -> dict[str, float]:
    gc.freeze()  # as in the server
    gc.set_threshold(NEW_OBJECTS)
    return {name: await _measure_least(work) for name, work in works.items()}


async def _measure_least(work: Callable[[], Awaitable[None]]) -> float:
    least, end = float("inf"), time.monotonic() + SECONDS
    while time.monotonic() < end:
        start = time.process_time()
        await work()
        least = min(least, time.process_time() - start)
    return least
