"""A query whose rows are lines of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from psycopg.sql import SQL, Composed


class ColumnType(StrEnum):
    """The types of a line's members, all nullable."""

    WHOLE = "whole number"
    """Of 64 bits."""
    AMOUNT = "amount"
    """A decimal number with at most 15 digits before the point and 4 after it."""
    NUMBER = "number"
    """A decimal number with at most 28 digits before the point and 10 after it."""
    BOOLEAN = "true or false"
    TEXT = "text"
    MOMENT = "moment"
    """To the microsecond, in UTC."""
    TEXTS = "list of texts"


@dataclass(frozen=True)
class LineColumn:
    name: str
    type: ColumnType


@dataclass(frozen=True)
class Lines:
    query: SQL | Composed
    count: SQL | Composed
    """A SELECT of the number of underlying rows."""
    parameters: dict[str, Any]
    columns: tuple[LineColumn, ...]
    parts: Iterable[Mapping[str, Any]] = ({},)
    """Values of the query for each part, whose lines follow each other. Values from the database are read
    between two parts.
    """
