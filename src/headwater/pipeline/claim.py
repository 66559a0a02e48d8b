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

queries = Queries(__name__, "claim.sql")


def claim(
    connection: Connection[Any], space_id: int, limit: int, ids: Collection[int] | None = None
) -> Batch | None:
    """Lock the Space and read its oldest rows, or those of `ids`; None when it is locked."""
    locked = connection.execute(queries["lock_space"], {"space_id": space_id})
    state = connection.execute(queries["standing"], {"space_id": space_id})
    fetch_rows = request_rows(connection, space_id, limit, ids)
    space = locked.fetchone()
    if space is None:
        return None
    arrivals = fetch_rows()
    number, newest, targets, names, answers = state.fetchall()[0]
    rules = SpaceRules(*space, own_names=names, own_answers=answers)
    batch = Batch(rules, arrivals, Directory(number, newest))
    batch.targets = read_targets(targets)
    return batch


def lock_space(connection: Connection[Any], space_id: int) -> SpaceRules | None:
    """Lock the Space against batches and every other change of its identities, and return its
    rules as they are then; None when it is locked.
    """
    values = {"space_id": space_id}
    space = connection.execute(queries["lock_space"], values).fetchone()
    if space is None:
        return None
    names, answers = connection.execute(queries["own_rules"], values).fetchall()[0]
    return SpaceRules(*space, own_names=names, own_answers=answers)
