"""A destination's sending and token state in words. Pure."""

from __future__ import annotations

from typing import NamedTuple

from headwater.console.pages import wait_text
from headwater.forwarding.deliveries.delivery_counts import MOST_COUNTED, Waiting
from headwater.forwarding.destinations.destinations import DestinationRow
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import Platform


class Standing(NamedTuple):
    word: str
    tone: str
    """`good`, `bad` or empty."""
    about: str


def find_platform(row: DestinationRow) -> Platform | None:
    """Return None if this version doesn't have the platform."""
    return registry.PLATFORMS.get(row.platform)


def describe_standing(row: DestinationRow) -> Standing:
    if row.status == "held":
        about = (row.status_reason or "The platform refused the credentials.").rstrip(".")
        return Standing("Held", "bad", f"{about}.")
    if row.status == "paused":
        return Standing("Paused", "", "Nothing is sent, and new events are skipped.")
    if row.wait_until is not None:
        return Standing("Active", "", "Waiting, because the last call failed.")
    return Standing("Active", "good", "Events are sent as they arrive.")


def describe_token(row: DestinationRow) -> Standing:
    platform = find_platform(row)
    if not row.secret_names and platform is not None and platform.secrets:
        return Standing("missing", "bad", "No token is stored.")
    if row.status == "held":
        return Standing("refused", "bad", "Replace it, test it, then resume.")
    if row.test_ok:
        return Standing("accepted", "good", "The last test passed.")
    if row.test_ok is False:
        return Standing("in doubt", "bad", "The last test failed.")
    return Standing("not tested", "", "Stored, but not tested since the last change.")


def describe_lag(waiting: Waiting) -> str:
    number = f"{MOST_COUNTED:,}+" if waiting.number >= MOST_COUNTED else f"{waiting.number:,}"
    lag = waiting.lag_seconds or 0
    return f"{number}, the longest for {_write_duration(int(lag))}" if lag >= 1 else number


def _write_duration(seconds: int) -> str:
    if seconds < 2 * 3600:
        return wait_text(max(1, seconds))
    hours = seconds // 3600
    return f"{hours} hours" if hours < 48 else f"{hours // 24} days"
