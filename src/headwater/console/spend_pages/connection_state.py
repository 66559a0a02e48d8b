"""A connection's state in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from headwater.spend.connections.connections import ConnectionRow
from headwater.spend.platforms import registry
from headwater.spend.platforms.platform import FaultCause, SpendPlatform


class ConnectionState(NamedTuple):
    word: str
    tone: str
    """`good`, `bad` or empty."""
    about: str


_TROUBLES: Mapping[str, str] = {
    FaultCause.TOKEN: "Sign-in needed",
    FaultCause.PERMISSION: "No access",
    FaultCause.ACCOUNT: "Account problem",
    FaultCause.VERSION: "Outdated version",
}


def find_platform(row: ConnectionRow) -> SpendPlatform | None:
    """Return None if this version doesn't have the platform."""
    return registry.PLATFORMS.get(row.platform)


def platform_title(row: ConnectionRow) -> str:
    platform = find_platform(row)
    return platform.title if platform is not None else row.platform


def describe_state(row: ConnectionRow) -> ConnectionState:
    title = platform_title(row)
    if row.status == "paused":
        return ConnectionState("Paused", "", "Nothing is fetched until you resume it.")
    if row.status == "held":
        word = _TROUBLES.get(row.fault or "", "Stopped")
        return ConnectionState(word, "bad", f"Nothing is fetched until you change this. {title} says:")
    if row.failures:
        about = f"The last try failed, the next follows by itself. {title} says:"
        return ConnectionState("Retrying", "bad", about)
    if row.pulled_at is None:
        return ConnectionState("Starting", "", "The first spend arrives within a minute.")
    return ConnectionState("Up to date", "good", "Spend is fetched every six hours.")


def describe_history(row: ConnectionRow) -> str:
    if row.history_from is None:
        return "not started"
    share = row.history_share
    first = f"{row.history_from.day} {row.history_from:%b %Y}"
    return f"complete, since {first}" if share >= 1 else f"{share:.0%} of the days since {first}"


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
