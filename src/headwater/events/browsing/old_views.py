"""Delete page views older than the Space's retention period, in batches under its lock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

import structlog
from psycopg import Connection, Cursor

from headwater.base.failpoints import failpoint
from headwater.base.telemetry.counters import make_counter
from headwater.database.jobs.connection import TRANSIENT_ERRORS
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries, fetch_row
from headwater.spaces.locks import try_lock

queries = Queries(__name__, "old_views.sql")

POLL_SECONDS = 600.0
"""Between polls for due Spaces. A locked Space waits for the next poll."""
CHECK_INTERVAL = timedelta(days=1)
BATCH_ROWS = 1_000
"""Small because the Space is locked meanwhile."""
TURN_SECONDS = 0.05
STATEMENT_TIMEOUT = "20s"

expired_rows = make_counter(
    "headwater_expired_rows",
    "Rows deleted or cleared because their Space's retention period has passed",
    kind=("page_views", "contacts", "deliveries", "logs"),
)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)

log = structlog.get_logger()

DatedRow = tuple[int, int, int]
"""An id with the start and end of its row, in µs since 1970."""


def make_old_views_job(seconds: float = POLL_SECONDS) -> Duty:

    def attend(connection: Connection[Any], space_id: int) -> bool:
        try:
            return delete_old_views(connection, space_id)
        except TRANSIENT_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 - stored data must not stop the worker
            name = type(error).__name__
            log.warning("old page views left alone", space_id=space_id, error=name)
            return False

    return Duty(_find_due_spaces, attend, TURN_SECONDS, seconds, "page views")


def _find_due_spaces(connection: Connection[Any]) -> list[int]:
    """Return Spaces to check. Two lists instead of a join, because in a cluster one table is not on every
    node.
    """
    spaces = {space_id for (space_id,) in connection.execute(queries["spaces_that_forget"])}
    if not spaces:
        return []
    current_time = datetime.now(UTC)  # a later check was before the clock was set back
    values = {"since": current_time - CHECK_INTERVAL, "now": current_time}
    checked_spaces = {space_id for (space_id,) in connection.execute(queries["looked_after"], values)}
    return list(spaces - checked_spaces)


def delete_old_views(
    connection: Connection[Any], space_id: int, limit: int = BATCH_ROWS, current_time: datetime | None = None
) -> bool:
    """Process one batch. Return whether more may be left; False if the Space is locked.

    Needs an autocommit connection.
    """
    with connection.transaction():
        connection.execute(queries["bound_statements"], {"patience": STATEMENT_TIMEOUT})
        if not try_lock(connection, space_id):
            return False
        batch = _Batch(connection, space_id, limit, current_time or datetime.now(UTC))
        has_more = batch.delete_expired()
        batch.record_check(_NEVER if has_more else batch.checked_at)
        failpoint("old_views_before_commit")
    if batch.deleted_count:
        expired_rows.labels("page_views").inc(batch.deleted_count)
        log.debug("page views forgotten", space_id=space_id, rows=batch.deleted_count)
    return has_more


class _Batch:
    """A transaction that holds the Space's lock."""

    def __init__(self, connection: Connection[Any], space_id: int, limit: int, checked_at: datetime) -> None:
        self._connection = connection
        self._space_id = space_id
        self._limit = limit
        self.checked_at = checked_at
        row = fetch_row(connection, queries["standing"], {"space_id": space_id})
        self._kept_days, waiting_since = row
        # A page view in the inbox is at most a week older than its receipt. Counting from the oldest receipt
        # keeps all rows near it.
        self._as_of: datetime = min(checked_at, waiting_since or checked_at)
        self._forgotten_before: datetime | None = None
        self.deleted_count = 0

    def delete_expired(self) -> bool:
        """Delete page views, then visits without any. Return whether any row was deleted."""
        if self._kept_days is None:
            return False
        before = self._as_of - timedelta(days=self._kept_days)
        self._forgotten_before = before
        if ids := _select_older(self._execute("first_views"), before):
            self._execute("delete_views", ids=ids)
        elif ids := _select_older(self._execute("first_visits"), before):
            self._execute("delete_clicks", ids=ids, before=before)
            self._execute("delete_visits", ids=ids)
            self._execute("delete_empty_counts", before=before)
        self.deleted_count = len(ids)
        return bool(ids)

    def record_check(self, checked_at: datetime) -> None:
        self._execute("note", forgotten_before=self._forgotten_before, looked_at=checked_at)

    def _execute(self, statement: str, **values: Any) -> Cursor[DatedRow]:
        bound = {"space_id": self._space_id, "most": self._limit, **values}
        return self._connection.execute(queries[statement], bound)


def _select_older(arrivals: Iterable[DatedRow], before: datetime) -> list[int]:
    """Return ids of rows that ended before a moment, up to the first that began later. A later run deletes
    the rest, at most a week older.
    """
    moment = round(before.timestamp() * 1_000_000)
    earlier_arrivals = takewhile(lambda row: row[1] < moment, arrivals)
    return [row_id for row_id, _, end in earlier_arrivals if end < moment]
