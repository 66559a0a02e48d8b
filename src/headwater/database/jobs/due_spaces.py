"""Finds the Spaces with due work of one kind."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL

from headwater.database.queries import fetch_all

MOST_SPACES = 500


class DueSpaces:
    """Runs a statement that takes `now` and `most`, and selects Space ids."""

    def __init__(self, query: SQL) -> None:
        self._query = query

    def find_now(self, connection: Connection[Any]) -> list[int]:
        rows = connection.execute(self._query, self._values(datetime.now(UTC)))
        return [space_id for (space_id,) in rows]

    async def find(self, connection: AsyncConnection, current_time: datetime) -> list[int]:
        rows = await fetch_all(connection, self._query, self._values(current_time))
        return [space_id for (space_id,) in rows]

    def _values(self, current_time: datetime) -> dict[str, object]:
        return {"now": current_time, "most": MOST_SPACES}
