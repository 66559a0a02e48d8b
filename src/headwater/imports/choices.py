"""The choices of the user for a file whose header and cells leave them open."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileChoices:
    """The parts of a reading that the user chose; the others are found out."""

    mapped: tuple[tuple[str, str], ...] = ()
    """Columns and their fields."""
    form: str | None = None
    """The name of a format of spend."""
    decimals: str | None = None
    dates: str | None = None
    """As of a Notation."""
