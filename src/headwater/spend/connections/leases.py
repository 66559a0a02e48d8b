"""Leases of connections, and what a pull stores of their state.

A killed process's lease expires; a slow process finds another token and stores nothing.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from uuid import uuid4

from msgspec import Struct
from psycopg import AsyncConnection, Connection

from headwater.database.jobs.due_tasks import AccountKey, AccountLease
from headwater.database.jobs.lease import LEASE, LeaseLostError
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.spaces.encryption import SealedColumn, seal_values, unseal_values
from headwater.spend.platforms.platform import HELD_CAUSES, Fault, SpendAccount

queries = Queries(__name__, "leases.sql")

WIDE_PAUSE = timedelta(days=7)
"""Between two pulls of all days that a platform may still correct."""
LONGEST_MESSAGE = 500
MOST_DUE = 500


class LeasedConnection(Struct, frozen=True):
    platform: str
    settings: dict[str, Any]
    secrets: bytes | None
    """Sealed."""
    account_id: str | None
    """None before the first pull."""
    history_from: date | None
    history_until: date | None
    """Days before this one are still to be fetched."""
    next_wide_pull_at: datetime
    pulled_at: datetime | None
    failures: int


def find_due_spaces(connection: Connection[Any]) -> list[int]:
    return [space_id for (space_id,) in connection.execute(queries["due_spaces"], {"lease": LEASE})]


async def find_due(
    connection: AsyncConnection, current_time: float, busy: list[str]
) -> list[tuple[AccountKey, str]]:
    """Return connections with their platforms, the longest due first; none of platforms in `busy`."""
    bound = {"lease": LEASE, "now": current_time, "most": MOST_DUE, "busy": busy}
    rows = await fetch_all(connection, queries["due"], bound)
    return [(AccountKey(space_id, row_id), platform) for space_id, row_id, platform in rows]


async def take_lease(
    connection: AsyncConnection, key: AccountKey, current_time: float
) -> tuple[AccountLease, LeasedConnection] | None:
    """Return None if leased, not due or not active."""
    lease = AccountLease(key, uuid4())
    leased_connection = await fetch_optional(
        make_cursor(connection, LeasedConnection), queries["take"], {**lease.values(), "now": current_time}
    )
    return None if leased_connection is None else (lease, leased_connection)


async def release_lease(connection: AsyncConnection, lease: AccountLease) -> None:
    await connection.execute(queries["release"], lease.values())


async def lock_leased(connection: AsyncConnection, lease: AccountLease) -> bytes | None:
    """Return the sealed secrets; lock for the transaction. Raises LeaseLostError, also for a paused one."""
    row = await fetch_optional(connection, queries["lock"], lease.values())
    if row is None:
        raise LeaseLostError
    return row[0]


async def put_account(
    connection: AsyncConnection, lease: AccountLease, account: SpendAccount, history: tuple[date, date]
) -> tuple[date | None, date | None]:
    """Store an account. A new one gets this history, from a day until before another. Return the days still
    to be fetched.
    """
    values = {
        "account_id": account.id,
        "account_name": account.name,
        "currency": account.currency,
        "timezone": account.timezone,
        "history_from": history[0],
        "history_until": history[1],
    }
    return await fetch_one(connection, queries["put_account"], {**lease.values(), **values})


async def replace_refresh_token(
    connection: AsyncConnection, lease: AccountLease, refresh_token: str, key: bytes
) -> None:
    sealed = await lock_leased(connection, lease)
    secrets = {**open_secrets(key, lease.key, sealed), "refresh_token": refresh_token}
    values = {**lease.values(), "secrets": seal_secrets(key, lease.key, secrets)}
    await connection.execute(queries["put_secrets"], values)


async def note_history(connection: AsyncConnection, lease: AccountLease, until: date | None) -> None:
    """Store that the days from `until` are fetched; None for all."""
    await connection.execute(queries["note_history"], {**lease.values(), "until": until})


async def note_pull(
    connection: AsyncConnection, lease: AccountLease, current_time: float, *, is_wide: bool
) -> None:
    next_wide = current_time + WIDE_PAUSE.total_seconds() if is_wide else None
    values = {**lease.values(), "now": current_time, "next_wide": next_wide}
    await connection.execute(queries["note_pull"], values)


async def schedule_pull(connection: AsyncConnection, lease: AccountLease, next_pull_at: float) -> None:
    await connection.execute(queries["schedule"], {**lease.values(), "next_pull_at": next_pull_at})


async def note_fault(
    connection: AsyncConnection, lease: AccountLease, fault: Fault, times: tuple[float, float]
) -> None:
    """Store a fault; `times` are the current time and the time of the next pull."""
    values = {
        "now": times[0],
        "is_held": fault.cause in HELD_CAUSES,
        "fault": fault.cause,
        "message": str(fault).replace("\0", "")[:LONGEST_MESSAGE],
        "next_pull_at": times[1],
    }
    await connection.execute(queries["note_fault"], {**lease.values(), **values})


def seal_secrets(key: bytes, row: AccountKey, secrets: dict[str, str]) -> bytes | None:
    return seal_values(key, secrets, _bound_to(row))


def open_secrets(key: bytes, row: AccountKey, sealed: bytes | None) -> dict[str, str]:
    """Raise Unsealable if the key has changed."""
    return unseal_values(key, sealed, _bound_to(row))


def _bound_to(row: AccountKey) -> bytes:
    return b"spend connection %d of space %d" % (row.id, row.space_id)


SEALED = SealedColumn(
    "spend_connections", "secrets", ("space_id", "id"), lambda *row: _bound_to(AccountKey(*row))
)
