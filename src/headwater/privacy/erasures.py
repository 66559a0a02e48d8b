"""Request and list erasures. Each is one row, which is the job and its record at the same time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries
from headwater.intake.inbox.queue import POLL_SECONDS

queries = Queries(__name__, "erasures.sql")

LISTED = 1000


@dataclass(frozen=True)
class Erasure:
    """An erasure that was requested, and its outcome."""

    id: int
    contact_id: int
    """The canonical contact at the time of the request."""
    requested_at: datetime
    attempts: int
    """The number of failed attempts."""
    retry_at: datetime
    last_error: str | None
    """The reason why the latest attempt failed, in words without personal data."""
    erased_at: datetime | None
    """None while it waits."""


@dataclass(frozen=True)
class PastErasure:
    """An erasure as a copy of the database needs it, to be carried out there, too."""

    space_id: int
    erasure_id: int
    contact_ids: list[int]
    """Every contact that it concerns: in an older copy these may not have merged yet."""
    receipt_ids: list[int]
    """The first receipt of each: there, it may wait and have no contact yet."""
    requested_at: datetime
    erased_at: datetime | None
    """None while it waits."""


async def request_erasure(connection: AsyncConnection, space_id: int, contact_id: int) -> None:
    """Request that a contact is erased. From the caller's commit on it is certain to happen."""
    await connection.execute(queries["request"], {"space_id": space_id, "contact_id": contact_id})


async def list_erasures(connection: AsyncConnection, space_id: int) -> list[Erasure]:
    """The Space's latest erasures, the latest first."""
    cursor = connection.cursor(row_factory=class_row(Erasure))
    await cursor.execute(queries["list"], {"space_id": space_id, "limit": LISTED})
    return await cursor.fetchall()


def wait_until_erased(connection: Connection[Any], timeout: float) -> bool:
    """Wait until every erasure requested before this call is carried out, for `timeout` seconds at
    most. Returns False when time ran out. The connection must be in autocommit.
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
    """Every erasure of the installation that was requested or carried out since a moment."""
    cursor = connection.cursor(row_factory=class_row(PastErasure))
    return cursor.execute(queries["changed"], {"since": since}).fetchall()


def list_unprocessed(connection: Connection[Any], erasures: Sequence[PastErasure]) -> list[int]:
    """The Spaces in which something waits that made one of the erased contacts."""
    rows = connection.execute(queries["unprocessed"], {"erasures": _encode(erasures)})
    return [space_id for (space_id,) in rows]


def request_again(connection: Connection[Any], erasures: Sequence[PastErasure]) -> int:
    """Request the erasures that this copy of the database does not know of. Returns their number.
    What it had accepted is processed first, as with any.
    """
    row = connection.execute(queries["mark"]).fetchone()
    assert row is not None
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
    """The number of erasures of the installation that are not carried out."""
    row = connection.execute(queries["waiting"]).fetchone()
    assert row is not None
    return row[0]
