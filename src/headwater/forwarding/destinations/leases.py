"""Leases of destinations, and their state.

A killed process's lease expires; a slow process finds another token and stores nothing.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from headwater.database.jobs.due_tasks import AccountKey, renewed_lease
from headwater.database.jobs.lease import LEASE, LeaseLostError
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_optional, make_cursor
from headwater.forwarding.destinations.credentials import DestinationColumns

queries = Queries(__name__, "leases.sql")


@dataclass(frozen=True)
class DestinationLease:
    key: AccountKey
    token: UUID

    def values(self) -> dict[str, Any]:
        return {
            "space_id": self.key.space_id,
            "destination_id": self.key.id,
            "token": self.token,
            "lease": LEASE,
        }


@dataclass(frozen=True)
class LeasedDestination(DestinationColumns):
    failures: int
    """Consecutive failures of whole calls."""
    secrets_version: int


async def take_lease(
    connection: AsyncConnection, key: AccountKey, current_time: float
) -> DestinationLease | None:
    """Return None if leased, waiting or not active."""
    lease = DestinationLease(key, uuid4())
    row = await fetch_optional(connection, queries["take"], {**lease.values(), "now": current_time})
    return None if row is None else lease


async def keep_lease(
    connection: AsyncConnection, lease: DestinationLease, current_time: float
) -> LeasedDestination | None:
    """Return None if lost, or if sending must stop."""
    return await fetch_optional(
        make_cursor(connection, LeasedDestination), queries["keep"], {**lease.values(), "now": current_time}
    )


def keep_renewing(database: Database, lease: DestinationLease) -> AbstractAsyncContextManager[None]:
    """Renew the lease while the block runs."""
    return renewed_lease(database, queries["renew"], lease.values())


async def release_lease(connection: AsyncConnection, lease: DestinationLease) -> None:
    await connection.execute(queries["release"], lease.values())


async def lock_leased(connection: AsyncConnection, lease: DestinationLease) -> int:
    """Return consecutive failures; lock for the transaction. Raises LeaseLostError."""
    row = await fetch_optional(connection, queries["lock"], lease.values())
    if row is None:
        raise LeaseLostError
    return row[0]


async def mark_well(connection: AsyncConnection, lease: DestinationLease) -> bool:
    """Return whether the destination was held."""
    row = await fetch_optional(connection, queries["mark_well"], lease.values())
    return row is not None and row[0]


async def postpone(connection: AsyncConnection, lease: DestinationLease, until: float, failures: int) -> None:
    """Pause until a Unix time."""
    values = {**lease.values(), "until": until, "failures": failures}
    await connection.execute(queries["postpone"], values)


async def suspend(
    connection: AsyncConnection, lease: DestinationLease, reason: str, secrets_version: int
) -> bool:
    """Hold until a user resumes, unless they have entered other secrets meanwhile. Return whether it was
    active and is held.
    """
    values = {**lease.values(), "reason": reason, "secrets_version": secrets_version}
    cursor = await connection.execute(queries["suspend"], values)
    return cursor.rowcount > 0
