"""The choices of the user for a file whose header and cells leave them open."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileChoices:
    """The parts of a reading that the user chose; the others are found out."""

    mapped: tuple[tuple[str, str], ...] = ()
    """Columns and their fields; over the API empty for a column that is left out."""
    form: str | None = None
    """The name of a format of spend."""
    decimals: str | None = None
    dates: str | None = None
    """As of a Notation."""
    encoding: str | None = None
    """A codec of ENCODINGS."""
    delimiter: str | None = None
    timezone: str | None = None
    """The zone of times without an offset; of spend, the ad account's."""


NO_CHOICES = FileChoices()
"""Everything is found out."""
