"""Forwarding: the rate at which one destination's deliveries are sent, and the delay from an event's 202 to
its arrival at the platform. The platform is a test server on loopback, in the measuring process.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import time
from collections.abc import Callable

import psycopg
from tests.support.fake_platform import Answer, FakePlatform

from bench.stage import Stage
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.database.pool import Database
from headwater.forwarding.deliveries.delivery_loop import DeliveryServices
from headwater.forwarding.deliveries.forwarder import Forwarder, open_clock
from headwater.forwarding.destinations.credentials import seal_secrets
from headwater.forwarding.platforms.platform_client import PlatformClient
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.intake.inbox.queue import wait_until_processed
from headwater.spaces.encryption import derive_key
from headwater.spaces.secret_key import find_secret_key

DELIVERIES = 20_000
SAMPLES = 20
APART_SECONDS = 0.5
PLATFORM = PLATFORMS["meta"]


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the forwarding part of the table."""
    (space_id, _), (sample_space_id, key) = stage.spaces(2)
    stage.stop()
    with FakePlatform(default=Answer(body={"events_received": 1000})) as platform:
        with stage.database() as url:
            secret = _sealing_key(stage, url)
            # This only creates the destination.
            asyncio.run(_drain(url, space_id, platform, secret, fill=False))
            _fill(url, space_id)
            start = time.perf_counter()
            asyncio.run(_drain(url, space_id, platform, secret))
            seconds = time.perf_counter() - start
            calls = len(platform.requests)
        print_line(f"Forwarding: {DELIVERIES:,} deliveries to one Meta destination on loopback")
        print_line("deliveries/s", "calls", "ms a call")
        print_line(f"{DELIVERIES / seconds:,.0f}", calls, f"{1000 * seconds / calls:.0f}")
        os.environ["HEADWATER_META_URL"] = platform.url
        try:
            stage.start()
            waits = _sample(stage, platform, sample_space_id, key)
        finally:
            del os.environ["HEADWATER_META_URL"]
            stage.stop()
    stage.start()
    print_line("from a 202 to the platform, s: the first, p50, p95 of the others")
    first, later_waits = waits[0], sorted(waits[1:])
    print_line(f"{first:.2f}", f"{later_waits[len(later_waits) // 2]:.2f}", f"{later_waits[-2]:.2f}")


def _sealing_key(stage: Stage, url: str) -> bytes:
    return derive_key(find_secret_key(Settings(data_dir=stage.data_dir), url).text)


async def _drain(url: str, space_id: int, platform: FakePlatform, key: bytes, *, fill: bool = True) -> None:
    """Send due deliveries. Without `fill`, only create the destination."""
    async with Database(url) as database:
        if not fill:
            _destination(url, space_id, key)
            return
        async with Egress(["127.0.0.1"]) as egress:
            tools = DeliveryServices(
                database, PlatformClient(egress), PLATFORMS, {PLATFORM.name: platform.url}, key,
                await open_clock(database),
            )  # fmt: skip
            await Forwarder(tools, asyncio.Event()).drain()


def _destination(url: str, space_id: int, key: bytes) -> None:
    with psycopg.connect(url) as connection:
        (number,) = connection.execute(
            "INSERT INTO destinations (space_id, platform, name, all_events, settings)"
            " VALUES (%s, %s, 'bench', true, '{\"pixel_id\": \"1234567890\"}') RETURNING id",
            (space_id, PLATFORM.name),
        ).fetchone()
        sealed_secrets = seal_secrets(key, space_id, number, {"access_token": "bench"})
        connection.execute("UPDATE destinations SET secrets = %s WHERE id = %s", (sealed_secrets, number))


def _fill(url: str, space_id: int) -> None:
    """Insert events with a contact and a platform click each, and their deliveries."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            (
                "INSERT INTO contacts (space_id, id, created_at, email, name, phone)"
                " SELECT %(space)s, nextval('contact_ids'), now(), 'p' || n || '@example.com',"
                " 'Anna Berg', '+4930901820' FROM generate_series(1, %(count)s) n"
            ),
            (
                "INSERT INTO touchpoints (space_id, id, contact_id, occurred_at, source_id,"
                " source_rule, url) SELECT space_id, nextval('receipt_ids'), id,"
                " now() - interval '1 hour', 1, 'bench', 'https://shop.example/?fbclid=IwAR' || id"
                " FROM contacts WHERE space_id = %(space)s"
            ),
            (
                "INSERT INTO events (space_id, id, contact_id, event_name, event_time, received_at,"
                " amount, user_agent, event_url) SELECT space_id, nextval('receipt_ids'), id,"
                " 'purchase', now() - interval '1 minute', now(), 12, 'UA', 'https://shop.example/'"
                " FROM contacts WHERE space_id = %(space)s"
            ),
            (
                "INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id)"
                " SELECT e.space_id, d.id, e.id, 'bench-' || e.id FROM events e"
                " JOIN destinations d ON d.space_id = e.space_id WHERE e.space_id = %(space)s"
            ),
            "ANALYZE",
        ):
            bound = {"space": space_id, "count": DELIVERIES} if "%(" in statement else None
            connection.execute(statement, bound)


def _sample(stage: Stage, platform: FakePlatform, space_id: int, key: str) -> list[float]:
    """Return the seconds from the 202 of single events to their arrival, once the queue is empty."""
    with psycopg.connect(stage.url, autocommit=True) as connection:
        assert wait_until_processed(connection, 120)
    _destination(stage.url, space_id, _sealing_key(stage, stage.url))
    before, waits = len(platform.requests), []
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    for number in range(SAMPLES):
        body = {"event_name": "purchase", "email": f"s{number}@example.com", "amount": 1}
        client.request("POST", "/public-api/v1/events/track", json.dumps(body), headers)
        assert client.getresponse().read() is not None
        accepted_at = time.monotonic()
        waits.append(platform.wait_for(before + number + 1, 60)[-1].time - accepted_at)
        time.sleep(APART_SECONDS)
    client.close()
    return waits
