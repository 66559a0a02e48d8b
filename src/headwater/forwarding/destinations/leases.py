"""Leases of destinations, and their states after sending: well, waiting or held.

A process that sends to a destination holds its lease, with a token. The lease of a killed process
runs out; a process that was only slow finds another token there and stores nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.database.jobs.lease import LEASE, LeaseLostError
from headwater.database.queries import Queries, fetch_optional
from headwater.forwarding.destinations.credentials import DestinationColumns

queries = Queries(__name__, "leases.sql")


class DestinationKey(NamedTuple):
    """A destination of a Space."""

    space_id: int
    id: int

    def values(self) -> dict[str, Any]:
        """Return the values that statements bind."""
        return {"space_id": self.space_id, "destination_id": self.id}


@dataclass(frozen=True)
class DestinationLease:
    """The lease of a destination that this process holds."""

    key: DestinationKey
    token: UUID

    def values(self) -> dict[str, Any]:
        """Return the values that statements bind."""
        return {**self.key.values(), "token": self.token, "lease": LEASE}


@dataclass(frozen=True)
class LeasedDestination(DestinationColumns):
    """A leased destination's columns."""

    failures: int
    """Calls in a row that failed for all of it."""


async def take_lease(connection: AsyncConnection, key: DestinationKey, now: float) -> DestinationLease | None:
    """Lease a destination. Returns None when it is leased, waits, or must not be sent to."""
    lease = DestinationLease(key, uuid4())
    row = await fetch_optional(connection, queries["take"], {**lease.values(), "now": now})
    return None if row is None else lease


async def keep_lease(
    connection: AsyncConnection, lease: DestinationLease, now: float
) -> LeasedDestination | None:
    """Renew a lease and return the destination as it is now; None when the lease is
    lost, or the destination must not be sent to.
    """
    cursor = connection.cursor(row_factory=class_row(LeasedDestination))
    return await fetch_optional(cursor, queries["keep"], {**lease.values(), "now": now})


async def renew_lease(connection: AsyncConnection, lease: DestinationLease) -> None:
    """Renew a lease during a call, even if the destination has been changed meanwhile."""
    await connection.execute(queries["renew"], lease.values())


async def release_lease(connection: AsyncConnection, lease: DestinationLease) -> None:
    """Release a lease, so that other processes can send to the destination."""
    await connection.execute(queries["release"], lease.values())


async def lock_leased(connection: AsyncConnection, lease: DestinationLease) -> int:
    """Lock a leased destination for the rest of the transaction and return the calls in a row that
    failed. Raises LeaseLostError.
    """
    row = await fetch_optional(connection, queries["lock"], lease.values())
    if row is None:
        raise LeaseLostError
    return row[0]


async def mark_well(connection: AsyncConnection, lease: DestinationLease) -> bool:
    """Record a good answer of a destination. Returns whether it was held since the last one."""
    row = await fetch_optional(connection, queries["mark_well"], lease.values())
    return row is not None and row[0]


async def postpone(connection: AsyncConnection, lease: DestinationLease, until: float, failures: int) -> None:
    """Let a destination wait until a Unix time after `failures` failures in a row."""
    values = {**lease.values(), "until": until, "failures": failures}
    await connection.execute(queries["postpone"], values)


async def suspend(connection: AsyncConnection, lease: DestinationLease, reason: str) -> bool:
    """Hold a destination until people resume it. Returns whether it had been active."""
    suspended = await connection.execute(queries["suspend"], {**lease.values(), "reason": reason})
    return suspended.rowcount > 0
