"""The claim of a Space and its waiting rows, with which every batch begins."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from psycopg import Connection

from headwater.database.queries import Queries
from headwater.deliveries.outbox import read_targets
from headwater.identity.directory import Directory
from headwater.inbox.queue import request_rows
from headwater.pipeline.batch import Batch, SpaceRules
from headwater.spaces.locks import request_lock, try_lock

queries = Queries(__name__, "claim.sql")


def claim(
    connection: Connection[Any], space_id: int, limit: int, ids: Collection[int] | None = None
) -> Batch | None:
    """Lock the Space and read its oldest rows, or those of `ids`; None when it is locked."""
    is_locked = request_lock(connection, space_id)
    standing = connection.execute(queries["standing"], {"space_id": space_id})
    number = connection.execute(queries["draw_number"])
    fetch_rows = request_rows(connection, space_id, limit, ids)
    if not is_locked():
        return None
    *rules, newest, targets = standing.fetchall()[0]
    directory = Directory(number.fetchall()[0][0], newest)
    batch = Batch(SpaceRules(*rules), fetch_rows(), directory)
    batch.targets = read_targets(targets)
    return batch


def lock_space(connection: Connection[Any], space_id: int) -> SpaceRules | None:
    """Lock the Space against batches and every other change of its identities, and return its
    rules as they are then; None when it is locked.
    """
    if not try_lock(connection, space_id):
        return None
    *rules, _, _ = connection.execute(queries["standing"], {"space_id": space_id}).fetchall()[0]
    return SpaceRules(*rules)
