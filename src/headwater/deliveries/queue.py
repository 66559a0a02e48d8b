"""Deliveries that wait: which destinations have some, who sends them, and writing down what became
of them.

Whoever sends to a destination holds it by a lease under a token. A process that is killed lets the
lease run out; one that was only slow finds its token gone and writes nothing down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, NamedTuple
from uuid import UUID

import msgspec
from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row

from headwater.database.json_rows import rows
from headwater.database.queries import Queries, fetch_one, fetch_optional
from headwater.deliveries.retry_policy import DestinationBackoff, DestinationHold

queries = Queries(__name__, "queue.sql")

LEASE = timedelta(seconds=30)
OUTAGE = 2
"""Calls in a row that fail before it is the destination's fault and not an event's."""


Turn = Literal["held", "recovered"]
"""What a destination has become that people should hear of."""


class LeaseLostError(Exception):
    """The destination belongs to somebody else by now."""


class DestinationKey(NamedTuple):
    """A destination of a Space."""

    space_id: int
    id: int

    def values(self) -> dict[str, Any]:
        """What statements bind."""
        return {"space_id": self.space_id, "destination_id": self.id}


@dataclass(frozen=True)
class DestinationLease:
    """A destination that is ours for now."""

    place: DestinationKey
    token: UUID

    def values(self) -> dict[str, Any]:
        """What statements bind."""
        return {**self.place.values(), "token": self.token, "lease": LEASE}


@dataclass(frozen=True)
class LeasedDestination:
    """A destination under a lease, as it is stored."""

    platform: str
    settings: dict[str, Any]
    secrets: bytes | None
    event_names: dict[str, str | None]
    all_events: bool
    failures: int


class DeliveryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is written down of a delivery."""

    id: int
    status: str | None = None
    """None: as it was."""
    reason: str | None = None
    outcome: str | None = None
    """For the log of attempts; None: it was not sent."""
    tried: int = 0
    due_at: float | None = None
    error: str | None = None
    request: dict[str, Any] | None = None
    touchpoint_id: int | None = None


class CallRecord(NamedTuple):
    """What is written down of a call, or of what was decided without one."""

    now: float
    entries: Sequence[DeliveryRecord]
    http_status: int | None = None
    answer: str | None = None
    destination: DestinationBackoff | DestinationHold | None = None
    called: bool = True
    """Whether the destination was called: without a word of it, it is well then."""


async def read_clock(connection: AsyncConnection) -> float:
    """The database's time, as Unix seconds."""
    row = await fetch_one(connection, queries["clock"])
    return row[0]


async def find_due(connection: AsyncConnection, now: float) -> list[DestinationKey]:
    """Destinations of all Spaces that somebody should send to."""
    cursor = await connection.execute(queries["destinations_due"], {"now": now, "lease": LEASE})
    return [DestinationKey(*row) for row in await cursor.fetchall()]


def spaces_due(connection: Connection[Any]) -> list[int]:
    """The Spaces with deliveries that are due and that nobody works on."""
    return [row[0] for row in connection.execute(queries["spaces_due"], {"lease": LEASE})]


async def take(
    connection: AsyncConnection, place: DestinationKey, now: float
) -> DestinationLease | None:
    """A lease on a destination; None when it is not to be had."""
    values = {**place.values(), "now": now, "lease": LEASE}
    row = await fetch_optional(connection, queries["take"], values)
    return None if row is None else DestinationLease(place, row[0])


async def keep(
    connection: AsyncConnection, lease: DestinationLease, now: float
) -> LeasedDestination | None:
    """The destination as it is now, if it is still ours and to be sent to."""
    cursor = connection.cursor(row_factory=class_row(LeasedDestination))
    return await fetch_optional(cursor, queries["keep"], {**lease.values(), "now": now})


async def beat(connection: AsyncConnection, lease: DestinationLease) -> None:
    """Keep a destination during a call."""
    await connection.execute(queries["beat"], lease.values())


async def give_back(connection: AsyncConnection, lease: DestinationLease) -> None:
    """Let others send to a destination."""
    await connection.execute(queries["give_back"], lease.values())


async def next_ids(
    connection: AsyncConnection, lease: DestinationLease, now: float, limit: int, *, probing: bool
) -> list[int]:
    """Deliveries that are due: the longest due, or for a probe the least tried."""
    values = {**lease.values(), "now": now, "limit": limit}
    cursor = await connection.execute(queries["probes" if probing else "due"], values)
    return [row[0] for row in await cursor.fetchall()]


async def record(
    connection: AsyncConnection, lease: DestinationLease, report: CallRecord
) -> Turn | None:
    """Write down what became of deliveries and of their destination, and return how that has
    changed. Raises LeaseLostError.
    """
    row = await fetch_optional(connection, queries["hold_lease"], lease.values())
    if row is None:
        raise LeaseLostError
    values = {
        **lease.values(), "now": report.now, "rows": rows(report.entries),
        "ids": [entry.id for entry in report.entries],
        "http_status": report.http_status, "answer": report.answer,
    }  # fmt: skip
    if report.entries:
        await connection.execute(queries["record"], values)
        await connection.execute(queries["forget_erased"], values)
        await connection.execute(queries["log_attempts"], values)
    if not report.called:
        return None
    return await _set_state(connection, values, report.destination, row[0])


async def _set_state(
    connection: AsyncConnection,
    values: dict[str, Any],
    state: DestinationBackoff | DestinationHold | None,
    failures: int,
) -> Turn | None:
    match state:
        case DestinationBackoff(until, failures):
            values = values | {"until": until, "failures": failures}
            await connection.execute(queries["wait"], values)
        case DestinationHold(reason):
            held = await connection.execute(queries["hold"], values | {"reason": reason})
            return "held" if held.rowcount else None
        case None:
            well = await fetch_optional(connection, queries["well"], values)
            if failures >= OUTAGE:
                await connection.execute(queries["wake"], values)
            return "recovered" if well is not None and well[0] else None
    return None
