"""Count deliveries by day, waiting, and by cause. The database maintains daily counts; others stop at a
limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_one, make_cursor
from headwater.forwarding.deliveries.reasons import REFUSAL_REASONS
from headwater.forwarding.platforms.models import SkipReason
from headwater.http.inputs.timerange import TimeRange, bind_zone

queries = Queries(__name__, "delivery_counts.sql")

MOST_COUNTED = 10_000
"""For waiting deliveries and causes."""
MOST_DAYS = 31
"""Days including today with counts."""

_CAUSES = msgspec.json.encode(
    [
        {"status": "failed", "reason": None},
        {"status": "expired", "reason": None},
        *({"status": "skipped", "reason": str(reason)} for reason in SkipReason),
        *({"status": "refused", "reason": reason} for reason in REFUSAL_REASONS),
    ]
).decode()


class DayCount(NamedTuple):
    """Deliveries of one status, by the day they were written."""

    destination_id: int
    day: date
    status: str
    deliveries: int


@dataclass(frozen=True)
class Waiting:
    number: int
    """Up to MOST_COUNTED."""
    lag_seconds: float | None
    """Since the oldest was due."""


@dataclass(frozen=True)
class Cause:
    """A reason why a destination's deliveries failed."""

    status: str
    reason: str | None
    """For skipped and refused deliveries."""
    number: int
    """Up to MOST_COUNTED."""
    latest: int
    """The id of the latest one."""
    error: str | None
    """Of the latest failed or expired one."""


async def count_by_day(
    connection: AsyncConnection,
    space_id: int,
    destination_ids: Sequence[int],
    start: datetime,
    zone: ZoneInfo,
) -> list[DayCount]:
    """Count since `start`, by day in a time zone."""
    values = {"space_id": space_id, "destination_ids": list(destination_ids), "start": start}
    cursor = await connection.execute(queries["days"], values | bind_zone(zone))
    return [DayCount(*row) for row in await cursor.fetchall()]


async def find_span(
    connection: AsyncConnection, space_id: int, destination_id: int, time: TimeRange
) -> tuple[int, int]:
    """Return a period's id range within the last MOST_DAYS."""
    values = {"space_id": space_id, "destination_id": destination_id, "start": time.start, "end": time.end}
    first, last = await fetch_one(connection, queries["span"], values)
    return (first, last) if first is not None else (0, 0)


async def forget_old_counts(connection: AsyncConnection, space_id: int, destination_id: int) -> None:
    values = {"space_id": space_id, "destination_id": destination_id, "days": MOST_DAYS + 1}
    await connection.execute(queries["forget"], values)


async def count_waiting(
    connection: AsyncConnection, space_id: int, destination_ids: Sequence[int]
) -> Mapping[int, Waiting]:
    values = {"space_id": space_id, "destination_ids": list(destination_ids), "most": MOST_COUNTED}
    cursor = await connection.execute(queries["waiting"], values)
    return {row[0]: Waiting(row[1], row[2]) for row in await cursor.fetchall()}


async def count_causes(connection: AsyncConnection, space_id: int, destination_id: int) -> list[Cause]:
    """Return the most frequent first."""
    values = {"space_id": space_id, "destination_id": destination_id, "most": MOST_COUNTED, "causes": _CAUSES}
    causes = await fetch_all(make_cursor(connection, Cause), queries["causes"], values)
    return sorted(causes, key=lambda cause: (-cause.number, cause.status, cause.reason or ""))
