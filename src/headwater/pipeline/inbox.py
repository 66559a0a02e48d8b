"""The queue between accepting and storing: waiting rows, rejected rows, and their way back."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import Identifier

from headwater.database.json_rows import rows
from headwater.database.queries import Queries
from headwater.deliveries.outbox import read_targets
from headwater.identity.directory import Directory
from headwater.pipeline.batch import Batch, InboxRow, Rejection, SpaceRules

queries = Queries(__name__, "inbox.sql")

_INBOX = queries["hop"].format(queue=Identifier("inbox"))
_REJECTED = queries["hop"].format(queue=Identifier("rejected"))
WAITING_SPACES = queries["spaces"].format(hop=_INBOX)
SPACES_WITH_REJECTED = queries["spaces"].format(hop=_REJECTED)
NEWEST = queries["newest"].format(hop=_INBOX)
ANY_UP_TO = queries["any_up_to"].format(hop=_INBOX)

POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """A row set aside, without its payload."""

    space_id: int
    id: int
    kind: str
    reason: str
    """A RejectReason."""
    detail: str
    received_at: datetime
    rejected_at: datetime


def claim(
    connection: Connection[Any], space_id: int, limit: int, ids: Collection[int] | None = None
) -> Batch | None:
    """Lock the Space and read its oldest rows, or those of `ids`; None when it is locked."""
    cursor = connection.execute(queries["lock_space"], {"space_id": space_id})
    standing = connection.execute(queries["standing"], {"space_id": space_id})
    if ids is None:
        read = connection.execute(queries["read"], {"space_id": space_id, "limit": limit})
    else:
        read = connection.execute(queries["read_these"], {"space_id": space_id, "ids": list(ids)})
    space = cursor.fetchone()
    if space is None:
        return None
    arrivals = list(map(InboxRow._make, read.fetchall()))
    number, newest, targets = standing.fetchall()[0]
    batch = Batch(SpaceRules(*space), arrivals, Directory(number, newest))
    batch.targets = read_targets(targets)
    return batch


def reject_rows(
    connection: Connection[Any], space_id: int, rejections: Collection[Rejection]
) -> None:
    """Set rows aside. They are still to be deleted from the inbox."""
    if rejections:
        values = {"space_id": space_id, "rejections": rows(rejections)}
        connection.execute(queries["reject"], values)


def delete_rows(connection: Connection[Any], space_id: int, ids: list[int]) -> None:
    """Take rows off the inbox."""
    connection.execute(queries["delete"], {"space_id": space_id, "ids": ids})


def waiting_ids(connection: Connection[Any], space_id: int, limit: int) -> list[int]:
    """The ids of the Space's oldest waiting rows."""
    values = {"space_id": space_id, "limit": limit}
    return [row[0] for row in connection.execute(queries["waiting_ids"], values)]


def waiting_spaces(connection: Connection[Any]) -> list[int]:
    """Every Space with waiting rows."""
    return [row[0] for row in connection.execute(WAITING_SPACES)]


def list_rejected(connection: Connection[Any], limit: int = 1000) -> list[RejectedItem]:
    """Rejected rows of all Spaces, at most `limit` per Space, oldest first within a Space."""
    found: list[RejectedItem] = []
    for (space_id,) in connection.execute(SPACES_WITH_REJECTED).fetchall():
        cursor = connection.cursor(row_factory=class_row(RejectedItem))
        cursor.execute(queries["list_rejected"], {"space_id": space_id, "limit": limit})
        found += cursor.fetchall()
    return found


def replay_rejected(
    connection: Connection[Any], space_id: int | None = None, ids: list[int] | None = None
) -> int:
    """Put rejected rows back on the inbox under their old ids and return how many: those of one
    Space or of all, `ids` or every one.
    """
    if space_id is not None:
        spaces = [space_id]
    else:
        spaces = [row[0] for row in connection.execute(SPACES_WITH_REJECTED)]
    count = 0
    for each in spaces:
        values = {"space_id": each, "ids": ids}
        with connection.transaction():
            count += connection.execute(queries["put_back"], values).rowcount
            connection.execute(queries["forget_rejected"], values)
    return count


def wait_until_processed(
    connection: Connection[Any],
    timeout: float,
    wait: Callable[[float], object] = time.sleep,
) -> bool:
    """Wait until everything accepted before this call is processed, for `timeout` seconds at
    most. Returns whether it is. The connection must be in autocommit.
    """
    row = connection.execute(NEWEST).fetchone()
    if row is None or row[0] is None:
        return True
    deadline = time.monotonic() + timeout
    while True:
        left = connection.execute(ANY_UP_TO, {"id": row[0]}).fetchone()
        if left is not None and not left[0]:
            return True
        if time.monotonic() >= deadline:
            return False
        wait(POLL_SECONDS)
