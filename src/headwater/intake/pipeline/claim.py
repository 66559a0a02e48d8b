from __future__ import annotations

from collections.abc import Collection
from typing import Any

from psycopg import Connection

from headwater.database.queries import Queries
from headwater.forwarding.deliveries.outbox import read_targets
from headwater.intake.inbox.queue import Version, request_rows, request_versions
from headwater.intake.pipeline.batch import Batch, ParsedRows, SpaceRules
from headwater.people.identity.directory import Directory
from headwater.spaces.locks import request_lock, try_lock

queries = Queries(__name__, "claim.sql")


def claim(
    connection: Connection[Any],
    space_id: int,
    limit: int,
    ids: Collection[int] | None = None,
    rows_ahead: ParsedRows | None = None,
) -> Batch | None:
    """Lock the Space and load its oldest rows or `ids`. Return None if locked. Rows parsed ahead are used if
    they and the rules are unchanged.
    """
    parsed_rows = rows_ahead.arrivals if rows_ahead is not None else []
    is_locked = request_lock(connection, space_id)
    rules_cursor = connection.execute(queries["standing"], {"space_id": space_id})
    number = connection.execute(queries["draw_number"])
    fetch_versions = (
        request_versions(connection, space_id, len(parsed_rows)) if parsed_rows else list[Version]
    )
    after_id = parsed_rows[-1].id if parsed_rows else 0
    fetch_rows = request_rows(connection, space_id, limit - len(parsed_rows), ids, after_id)
    if not is_locked():
        return None
    *rules, newest, targets = rules_cursor.fetchall()[0]
    space = SpaceRules(*rules)
    if rows_ahead is not None and not rows_ahead.still_wait(space, fetch_versions()):
        rows_ahead, fetch_rows = None, request_rows(connection, space_id, limit)
    directory = Directory(number.fetchall()[0][0], newest)
    batch = Batch(rows_ahead or ParsedRows(space, []), fetch_rows(), directory)
    batch.targets = read_targets(targets)
    return batch


def lock_space(connection: Connection[Any], space_id: int) -> SpaceRules | None:
    """Return None if locked."""
    if not try_lock(connection, space_id):
        return None
    *rules, _, _ = connection.execute(queries["standing"], {"space_id": space_id}).fetchall()[0]
    return SpaceRules(*rules)
