"""Counts of deliveries: by day and status, waiting, and by cause. All are bounded for any number of
deliveries: the database keeps the counts of days beside the log, the others stop at a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

import msgspec
from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.forwarding.platforms.models import SkipReason
from headwater.http.inputs.timerange import TimeRange

queries = Queries(__name__, "delivery_counts.sql")

MOST_COUNTED = 10_000
"""The largest count of what waits, and of a cause; it means that many or more."""
MOST_DAYS = 31
"""Days, back from today, whose deliveries can be counted and listed."""

_CAUSES = msgspec.json.encode(
    [
        {"status": "failed", "reason": None},
        {"status": "expired", "reason": None},
        *({"status": "skipped", "reason": str(reason)} for reason in SkipReason),
    ]
).decode()


class DayCount(NamedTuple):
    """The deliveries of one status that a destination had on a day, the one they were written."""

    destination_id: int
    day: date
    status: str
    deliveries: int


@dataclass(frozen=True)
class Waiting:
    """The deliveries that wait for a destination."""

    number: int
    """Up to MOST_COUNTED."""
    lag_seconds: float | None
    """The time since the longest due was to be sent; None when nothing waits."""


@dataclass(frozen=True)
class Cause:
    """A reason for which a destination's deliveries failed."""

    status: str
    reason: str | None
    """Of skipped ones."""
    number: int
    """Up to MOST_COUNTED."""
    latest: int
    """The latest such delivery's id."""
    error: str | None
    """Of the latest that failed or expired."""


async def count_by_day(
    connection: AsyncConnection, space_id: int, destination_ids: Sequence[int], start: datetime, zone: str
) -> list[DayCount]:
    """Return counts of the deliveries written since `start`, by day on the clock of a zone."""
    values = {"space_id": space_id, "destination_ids": list(destination_ids), "start": start, "zone": zone}
    cursor = await connection.execute(queries["days"], values)
    return [DayCount(*row) for row in await cursor.fetchall()]


async def find_span(
    connection: AsyncConnection, space_id: int, destination_id: int, time: TimeRange
) -> tuple[int, int]:
    """Return the first and the last id of a destination's deliveries in a period, so that a list reads no
    others. The period must be within the last MOST_DAYS.
    """
    values = {"space_id": space_id, "destination_id": destination_id, "start": time.start, "end": time.end}
    first, last = await fetch_one(connection, queries["span"], values)
    return (first, last) if first is not None else (0, 0)


async def forget_old_counts(connection: AsyncConnection, space_id: int, destination_id: int) -> None:
    """Delete a destination's counts older than MOST_DAYS."""
    values = {"space_id": space_id, "destination_id": destination_id, "days": MOST_DAYS + 1}
    await connection.execute(queries["forget"], values)


async def count_waiting(
    connection: AsyncConnection, space_id: int, destination_ids: Sequence[int]
) -> Mapping[int, Waiting]:
    """Return what waits for each of these destinations."""
    values = {"space_id": space_id, "destination_ids": list(destination_ids), "most": MOST_COUNTED}
    cursor = await connection.execute(queries["waiting"], values)
    return {row[0]: Waiting(row[1], row[2]) for row in await cursor.fetchall()}


async def count_causes(connection: AsyncConnection, space_id: int, destination_id: int) -> list[Cause]:
    """Return why deliveries of a destination did not get there, the most frequent cause first."""
    values = {"space_id": space_id, "destination_id": destination_id, "most": MOST_COUNTED, "causes": _CAUSES}
    cursor = connection.cursor(row_factory=class_row(Cause))
    causes = await fetch_all(cursor, queries["causes"], values)
    return sorted(causes, key=lambda cause: (-cause.number, cause.status, cause.reason or ""))
