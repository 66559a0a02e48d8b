"""Many deliveries to Google, some refused: each gets its verdict."""

from __future__ import annotations

import resource
import time
from typing import Any

import pytest

from tests.deliveries.google_ledger import HALF_HOUR, NAMES, SETTINGS, GoogleLedger
from tests.deliveries.google_ledger import google as google  # noqa: PLC0414 # a fixture
from tests.deliveries.staging import Sending
from tests.support.campaigns import IS_LONG, campaign_size

DELIVERIES = campaign_size("HEADWATER_VERDICTS", 2_000, 100_000)


EVENTS = """
    INSERT INTO events (space_id, id, contact_id, event_name, event_time, amount, currency, received_at)
    SELECT %(space)s, nextval('receipt_ids'), %(contact)s, 'purchase', %(moment)s, 5, 'EUR', now()
    FROM generate_series(1, %(count)s)
"""
QUEUED = """
    INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id)
    SELECT %(space)s, %(destination)s, e.id, 'id-' || e.id FROM events e WHERE e.space_id = %(space)s
"""


@pytest.fixture
def destination(sending: Sending, google: GoogleLedger) -> int:
    """A destination with many deliveries of one person's events."""
    google.refuse = lambda event: int(event["transactionId"][3:]) % 10 == 0
    destination = sending.destination(settings=SETTINGS, event_names=NAMES)
    contact = sending.rows.contact(email="ada@example.com")
    values = {"space": sending.space_id, "count": DELIVERIES, "contact": contact,
              "destination": destination, "moment": sending.moment(-60)}  # fmt: skip
    for statement in (EVENTS, QUEUED):
        sending.connection.execute(statement, values)
    for table in ("events", "deliveries"):
        sending.connection.execute(f"ANALYZE {table}")
    sending.advance(60)
    return destination


def test_it_works(sending: Sending, google: GoogleLedger, destination: int) -> None:
    """Deliveries are sent in calls of 1,000, and one request per call gets all its verdicts."""
    start_time, memory = time.monotonic(), _memory()
    sending.run()
    sent_in = time.monotonic() - start_time
    assert sending.statuses(destination) == {"delivered": DELIVERIES}
    sending.advance(HALF_HOUR)
    start_time = time.monotonic()
    sending.run()
    judged_in = time.monotonic() - start_time
    counts = sending.statuses(destination)
    assert counts.keys() == {"counted", "refused"}
    assert sum(counts.values()) == DELIVERIES
    assert abs(counts["refused"] - DELIVERIES / 10) <= 1
    assert counts["counted"] == len(google.amounts)
    assert len(google.requests) == -(-DELIVERIES // 1_000)
    assert _open_requests(sending) == 0
    if IS_LONG:
        figures = f"{DELIVERIES:,} sent in {sent_in:.1f} s, judged in {judged_in:.1f} s"
        print(f"\n{figures}, {_memory() - memory:.0f} MB more")  # noqa: T201 - the long form's figures


def _open_requests(sending: Sending) -> Any:
    row = sending.connection.execute(
        "SELECT count(*) FROM verdict_requests WHERE space_id = %s", (sending.space_id,)
    ).fetchone()
    return row and row[0]


def _memory() -> float:
    """Return this process's peak memory, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
