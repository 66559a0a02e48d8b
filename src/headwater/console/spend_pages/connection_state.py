"""The states of connections and watched addresses in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.base.dates import format_day
from headwater.console.platform_pages.destination_state import Standing
from headwater.intake.watched.faults import WatchFault
from headwater.intake.watched.watched_files import WatchedFileRow
from headwater.spend.connections.connections import ConnectionRow
from headwater.spend.platforms import registry
from headwater.spend.platforms.platform import FaultCause, SpendPlatform

_TROUBLES: Mapping[str, str] = {
    FaultCause.TOKEN: "Sign-in needed",
    FaultCause.PERMISSION: "No access",
    FaultCause.ACCOUNT: "Account problem",
    FaultCause.VERSION: "Outdated version",
    WatchFault.ADDRESS: "Wrong address",
    WatchFault.CREDENTIALS: "No access",
    WatchFault.SETTINGS: "Setting needed",
    WatchFault.MISSING: "File missing",
    WatchFault.TOO_LARGE: "Too large",  # a day of an ad account, too: the cause has the same name
    WatchFault.CONTENT: "Not a table",
}


def find_platform(row: ConnectionRow) -> SpendPlatform | None:
    """Return None if this version doesn't have the platform."""
    return registry.PLATFORMS.get(row.platform)


def platform_title(row: ConnectionRow) -> str:
    platform = find_platform(row)
    return platform.title if platform is not None else row.platform


def describe_state(row: ConnectionRow) -> Standing:
    if row.pulled_at is None:
        faultless_state = Standing("Starting", "", "The first spend arrives within a minute.")
    else:
        faultless_state = Standing("Up to date", "good", "Spend is fetched every six hours.")
    return _choose_state(row, f"{platform_title(row)} says:", faultless_state)


def describe_file_state(row: WatchedFileRow) -> Standing:
    if row.fetched_at is None:
        faultless_state = Standing("Starting", "", "The file is fetched within a minute.")
    else:
        about = "The file is fetched every six hours, and imported if it changed."
        faultless_state = Standing("Up to date", "good", about)
    return _choose_state(row, "Reason:", faultless_state)


def shorten_address(address: str) -> str:
    """Return an address without its query, which may be a secret."""
    start, mark, _ = address.partition("?")
    return f"{start}?…" if mark else start


def _choose_state(row: ConnectionRow | WatchedFileRow, reason: str, without_fault: Standing) -> Standing:
    if row.status == "paused":
        return Standing("Paused", "", "Nothing is fetched until you resume it.")
    if row.status == "held":
        word = _TROUBLES.get(row.fault or "", "Stopped")
        return Standing(word, "bad", f"Nothing is fetched until you change this. {reason}")
    if row.failures:
        word = _TROUBLES.get(row.fault or "", "Retrying")
        return Standing(word, "bad", f"The last try failed, the next follows by itself. {reason}")
    return without_fault


def describe_history(row: ConnectionRow) -> str:
    if row.history_from is None:
        return "not started"
    share = row.history_share
    first = format_day(row.history_from)
    return f"complete, since {first}" if share >= 1 else f"{share:.0%} of the days since {first}"
