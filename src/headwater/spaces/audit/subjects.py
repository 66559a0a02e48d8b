"""Record what a block of code changes of settings and access: the rows are read before and after it.

    before   {"7": {"name": "Meta", "status": "active"}}
    after    {"7": {"name": "Meta", "status": "paused"}, "8": {"name": "TikTok", "status": "active"}}

    changes  destination 7   before {"status": "active"}   after {"status": "paused"}
             destination 8                                 after {"name": "TikTok", "status": "active"}

So no handler has to say what it changed, and a new column is recorded once subjects.sql reads it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all
from headwater.spaces.audit.entries import Action, AuditChange, add_entry
from headwater.spaces.audit.kinds import HIDDEN_COLUMNS, HIDDEN_VALUE, Kind

queries = Queries(__name__, "subjects.sql")

Rows = Mapping[str, Mapping[str, Any]]


@asynccontextmanager
async def recording(
    connection: AsyncConnection, action: Action, kinds: Sequence[Kind], user_id: int | None = None
) -> AsyncGenerator[list[AuditChange]]:
    """Add one entry for what the block changes of `kinds` and what it adds to the yielded list; none for
    nothing. `user_id` limits kinds of users to one. Needs the transaction of the changes.
    """
    for kind in sorted(kinds):  # so that two actions don't wait for each other
        await connection.execute(queries["lock"], {"kind": kind, "space_id": action.space_id})
    before = await _load(connection, action.space_id, kinds, user_id)
    noted_changes: list[AuditChange] = []
    yield noted_changes
    after = await _load(connection, action.space_id, kinds, user_id)
    compared_changes = (change for kind in kinds for change in compare(kind, before[kind], after[kind]))
    if changes := [*noted_changes, *compared_changes]:
        await add_entry(connection, action, changes)


async def _load(
    connection: AsyncConnection, space_id: int, kinds: Sequence[Kind], user_id: int | None
) -> dict[Kind, Rows]:
    values = {"space_id": space_id, "user_id": user_id}
    loaded: dict[Kind, Rows] = {}
    for kind in kinds:
        rows = await fetch_all(connection.cursor(row_factory=dict_row), queries[kind], values)
        loaded[kind] = {str(row.pop("subject_id")): row for row in rows}
    return loaded


def compare(kind: Kind, before: Rows, after: Rows) -> Iterator[AuditChange]:
    """Yield created, changed and removed rows, with the values that differ."""
    hidden_names = HIDDEN_COLUMNS.get(kind, frozenset())
    for subject_id in sorted(before.keys() | after.keys()):
        old, new = before.get(subject_id), after.get(subject_id)
        if old == new:
            continue
        names = [name for name in (old or new or {}) if old is None or new is None or old[name] != new[name]]
        yield AuditChange(kind, subject_id, _keep(old, names, hidden_names), _keep(new, names, hidden_names))


def _keep(
    row: Mapping[str, Any] | None, names: Sequence[str], hidden_columns: frozenset[str]
) -> Mapping[str, Any] | None:
    """Return values that an entry may hold; None and empty ones say nothing of what is hidden."""
    if row is None:
        return None
    return {name: HIDDEN_VALUE if name in hidden_columns and row[name] else row[name] for name in names}
