"""Count pulls, calls and stored rows, by platform."""

from __future__ import annotations

from headwater.base.telemetry.counters import make_counter
from headwater.spend.platforms.platform import FaultCause
from headwater.spend.platforms.registry import PLATFORMS

COMPLETE = "complete"
LOST = "lost"
"""Another process took over, or someone paused the connection."""

_pulls = make_counter(
    "headwater_spend_pulls",
    "Pulls of ad accounts by outcome",
    platform=PLATFORMS,
    outcome=(COMPLETE, *FaultCause, LOST),
)
_calls = make_counter(
    "headwater_spend_calls",
    "Calls to platforms' reports of spend",
    platform=PLATFORMS,
    answer=("2xx", "3xx", "4xx", "5xx", "none"),
)
_rows = make_counter(
    "headwater_spend_pulled_rows", "Rows that pulls added to the ledger or changed", platform=PLATFORMS
)


def count_pull(platform: str, outcome: str) -> None:
    if platform in PLATFORMS:
        _pulls.labels(platform, outcome).inc()


def count_call(platform: str, status: int | None) -> None:
    """Count by status class, `none` without a response."""
    if platform in PLATFORMS:
        _calls.labels(platform, "none" if status is None else f"{status // 100}xx").inc()


def count_rows(platform: str, number: int) -> None:
    if platform in PLATFORMS:
        _rows.labels(platform).inc(number)
