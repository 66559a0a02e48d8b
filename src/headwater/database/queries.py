"""Named statements in `.sql` files next to the code using them.

Each follows a line `-- name: <name>` and an optional comment. Parameters are bound by name (`%(space_id)s`);
other SQL is only composed with `psycopg.sql` from closed tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, LiteralString, TypeVar, cast, overload

from msgspec import Struct
from psycopg import AsyncConnection, AsyncCursor, AsyncRawCursor, Connection, Cursor
from psycopg.rows import TupleRow, class_row
from psycopg.sql import SQL, Composable, Composed

Row = TypeVar("Row")

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PLACE = re.compile(r"%(?:\((\w+)\)s|%)")


class Queries:
    """The statements of the file next to a module: `queries = Queries(__name__, "events.sql")`."""

    def __init__(self, module: str, file: str) -> None:
        text = files(module.rpartition(".")[0]).joinpath(file).read_text(encoding="utf-8")
        head, *sections = _NAME.split(text)
        if head.strip() and not head.lstrip().startswith("--"):
            raise ValueError(f"{file}: text before the first '-- name:'")
        self._statements = {
            name: SQL(cast("LiteralString", body.strip().rstrip(";")))
            for name, body in zip(sections[::2], sections[1::2], strict=True)
        }
        if len(self._statements) * 2 != len(sections):
            raise ValueError(f"{file}: a statement name is used twice")

    def __getitem__(self, name: str) -> SQL:
        return self._statements[name]

    def names(self) -> list[str]:
        return list(self._statements)


class Statement(Struct, frozen=True):
    """A statement composed once and executed often, because composing a long one takes as long as executing
    it.
    """

    text: bytes
    """In PostgreSQL's form: `$1` is the first value."""
    names: tuple[str, ...]

    @classmethod
    def of(cls, query: Composable) -> Statement:
        names: dict[str, int] = {}

        def place(match: re.Match[str]) -> str:
            name = match[1]
            return f"${names.setdefault(name, len(names) + 1)}" if name else "%"

        text = _PLACE.sub(place, query.as_string())
        return cls(text.encode(), tuple(names))

    async def execute(self, connection: AsyncConnection, values: Mapping[str, Any]) -> AsyncCursor[TupleRow]:
        """Read the result in binary."""
        cursor = AsyncRawCursor(connection)
        await cursor.execute(self.text, [values[name] for name in self.names], binary=True)
        return cursor


@overload
def make_cursor(connection: Connection[Any], kind: type[Row]) -> Cursor[Row]: ...
@overload
def make_cursor(connection: AsyncConnection[Any], kind: type[Row]) -> AsyncCursor[Row]: ...
def make_cursor(
    connection: Connection[Any] | AsyncConnection[Any], kind: type[Row]
) -> Cursor[Row] | AsyncCursor[Row]:
    """Return a cursor that reads each row as an object of a class, its columns by the names of the fields."""
    return connection.cursor(row_factory=class_row(kind))


async def fetch_one(
    source: AsyncConnection[Row] | AsyncCursor[Row],
    query: SQL | Composed,
    values: Mapping[str, Any] | None = None,
) -> Row:
    row = await fetch_optional(source, query, values)
    assert row is not None
    return row


def fetch_row(
    source: Connection[Row] | Cursor[Row], query: SQL | Composed, values: Mapping[str, Any] | None = None
) -> Row:
    """Return the first row over a blocking connection. There must be one."""
    row = source.execute(query, values).fetchone()
    assert row is not None
    return row


async def fetch_optional(
    source: AsyncConnection[Row] | AsyncCursor[Row],
    query: SQL | Composed,
    values: Mapping[str, Any] | None = None,
) -> Row | None:
    """Return the first row, or None."""
    return await (await source.execute(query, values)).fetchone()


async def fetch_all(
    source: AsyncConnection[Row] | AsyncCursor[Row],
    query: SQL | Composed,
    values: Mapping[str, Any] | None = None,
) -> list[Row]:
    return await (await source.execute(query, values)).fetchall()
