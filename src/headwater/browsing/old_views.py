"""The worker's duty to old page views: those that are not needed singly are packed, and those of a
Space that keeps them for a time only are deleted after it. Piece by piece, each in a transaction
under the Space's lock, which also writes down how far it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from psycopg import Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.failpoints import failpoint
from headwater.jobs.connection import TRANSIENT_ERRORS
from headwater.jobs.duties import Duty
from headwater.packed_views import packs
from headwater.packed_views.form import LONGEST_SPAN, MOST_VIEWS, OldView
from headwater.spaces.locks import try_lock

queries = Queries(__name__, "old_views.sql")

LOOK_SECONDS = 600.0
"""Between two looks of a worker for Spaces that are due; one that was locked waits for the next."""
EVERY = timedelta(days=1)
"""Between two times that a Space is due."""
MOST_ROWS = 1_000
"""The page views of a piece, with at most as many of their visits' behind them: the Space is locked
meanwhile.
"""
LEAST_PACKED = 2
"""The page views of a visit that are packed: one alone would take nearly as much as before."""
TURN_SECONDS = 0.05
PATIENCE = "20s"
"""The longest that a statement may take."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)

log = structlog.get_logger()

Dated = tuple[int, int, int]
"""An id, and when what it names began and ended, in µs since 1970."""


def make_old_views_duty(pack_days: int, seconds: float = LOOK_SECONDS) -> Duty:
    """Return the duty for page views to be packed at an age of so many days; 0 packs none."""

    def waiting(connection: Connection[Any]) -> list[int]:
        return _due(connection, pack_days)

    def attend(connection: Connection[Any], space_id: int) -> bool:
        try:
            return see_to(connection, space_id, pack_days)
        except TRANSIENT_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 - what is stored may not stop the worker
            name = type(error).__name__
            log.warning("old page views left alone", space_id=space_id, error=name)
            return False

    return Duty(waiting, attend, TURN_SECONDS, seconds, "page views")


def _due(connection: Connection[Any], pack_days: int) -> list[int]:
    """Return the Spaces that are to be looked at. Plain lists rather than a join, as some are of
    tables that every node of a cluster has, and one is not.
    """
    kinds = ["spaces_that_forget", *(["spaces_with_sites"] if pack_days else [])]
    spaces = {space_id for kind in kinds for (space_id,) in connection.execute(queries[kind])}
    if not spaces:
        return []
    values = {"since": datetime.now(UTC) - EVERY}
    done = {space_id for (space_id,) in connection.execute(queries["looked_after"], values)}
    return list(spaces - done)


def see_to(
    connection: Connection[Any],
    space_id: int,
    pack_days: int,
    most: int = MOST_ROWS,
    now: datetime | None = None,
) -> bool:
    """Do a piece for a Space; return whether something may be left, unless the Space is locked.
    Needs a connection in autocommit.
    """
    with connection.transaction():
        connection.execute(queries["bound_statements"], {"patience": PATIENCE})
        if not try_lock(connection, space_id):
            return False
        piece = _Piece(connection, space_id, most, now or datetime.now(UTC))
        left = piece.forget() or (pack_days > 0 and piece.pack(pack_days))
        piece.note(_NEVER if left else piece.now)
        failpoint("old_views_before_commit")
    return left


class _Piece:
    """A piece of work, in a transaction that has the Space's lock."""

    def __init__(
        self, connection: Connection[Any], space_id: int, most: int, now: datetime
    ) -> None:
        self._connection = connection
        self._space_id = space_id
        self._most = most
        self.now = now
        row = connection.execute(queries["standing"], {"space_id": space_id}).fetchone()
        assert row is not None
        self._kept_days, self._packed_id, waiting_since = row
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
        elif ids := _older(packs.read_first(self._connection, self._space_id, self._most), before):
            packs.delete(self._connection, self._space_id, ids)
        elif ids := _older(self._read("first_visits"), before):
            self._change("delete_clicks", ids=ids, before=before)
            self._change("delete_visits", ids=ids)
        if ids:
            log.debug("page views forgotten", space_id=self._space_id, rows=len(ids))
        return bool(ids)

    def pack(self, days: int) -> bool:
        """Pack the next page views by their arrival, with those of the same visits behind them.
        Returns whether more may be left.
        """
        before = _micros(self._as_of - timedelta(days=days))
        query = queries["views"].format(columns=queries["columns"])
        arrived = self._connection.execute(query, self._values(after_id=self._packed_id))
        arrivals = [(stays, OldView(*columns)) for stays, *columns in arrived.fetchall()]
        ages = (place for place, (_, view) in enumerate(arrivals) if view.occurred_at >= before)
        old = arrivals[: next(ages, len(arrivals))]
        if not old:
            return False
        self._packed_id = old[-1][1].id
        views = [view for stays, view in old if not stays]
        packed = _several(views + self._later_of(views, before))
        if packed:
            packs.write(self._connection, self._space_id, packed)
            self._change("delete_views", ids=[view.id for view in packed])
            log.debug("page views packed", space_id=self._space_id, rows=len(packed))
        return len(old) == self._most

    def _later_of(self, views: Iterable[OldView], before: int) -> list[OldView]:
        """Return the page views of the same visits that arrived after the piece's."""
        visits: dict[tuple[int, int], int] = {}
        for view in views:
            key = view.visit_id, view.contact_id
            visits[key] = min(view.occurred_at, visits.get(key, view.occurred_at))
        named = [
            {"id": visit, "contact_id": contact, "first": first,
             "last": min(first + LONGEST_SPAN, before - 1)}
            for (visit, contact), first in visits.items()
        ]  # fmt: skip
        if not named:
            return []
        query = queries["views_of_visits"].format(columns=queries["columns"])
        values = self._values(visits=rows(named), after_id=self._packed_id, most=MOST_VIEWS)
        return [OldView(*row) for row in self._connection.execute(query, values).fetchall()]

    def note(self, looked_at: datetime) -> None:
        """Write down how far the Space's page views have been seen to."""
        self._change(
            "note", packed_id=self._packed_id, forgotten_before=self._forgotten_before,
            looked_at=looked_at,
        )  # fmt: skip

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


def _several(views: Iterable[OldView]) -> list[OldView]:
    """Return the page views of visits of which there are enough to be packed."""
    by_visit: dict[tuple[int, int, int | None], list[OldView]] = {}
    for view in views:
        key = view.visit_id, view.contact_id, view.origin_id
        by_visit.setdefault(key, []).append(view)
    return [view for some in by_visit.values() if len(some) >= LEAST_PACKED for view in some]


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)
