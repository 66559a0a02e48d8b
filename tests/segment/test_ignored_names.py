"""Anyone with a site key can send any names, so only a limited number of names is counted."""

from __future__ import annotations

import asyncio

import pytest

from headwater.database.pool import Database
from headwater.intake.protocols import ignored
from headwater.intake.protocols.ignored import IgnoredNames, IgnoredReason, list_ignored


def test_it_works(database_url: str, space_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the counts are full, their names are still counted, and other names are dropped until all counts
    are stored.
    """
    monkeypatch.setattr(ignored, "MOST_COUNTS", 4)

    async def count() -> dict[str, int]:
        async with Database(database_url, 1) as database:
            names = IgnoredNames(database)
            for written_together in ("abcdefaf", "f"):
                for name in written_together:
                    names.note(space_id, name, IgnoredReason.UNKNOWN_EVENT)
                await names.write()
            async with database.connection() as connection:
                return {entry.name: entry.times for entry in await list_ignored(connection, space_id)}

    assert asyncio.run(count()) == {"a": 2, "b": 1, "c": 1, "d": 1, "f": 1}
