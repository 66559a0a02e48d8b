"""Other companies' protocols: acknowledged messages a second, compared with `POST /events/batch`, with orders
in both.

Rounds alternate, so that a busy machine slows both. The median ratio counts.
"""

from __future__ import annotations

import itertools
import json
import secrets
import statistics
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from uuid import uuid4

from bench.ingest import batches, prepare_requests
from bench.load import Request, keep_busy
from bench.stage import Stage

BATCH = 100
GA4_BATCH = 25
ROUNDS = 5
SECONDS = 4.0
CONNECTIONS = (2, 16)
LIBRARY = {"name": "analytics-python", "version": "2.3.4"}


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the part of the table on protocols."""
    keys = [key for _, key in stage.spaces(200)]
    stage.pause_worker()
    print_line(f"Protocols beside POST /events/batch, {ROUNDS} rounds in alternation, the worker paused")
    print_line("connections", "what", "messages/s", "of /events/batch", "CPU of it")
    for connections in CONNECTIONS:
        for name, size, make in (("Segment", BATCH, segment_batches), ("GA4", GA4_BATCH, ga4_requests)):
            prepared_requests, batch_requests = (
                prepare_requests(lambda make=make: make(keys), 400),
                batches(keys, size),
            )
            rounds = [
                [
                    *_run(stage, connections, size, prepared_requests),
                    *_run(stage, connections, size, batch_requests),
                ]
                for _ in range(ROUNDS)
            ]
            rates = [rate for rate, _, _, _ in rounds]
            ratios = [rate / usual for rate, _, usual, _ in rounds]
            costs = [usual_cost / cost for _, cost, _, usual_cost in rounds]
            middle = statistics.median
            print_line(
                connections, name, f"{middle(rates):,.0f}", f"{middle(ratios):.2f}", f"{middle(costs):.2f}"
            )
    stage.resume_worker()
    stage.wait_until_drained(900)


def _run(
    stage: Stage, connections: int, size: int, make: Callable[[], Iterator[Request]]
) -> tuple[float, float]:
    """Return the messages a second, and the CPU seconds per message."""
    before = stage.cpu_seconds()
    result = keep_busy(stage.port, connections, SECONDS, make)
    rate = result.rate() * size
    return rate, (stage.cpu_seconds() - before) / max(1.0, rate * result.seconds)


def segment_batches(keys: list[str]) -> Iterator[Request]:
    """Yield orders as Segment's library for Python sends them."""
    run = secrets.token_hex(4)
    for number in itertools.count():
        now = datetime.now(UTC).isoformat()
        messages = [
            {
                "type": "track", "event": "Order Completed", "messageId": str(uuid4()), "timestamp": now,
                "userId": f"user-{item % 50_000}", "anonymousId": None, "integrations": {},
                "context": {"library": LIBRARY},
                "properties": {
                    "order_id": f"{run}-{item}", "revenue": (item % 50_000) / 100, "currency": "EUR",
                },
            }
            for item in range(number * BATCH, (number + 1) * BATCH)
        ]  # fmt: skip
        body = json.dumps({"batch": messages, "sentAt": now}).encode()
        key = b64encode(f"{keys[number % len(keys)]}:".encode()).decode()
        yield _post("/segment/v1/batch", body, f"Authorization: Basic {key}\r\n")


def ga4_requests(keys: list[str]) -> Iterator[Request]:
    """Yield Measurement Protocol requests with as many purchases as allowed."""
    run = secrets.token_hex(4)
    for number in itertools.count():
        events = [
            {
                "name": "purchase",
                "params": {
                    "transaction_id": f"{run}-{item}", "value": (item % 50_000) / 100, "currency": "EUR",
                },
            }
            for item in range(number * GA4_BATCH, (number + 1) * GA4_BATCH)
        ]  # fmt: skip
        body = json.dumps(
            {"client_id": f"{number}.1", "user_id": f"user-{number}", "events": events}
        ).encode()
        yield _post(f"/ga4/mp/collect?measurement_id=G-1&api_secret={keys[number % len(keys)]}", body)


def _post(path: str, body: bytes, headers: str = "") -> Request:
    return (
        f"POST {path} HTTP/1.1\r\nHost: hw.shop.example\r\n{headers}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
