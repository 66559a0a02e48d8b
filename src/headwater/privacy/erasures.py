"""Erasures. A row is both the job and its record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection, Connection
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries, fetch_row, make_cursor
from headwater.intake.inbox.queue import POLL_SECONDS

queries = Queries(__name__, "erasures.sql")

MAX_LISTED = 1000


@dataclass(frozen=True)
class Erasure:
    id: int
    contact_id: int
    """The canonical contact at the time of the request."""
    requested_at: datetime
    attempts: int
    retry_at: datetime
    last_error: str | None
    """Why the last attempt failed, without personal data."""
    erased_at: datetime | None
    """None while waiting."""


class PastErasure(Struct, frozen=True):
    """An erasure to repeat in another copy of the database."""

    space_id: int
    erasure_id: int
    contact_ids: list[int]
    """Every affected contact: in an older copy they may not be merged yet."""
    receipt_ids: list[int]
    """Each contact's first receipt: in an older copy it may be waiting, without a contact."""
    requested_at: datetime
    erased_at: datetime | None


async def request_erasure(connection: AsyncConnection, space_id: int, contact_id: int) -> None:
    """Request an erasure, certain once the caller commits."""
    await connection.execute(queries["request"], {"space_id": space_id, "contact_id": contact_id})


async def list_erasures(connection: AsyncConnection, space_id: int) -> list[Erasure]:
    """Return the newest first."""
    cursor = make_cursor(connection, Erasure)
    await cursor.execute(queries["list"], {"space_id": space_id, "limit": MAX_LISTED})
    return await cursor.fetchall()


def wait_until_erased(connection: Connection[Any], timeout: float) -> bool:
    """Wait up to `timeout` seconds for all earlier requests. Return False on time-out. Needs an autocommit
    connection.
    """
    row = connection.execute(queries["newest"]).fetchone()
    if row is None or row[0] is None:
        return True
    deadline = time.monotonic() + timeout
    while True:
        if connection.execute(queries["any_up_to"], {"requested_at": row[0]}).fetchone() is None:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)


def list_changed(connection: Connection[Any], since: datetime) -> list[PastErasure]:
    """Return the installation's erasures requested or done since a moment."""
    return make_cursor(connection, PastErasure).execute(queries["changed"], {"since": since}).fetchall()


def list_unprocessed(connection: Connection[Any], erasures: Sequence[PastErasure]) -> list[int]:
    """Return Spaces with waiting items of erased contacts."""
    rows = connection.execute(queries["unprocessed"], {"erasures": _encode(erasures)})
    return [space_id for (space_id,) in rows]


def request_again(connection: Connection[Any], erasures: Sequence[PastErasure]) -> int:
    """Request erasures unknown to this copy of the database, and return their number."""
    row = fetch_row(connection, queries["mark"])
    values = {"erasures": _encode(erasures), "receipt_mark": row[0]}
    return connection.execute(queries["request_again"], values).rowcount


def _encode(erasures: Sequence[PastErasure]) -> Jsonb:
    return Jsonb(
        [
            {
                "space_id": erasure.space_id,
                "erasure_id": erasure.erasure_id,
                "contact_ids": erasure.contact_ids,
                "receipt_ids": erasure.receipt_ids,
                "requested_at": erasure.requested_at.isoformat(),
            }
            for erasure in erasures
        ]
    )


def count_waiting(connection: Connection[Any]) -> int:
    return fetch_row(connection, queries["waiting"])[0]
