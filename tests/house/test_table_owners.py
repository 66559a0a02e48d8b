"""Every table is written by one package, so that `which code changes this row?` has one answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.sizes import ROOT

SOURCE = ROOT / "src" / "headwater"
MIGRATIONS = SOURCE / "database" / "migrations"

COMMENT = re.compile(r"--[^\n]*")
TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)")
WRITE = re.compile(
    r"\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|COPY|TRUNCATE(?:\s+TABLE)?)"
    r'\s+(?:ONLY\s+)?"?(?:public"?\.)?"?(\w+|\{|\Z)',
    re.IGNORECASE,
)
TRUNCATED = re.compile(r"\bTRUNCATE\s+([\w\s,.\"]+)", re.IGNORECASE)

OPEN = "a table that is named elsewhere"
"""The table of a statement that is filled in at run time: its owner is unknown."""

SEES_EVERY_TABLE = {
    "privacy": "erasing a person redacts them in whatever room they stand",
    "operations/secrets": "a new secret key encrypts each room's secrets again, which stay the same",
}
"""Packages that write other packages' tables, each with its reason."""


@cache
def tables() -> frozenset[str]:
    schema = "\n".join(COMMENT.sub("", path.read_text()) for path in MIGRATIONS.glob("*.sql"))
    return frozenset(TABLE.findall(schema))


def written_tables(sql: str) -> set[str]:
    """Return the tables that any part of a piece of SQL writes, with OPEN for a table that is filled in
    later.
    """
    names = set(WRITE.findall(sql))
    for several in TRUNCATED.findall(sql):
        names.update(re.findall(r"\w+", several))
    return {OPEN if name in {"{", ""} else name for name in names} & (tables() | {OPEN})


def strings(text: str) -> Iterator[str]:
    """Yield the strings of a module except docstrings, with `{}` for values in f-strings."""
    tree = ast.parse(text)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (value.value if isinstance(value, ast.Constant) else "{}" for value in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)


@cache
def writers(source: Path) -> dict[str, set[str]]:
    """Return every table that is written, with the packages that write it."""
    rooms: dict[str, set[str]] = {}
    for path in source.rglob("*"):
        if path.suffix == ".sql" and path.parent != MIGRATIONS:
            pieces = [COMMENT.sub("", path.read_text())]
        elif path.suffix == ".py":
            pieces = list(strings(path.read_text()))
        else:
            continue
        for table in {table for sql in pieces for table in written_tables(sql)}:
            rooms.setdefault(table, set()).add(path.relative_to(source).parent.as_posix())
    return rooms


def borrowed(path: Path, room: str) -> set[str]:
    """Return the names of other packages' statements that a module of a package runs."""
    text = path.read_text()
    if "queries" not in text:
        return set()
    tree = ast.parse(text)
    foreign: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headwater."):
            module = (node.module or "").removeprefix("headwater.").replace(".", "/")
            is_package = (SOURCE / module).is_dir()
            owner = module if is_package else module.rpartition("/")[0]
            if owner != room:
                names = {name.asname or name.name: name.name for name in node.names}
                foreign |= dict.fromkeys(names, "module") if is_package else names
    return {
        str(node.slice.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        and (
            (isinstance(node.value, ast.Name) and foreign.get(node.value.id) == "queries")
            or (
                isinstance(node.value, ast.Attribute) and node.value.attr == "queries"
                and isinstance(node.value.value, ast.Name) and node.value.value.id in foreign
            )
        )
    }  # fmt: skip


def test_every_table_is_written_by_one_room() -> None:
    owners = {table: sorted(rooms - set(SEES_EVERY_TABLE)) for table, rooms in writers(SOURCE).items()}
    assert owners.pop(OPEN, []) == []
    assert {table: rooms for table, rooms in owners.items() if len(rooms) > 1} == {}


def test_no_room_runs_the_statements_of_another() -> None:
    """Otherwise a package would write another's tables with the owner's statements. A snapshot writes
    nothing: it sets how the transaction reads, which its start decides.
    """
    names = {
        name
        for path in SOURCE.rglob("*.py")
        for name in borrowed(path, path.relative_to(SOURCE).parent.as_posix())
    }
    assert names <= {"snapshot"}


@pytest.mark.parametrize(
    "text",
    [
        'from headwater.events.updates import queries\n\nqueries["delete"]',
        'from headwater.events.updates import queries as q\n\nq["delete"]',
        'from headwater.events import updates\n\nupdates.queries["delete"]',
    ],
)
def test_a_borrowed_statement_is_noticed(tmp_path: Path, text: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(text)
    assert borrowed(module, "stranger") == {"delete"}
    assert borrowed(module, "events") == set()


def test_every_table_is_known_and_written() -> None:
    assert {"events", "contacts", "touchpoints", "deliveries"} <= tables()
    assert sorted(tables() - set(writers(SOURCE))) == []


def test_no_exception_is_left_over() -> None:
    shared_tables = [rooms for table, rooms in writers(SOURCE).items() if len(rooms) > 1 or table == OPEN]
    exceptions = {room for rooms in shared_tables for room in rooms} & set(SEES_EVERY_TABLE)
    assert exceptions == set(SEES_EVERY_TABLE)


@pytest.mark.parametrize(
    ("file", "text", "table"),
    [
        ("a.sql", "-- name: a\n-- A.\nINSERT INTO events (id) VALUES (1);", "events"),
        ("a.sql", "-- name: a\n-- A.\nUPDATE ONLY contacts c SET name = NULL;", "contacts"),
        ("a.sql", "WITH gone AS (\n  delete\n  from visits v RETURNING v.id\n) SELECT 1", "visits"),
        ("a.sql", 'MERGE INTO "public"."sites" USING x ON true', "sites"),
        ("a.sql", "TRUNCATE TABLE inbox", "inbox"),
        ("a.sql", "COPY hits FROM STDIN", "hits"),
        ("a.sql", "UPDATE {table} SET payload = NULL", OPEN),
        ("a.py", 'sql = SQL("WITH a AS (UPDATE touchpoints SET url = 1)")', "touchpoints"),
        ("a.py", 'sql = SQL("DELETE "\n    "FROM merges")', "merges"),
        ("a.py", 'sql = f"DELETE FROM {table}"', OPEN),
        ("a.py", 'sql = SQL("INSERT INTO ") + name', OPEN),
    ],
)  # fmt: skip
def test_a_foreign_write_is_noticed(tmp_path: Path, file: str, text: str, table: str) -> None:
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger" / file).write_text(text)
    assert writers(tmp_path) == {table: {"stranger"}}


def test_several_tables_at_once_are_noticed() -> None:
    assert written_tables("TRUNCATE rejected, public.inbox") == {"rejected", "inbox"}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.sql", "-- UPDATE events\nSELECT 1 FROM events e FOR UPDATE OF e"),
        ("a.sql", "INSERT INTO here (id) SELECT 1 FROM events ON CONFLICT DO UPDATE SET id = 2"),
        ("a.py", '"""UPDATE events."""\n\n\ndef f():\n    """DELETE FROM events."""\n'),
    ],
)
def test_reading_is_no_writing(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / "reader").mkdir()
    (tmp_path / "reader" / file).write_text(text)
    assert writers(tmp_path) == {}
