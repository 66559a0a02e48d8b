"""A worker's connection to the database, and its transient errors."""

from __future__ import annotations

from contextlib import AbstractContextManager

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from headwater.database.cluster.presence import BOUND_WAITING
from headwater.database.queries import Queries
from headwater.database.row_security import confined, fetch_role

queries = Queries(__name__, "connection.sql")

STAY_CONNECTED = queries["stay_connected"]

TRANSIENT_ERRORS = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.ProgrammingError,
    psycopg.errors.InternalError_,
    psycopg.errors.ReadOnlySqlTransaction,
    MemoryError,
)
"""Errors that no row causes: the database is away, full, read-only or of another version, another transaction
was in the way, or a cluster is moving the Space. Retry later instead of rejecting rows.
"""


def is_transient(error: Exception) -> bool:
    """A value too long for an index is an operational error too, but one that only its row causes."""
    return isinstance(error, TRANSIENT_ERRORS) and not isinstance(error, psycopg.errors.ProgramLimitExceeded)


MOST_ROWS_OF_PLANS = 1_000_000
"""Renew plans after this many rows anyway, because other workers store rows too."""


class WorkerConnection(Connection[TupleRow]):
    """A worker's connection. Plans use keys even with young statistics, and are cached. They are renewed when
    the stored rows have doubled: a plan for a few hundred rows reads all rows of a Space to find one.
    """

    _rows = 0
    _rows_to_plan_anew = 1
    space_role: str | None = None

    def confined(self, space_id: int) -> AbstractContextManager[None]:
        """Confine the session for a block outside transactions."""
        return confined(self, space_id, self.space_role)

    def count_rows(self, rows: int) -> None:
        self._rows += rows
        if self._rows >= self._rows_to_plan_anew:
            self.execute(queries["plan_anew"])
            self._rows_to_plan_anew = self._rows + min(self._rows, MOST_ROWS_OF_PLANS)


def connect(url: str) -> WorkerConnection:
    connection = WorkerConnection.connect(
        url,
        autocommit=True,
        prepare_threshold=0,
        connect_timeout=3,
        tcp_user_timeout=10_000,
        application_name="headwater worker",
    )
    connection.execute(queries["plan_by_key"])
    connection.execute(BOUND_WAITING)
    connection.space_role = fetch_role(connection).usable_name
    return connection
