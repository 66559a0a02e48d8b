"""A program that sends events with the Python client's file buffer, and is killed meanwhile. It adds the
events from a number on, records each accepted one, and ends when all are sent. An event's idempotency key is
the number of its order, so that it may be added again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from headwater_client import Client, EventBuffer

file, notes, first, end = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
client = Client(os.environ["URL"], os.environ["KEY"], backoff=0)
with (
    EventBuffer(client, file=file, batch=7, seconds=0.01, retry_seconds=0.01) as buffer,
    notes.open("a") as taken,
):
    for number in range(first, end):
        order = str(number)
        buffer.add({
            "event_name": "purchase", "email": "anna@example.com", "order_id": order,
            "event_time": "2026-11-01T12:00:00Z", "idempotency_key": order,
        })  # fmt: skip
        taken.write(f"{number}\n")
        taken.flush()
    assert buffer.flush(600)
