"""The user's choices for reading a file."""

from __future__ import annotations

from msgspec import Struct


class FileChoices(Struct, frozen=True):
    """None or empty means detected."""

    mapped: tuple[tuple[str, str], ...] = ()
    """Column and field. Over the API, an empty field ignores the column."""
    form: str | None = None
    """The name of a spend format, or of an order layout."""
    decimals: str | None = None
    dates: str | None = None
    """Keys of DECIMALS and DATES."""
    encoding: str | None = None
    """A codec of ENCODINGS."""
    delimiter: str | None = None
    timezone: str | None = None
    """Of times without an offset; for spend, the ad account's."""


NO_CHOICES = FileChoices()
