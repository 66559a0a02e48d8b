"""A query whose rows are lines of JSON, ready to be written as they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg.sql import SQL, Composed


@dataclass(frozen=True)
class Lines:
    """The query of the lines, and the query of their number."""

    query: SQL | Composed
    """A SELECT of one text column."""
    count: SQL | Composed
    """A SELECT of the number of rows that the lines are read from."""
    counted: str
    """The name of the counted rows, in the plural: `events`."""
    parameters: dict[str, Any]
    """The values that both queries bind."""
