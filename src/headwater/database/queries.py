"""Named statements: SQL is read and reviewed as SQL, in `.sql` files beside the code using it.

A file holds statements, each after a line `-- name: <name>` and a comment on its purpose.
Parameters are bound by name (`%(space_id)s`); nothing outside these files writes SQL, except
fragments composed with `psycopg.sql` from closed tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, LiteralString, TypeVar, cast

from psycopg import AsyncConnection, AsyncCursor
from psycopg.sql import SQL, Composed

Row = TypeVar("Row")

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


class Queries:
    """The statements of the file beside a module: `queries = Queries(__name__, "events.sql")`."""

    def __init__(self, module: str, file: str) -> None:
        text = files(module.rpartition(".")[0]).joinpath(file).read_text(encoding="utf-8")
        head, *rest = _NAME.split(text)
        if head.strip() and not head.lstrip().startswith("--"):
            raise ValueError(f"{file}: text before the first '-- name:'")
        self._statements = {
            name: SQL(cast("LiteralString", body.strip().rstrip(";")))
            for name, body in zip(rest[::2], rest[1::2], strict=True)
        }
        if len(self._statements) * 2 != len(rest):
            raise ValueError(f"{file}: a statement name is used twice")

    def __getitem__(self, name: str) -> SQL:
        return self._statements[name]

    def names(self) -> list[str]:
        """Return every statement's name, in the order of the file."""
        return list(self._statements)


async def fetch_one(
    source: AsyncConnection[Row] | AsyncCursor[Row],
    query: SQL | Composed,
    values: Mapping[str, Any] | None = None,
) -> Row:
    """Return the row of a query that always has one."""
    row = await fetch_optional(source, query, values)
    assert row is not None
    return row


async def fetch_optional(
    source: AsyncConnection[Row] | AsyncCursor[Row],
    query: SQL | Composed,
    values: Mapping[str, Any] | None = None,
) -> Row | None:
    """Return the first row of a query, or None when there is none."""
    return await (await source.execute(query, values)).fetchone()


async def fetch_all(
    source: AsyncConnection[Row] | AsyncCursor[Row],
    query: SQL | Composed,
    values: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Return every row of a query, in its order."""
    return await (await source.execute(query, values)).fetchall()
