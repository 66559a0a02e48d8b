"""A query whose rows are lines of JSON, ready to be written as they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg.sql import SQL, Composed


@dataclass(frozen=True)
class Lines:
    """What to write, and how much of it to expect."""

    query: SQL | Composed
    """A SELECT of one text column."""
    count: SQL | Composed
    """A SELECT of how many rows there are to come from."""
    counted: str
    """What that counts, in the plural: `events`."""
    parameters: dict[str, Any]
    """What both bind."""
