"""Problems of watched files: held, or without a successful fetch for a day."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.intake.watched.faults import REMEDIES, WatchFault

queries = Queries(__name__, "watched_problems.sql")

OVERDUE = timedelta(hours=24)
"""Without a successful fetch."""
LATE_AFTER = timedelta(minutes=5)
"""A due fetch that has not begun by then is late."""


class WatchedFileProblem(Struct, frozen=True):
    id: int
    name: str
    status: str
    fault: str | None
    fault_message: str | None
    since: datetime

    @property
    def title(self) -> str:
        subject = f"Watched address “{self.name}”"
        if self.status == "held":
            return f"{subject} stopped: its file is no longer fetched"
        if self.fault == WatchFault.MISSING:
            return f"{subject}: the file has been missing for more than a day"
        return f"{subject}: the file has not been fetched for more than a day"

    @property
    def detail(self) -> str | None:
        return " ".join(filter(None, (self.fault_message, REMEDIES.get(self.fault or "")))) or None


async def list_watched_file_problems(connection: AsyncConnection, space_id: int) -> list[WatchedFileProblem]:
    values = {"space_id": space_id, "overdue": OVERDUE, "late": LATE_AFTER}
    return await fetch_all(make_cursor(connection, WatchedFileProblem), queries["failing"], values)
