"""Count deliveries and calls, by platform."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence

from prometheus_client import Histogram

from headwater.base.telemetry.counters import make_counter
from headwater.forwarding.deliveries.queue import DeliveryRecord
from headwater.forwarding.platforms.registry import PLATFORMS

deliveries = make_counter(
    "headwater_deliveries",
    "Deliveries by outcome of an attempt or later verdict",
    platform=PLATFORMS,
    outcome=("delivered", "counted", "refused", "retrying", "failed", "expired", "skipped", "held"),
)
calls = make_counter(
    "headwater_platform_calls",
    "Calls to platforms",
    platform=PLATFORMS,
    answer=("2xx", "3xx", "4xx", "5xx", "none"),
)
call_seconds = Histogram(
    "headwater_platform_call_seconds",
    "Time of a call to a platform",
    ["platform"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def count_deliveries(platform: str, records: Sequence[DeliveryRecord]) -> None:
    """Count outcomes, except postponed deliveries without an attempt."""
    outcomes = Tally(record.outcome or record.status for record in records)
    for outcome, number in outcomes.items():
        if outcome is not None:
            deliveries.labels(platform, outcome).inc(number)


def count_call(platform: str, status: int | None) -> None:
    """Count by status class, `none` without a response."""
    calls.labels(platform, "none" if status is None else f"{status // 100}xx").inc()
