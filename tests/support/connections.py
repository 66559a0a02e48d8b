"""One connection for test after test: to connect, and to read the catalogue once more, takes longer
than what most tests do with it.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import Connection
from psycopg.pq import TransactionStatus

AS_NEW = (
    "RESET ALL; RESET ROLE; UNLISTEN *; CLOSE ALL; DISCARD TEMP; DISCARD SEQUENCES;"
    " SELECT pg_advisory_unlock_all()"
)
"""Makes a session what it was at first."""


class Lender:
    """Lends a connection in autocommit, as good as new each time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._kept: Connection[Any] | None = None

    def lend(self) -> Connection[Any]:
        kept, self._kept = self._kept, None
        if kept is not None and _renew(kept):
            return kept
        return psycopg.connect(self._url, autocommit=True)

    def take_back(self, connection: Connection[Any]) -> None:
        """Keep a connection for the next one, unless it was closed or broken, or is in a transaction."""
        if _renew(connection):
            self._kept = connection
        else:
            connection.close()

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()


def _renew(connection: Connection[Any]) -> bool:
    """Return whether a connection is as good as new."""
    if connection.closed or connection.info.transaction_status is not TransactionStatus.IDLE:
        return False
    try:
        connection.execute(AS_NEW)
    except psycopg.Error:
        return False
    return True
