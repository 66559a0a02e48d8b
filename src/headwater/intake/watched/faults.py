"""Reasons why a watched file is not imported."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class WatchFault(StrEnum):
    ADDRESS = "address"
    """It may not be called."""
    CREDENTIALS = "credentials"
    SETTINGS = "settings"
    """The file cannot be read without more, or other, settings."""
    MISSING = "missing"
    """No file, or no permission to see it."""
    TOO_LARGE = "too_large"
    CONTENT = "content"
    """Not a table."""
    UNREACHABLE = "unreachable"


HELD_FAULTS = frozenset({WatchFault.ADDRESS, WatchFault.CREDENTIALS, WatchFault.SETTINGS})
"""These wait for a person."""


REMEDIES: Mapping[str, str] = {
    WatchFault.ADDRESS: "Correct the address.",
    WatchFault.CREDENTIALS: "Enter new secrets that give access to the file.",
    WatchFault.SETTINGS: "Add or change the setting that the message names.",
    WatchFault.MISSING: (
        "Check that the platform still writes its report to this address, and that the secrets give access to"
        " it."
    ),
    WatchFault.TOO_LARGE: "Shorten the report, for example to the last 30 days.",
    WatchFault.CONTENT: "Check that the address returns a CSV file and not a page, an archive or a workbook.",
    WatchFault.UNREACHABLE: (
        "Wait: fetches are repeated automatically. If they keep failing, check that Headwater can connect to"
        " the address."
    ),
}
"""What a member does about each fault."""


class FetchError(Exception):
    """The file could not be fetched or read. The text can be shown to users."""

    def __init__(self, fault: WatchFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault
