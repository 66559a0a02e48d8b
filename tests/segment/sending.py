"""A program that sends orders with Segment's library for Python, for test_libraries.py."""

from __future__ import annotations

import sys

from segment.analytics.client import Client

from tests.segment.orders import REFUND, is_refunded, revenue


def main(host: str, key: str, count: int) -> None:
    failed: list[object] = []
    client = Client(
        key,
        host=f"{host}/segment",
        upload_interval=0.05,
        max_retries=100,
        on_error=lambda *error: failed.append(error),
    )
    for number in range(count):
        order = {"order_id": f"py-{number}", "currency": "EUR"}
        user = f"py-{number % 50}"
        client.track(user, "Order Completed", {**order, "revenue": revenue(number)})
        if is_refunded(number):
            client.track(user, "Order Refunded", {**order, "total": REFUND})
        while client.queue.qsize() > 1000:
            client.queue.join()
    client.shutdown()
    if failed:
        sys.exit(f"{failed[0]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
