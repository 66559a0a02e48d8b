"""Reasons why a watched file is not imported."""

from __future__ import annotations

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


class FetchError(Exception):
    """The file could not be fetched or read. The text can be shown to users."""

    def __init__(self, fault: WatchFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault
