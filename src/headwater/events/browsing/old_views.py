"""The worker's duty to old page views: those of a Space that keeps them for a time only are deleted
after it. Piece by piece, each in a transaction under the Space's lock, which also writes down when
the Space was looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from psycopg import Connection

from headwater.base.failpoints import failpoint
from headwater.database.jobs.connection import TRANSIENT_ERRORS
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries
from headwater.spaces.locks import try_lock

queries = Queries(__name__, "old_views.sql")

LOOK_SECONDS = 600.0
"""Between two looks of a worker for Spaces that are due; one that was locked waits for the next."""
EVERY = timedelta(days=1)
"""Between two times that a Space is due."""
MOST_ROWS = 1_000
"""The page views of a piece: the Space is locked meanwhile."""
TURN_SECONDS = 0.05
PATIENCE = "20s"
"""The longest that a statement may take."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)

log = structlog.get_logger()

Dated = tuple[int, int, int]
"""An id, and when what it names began and ended, in µs since 1970."""


def make_old_views_duty(seconds: float = LOOK_SECONDS) -> Duty:
    """Return the duty, with so many seconds between two looks."""

    def attend(connection: Connection[Any], space_id: int) -> bool:
        try:
            return see_to(connection, space_id)
        except TRANSIENT_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 - what is stored may not stop the worker
            name = type(error).__name__
            log.warning("old page views left alone", space_id=space_id, error=name)
            return False

    return Duty(_due, attend, TURN_SECONDS, seconds, "page views")


def _due(connection: Connection[Any]) -> list[int]:
    """Return the Spaces that are to be looked at. Plain lists rather than a join, as some are of
    tables that every node of a cluster has, and one is not.
    """
    spaces = {space_id for (space_id,) in connection.execute(queries["spaces_that_forget"])}
    if not spaces:
        return []
    values = {"since": datetime.now(UTC) - EVERY}
    done = {space_id for (space_id,) in connection.execute(queries["looked_after"], values)}
    return list(spaces - done)


def see_to(
    connection: Connection[Any], space_id: int, most: int = MOST_ROWS, now: datetime | None = None
) -> bool:
    """Do a piece for a Space; return whether something may be left, unless the Space is locked.
    Needs a connection in autocommit.
    """
    with connection.transaction():
        connection.execute(queries["bound_statements"], {"patience": PATIENCE})
        if not try_lock(connection, space_id):
            return False
        piece = _Piece(connection, space_id, most, now or datetime.now(UTC))
        left = piece.forget()
        piece.note(_NEVER if left else piece.now)
        failpoint("old_views_before_commit")
    return left


class _Piece:
    """A piece of work, in a transaction that has the Space's lock."""

    def __init__(self, connection: Connection[Any], space_id: int, most: int, now: datetime) -> None:
        self._connection = connection
        self._space_id = space_id
        self._most = most
        self.now = now
        row = connection.execute(queries["standing"], {"space_id": space_id}).fetchone()
        assert row is not None
        self._kept_days, waiting_since = row
        # A page view that waits is a week older than its receipt at most: so nothing goes that it
        # could be near.
        self._as_of: datetime = min(now, waiting_since or now)
        self._forgotten_before: datetime | None = None

    def forget(self) -> bool:
        """Delete page views that are older than the Space keeps them, then the visits that have
        none any more. Returns whether there was one.
        """
        if self._kept_days is None:
            return False
        before = self._as_of - timedelta(days=self._kept_days)
        self._forgotten_before = before
        if ids := _older(self._read("first_views"), before):
            self._change("delete_views", ids=ids)
        elif ids := _older(self._read("first_visits"), before):
            self._change("delete_clicks", ids=ids, before=before)
            self._change("delete_visits", ids=ids)
        if ids:
            log.debug("page views forgotten", space_id=self._space_id, rows=len(ids))
        return bool(ids)

    def note(self, looked_at: datetime) -> None:
        """Write down when the Space was looked at, and since when its page views are kept."""
        self._change("note", forgotten_before=self._forgotten_before, looked_at=looked_at)

    def _read(self, statement: str) -> list[Dated]:
        return self._connection.execute(queries[statement], self._values()).fetchall()

    def _change(self, statement: str, **values: Any) -> None:
        self._connection.execute(queries[statement], self._values(**values))

    def _values(self, **values: Any) -> dict[str, Any]:
        return {"space_id": self._space_id, "most": self._most, **values}


def _older(arrivals: Sequence[Dated], before: datetime) -> list[int]:
    """Return the ids of what ended before a moment, up to the first that did not begin before it:
    what arrived later may be older by a week at most, and has its turn then.
    """
    moment = _micros(before)
    ages = (place for place, (_, start, _) in enumerate(arrivals) if start >= moment)
    return [row_id for row_id, _, end in arrivals[: next(ages, len(arrivals))] if end < moment]


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)
