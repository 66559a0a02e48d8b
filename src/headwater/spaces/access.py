"""Who is calling: an API key to the Space and scopes it opens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated API key."""

    space_id: int
    key_id: int
    scopes: frozenset[str]
