"""Leases of watched files, and what a fetch stores of their state.

A killed process's lease expires; a slow process finds another token and stores nothing.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from msgspec import Struct
from psycopg import AsyncConnection, Connection

from headwater.database.jobs.backoff import climb
from headwater.database.jobs.due_tasks import RETRY_SECONDS, AccountKey, AccountLease, next_turn
from headwater.database.jobs.lease import LEASE, LeaseLostError
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.intake.watched.faults import HELD_FAULTS, FetchError

queries = Queries(__name__, "leases.sql")

LONGEST_MESSAGE = 1_000
MOST_DUE = 500


class LeasedFile(Struct, frozen=True):
    kind: str
    name: str
    address: str
    settings: dict[str, Any]
    secrets: bytes | None
    """Sealed."""
    failures: int


def find_due_spaces(connection: Connection[Any]) -> list[int]:
    return [space_id for (space_id,) in connection.execute(queries["due_spaces"], {"lease": LEASE})]


async def find_due(connection: AsyncConnection, current_time: float) -> list[AccountKey]:
    bound = {"lease": LEASE, "now": current_time, "most": MOST_DUE}
    return [AccountKey(*row) for row in await fetch_all(connection, queries["due"], bound)]


async def take_lease(
    connection: AsyncConnection, key: AccountKey, current_time: float
) -> tuple[AccountLease, LeasedFile] | None:
    """Return None if leased, not due or not active."""
    lease = AccountLease(key, uuid4())
    leased_file = await fetch_optional(
        make_cursor(connection, LeasedFile), queries["take"], {**lease.values(), "now": current_time}
    )
    return None if leased_file is None else (lease, leased_file)


async def release_lease(connection: AsyncConnection, lease: AccountLease) -> None:
    await connection.execute(queries["release"], lease.values())


async def has_import(connection: AsyncConnection, lease: AccountLease, digest: bytes) -> bool:
    """Return whether this content needs no import. Raises LeaseLostError if the file was deleted."""
    row = await fetch_optional(connection, queries["has_import"], {**lease.values(), "digest": digest})
    if row is None:
        raise LeaseLostError
    return row[0]


async def note_fetch(connection: AsyncConnection, lease: AccountLease, current_time: float) -> None:
    """Store that the file was fetched and read. Raises LeaseLostError, also for a paused one."""
    next_fetch_at = next_turn(lease.key, current_time)
    values = {**lease.values(), "now": current_time, "next_fetch_at": next_fetch_at}
    if await fetch_optional(connection, queries["note_fetch"], values) is None:
        raise LeaseLostError


async def note_fault(
    connection: AsyncConnection, lease: AccountLease, error: FetchError, failures: int, current_time: float
) -> None:
    """Store a fault; `failures` are those before it."""
    values = {
        "now": current_time,
        "is_held": error.fault in HELD_FAULTS,
        "fault": error.fault,
        "message": str(error).replace("\0", "")[:LONGEST_MESSAGE],
        "next_fetch_at": current_time + climb(RETRY_SECONDS, failures + 1),
    }
    await connection.execute(queries["note_fault"], {**lease.values(), **values})
