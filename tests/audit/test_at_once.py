"""Concurrent actions: none waits forever, and each entry has only its own action's changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.database.pool import Database
from headwater.database.row_security import serving
from headwater.spaces.audit.entries import Action, Actor, AuditSearch, Way, list_entries
from headwater.spaces.audit.kinds import Kind
from headwater.spaces.audit.subjects import recording

ACTIONS = 6
ORDERS: Sequence[Sequence[Kind]] = [("space", "event_label"), ("event_label", "space")]


def value_after(change: Mapping[str, Any]) -> object:
    """Return the new name or label of a change."""
    after = change["after"]
    return after.get("name", after.get("label"))


async def rename(database: Database, space_id: int, number: int) -> None:
    """Change rows of two kinds; every other action names the kinds in reverse order."""
    action = Action(Actor(way=Way.API), f"action {number}", space_id)
    values = {"space_id": space_id, "name": f"name {number}"}
    async with database.transaction() as connection, recording(connection, action, ORDERS[number % 2]):
        await connection.execute("UPDATE spaces SET name = %(name)s WHERE id = %(space_id)s", values)
        await connection.execute(
            "INSERT INTO event_labels (space_id, event_name, label) VALUES (%(space_id)s, 'e', %(name)s)"
            " ON CONFLICT (space_id, event_name) DO UPDATE SET label = excluded.label",
            values,
        )


def test_it_works(database_url: str, space_id: int) -> None:
    async def run() -> None:
        async with Database(database_url, ACTIONS) as database:
            with serving(space_id):
                await asyncio.gather(*(rename(database, space_id, number) for number in range(ACTIONS)))
                async with database.connection() as connection:
                    entries = await list_entries(connection, space_id, AuditSearch(), ACTIONS + 1)
        assert {entry.action: [*map(value_after, entry.changes)] for entry in entries} == {
            f"action {number}": [f"name {number}"] * 2 for number in range(ACTIONS)
        }

    asyncio.run(run())
