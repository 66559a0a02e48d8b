"""One connection for many tests: connecting and reading the catalogue again takes longer than the queries of
most tests.
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
"""Resets a session to its initial state."""


class Lender:
    """Lends a connection in autocommit, reset before each loan."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle_connection: Connection[Any] | None = None

    def lend(self) -> Connection[Any]:
        connection, self._idle_connection = self._idle_connection, None
        if connection is not None and _renew(connection):
            return connection
        return psycopg.connect(self._url, autocommit=True)

    def take_back(self, connection: Connection[Any]) -> None:
        """Keep a connection for the next test, unless it is closed, broken or in a transaction."""
        if _renew(connection):
            self._idle_connection = connection
        else:
            connection.close()

    def close(self) -> None:
        if self._idle_connection is not None:
            self._idle_connection.close()


def _renew(connection: Connection[Any]) -> bool:
    """Reset a connection. Return whether it can be used again."""
    if connection.closed or connection.info.transaction_status is not TransactionStatus.IDLE:
        return False
    try:
        connection.execute(AS_NEW)
    except psycopg.Error:
        return False
    return True
