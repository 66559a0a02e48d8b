"""A program that sends orders with Segment's or RudderStack's library for Python, for test_libraries.py."""

from __future__ import annotations

import sys
from typing import Any

from rudderstack.analytics.client import Client as RudderClient
from segment.analytics.client import Client as SegmentClient

from tests.segment.orders import REFUND, is_refunded, revenue

CLIENTS: dict[str, Any] = {"py": SegmentClient, "rudder-py": RudderClient}


def main(library: str, host: str, key: str, count: int) -> None:
    failures: list[object] = []
    client = CLIENTS[library](
        key,
        host=f"{host}/segment",
        upload_interval=0.05,
        max_retries=100,
        on_error=lambda *error: failures.append(error),
    )
    for number in range(count):
        order = {"order_id": f"{library}-{number}", "currency": "EUR"}
        user = f"{library}-{number % 50}"
        client.track(user, "Order Completed", {**order, "revenue": revenue(number)})
        if is_refunded(number):
            client.track(user, "Order Refunded", {**order, "total": REFUND})
        while client.queue.qsize() > 1000:
            client.queue.join()
    client.flush()
    client.shutdown()
    if failures:
        sys.exit(f"{failures[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
