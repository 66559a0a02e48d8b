"""Names in a sentence: the first of a list that can be long."""

from __future__ import annotations

from collections.abc import Sequence


def list_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names, and how many more there are."""
    first_names = ", ".join(names[:most])
    return f"{first_names} and {len(names) - most} more" if len(names) > most else first_names
