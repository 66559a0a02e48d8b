"""Notify workers of accepted rows, so that an idle worker polls immediately."""

from __future__ import annotations

import time
from collections.abc import Callable

from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

CHANNEL = "headwater_inbox"
LEAST_SECONDS = 0.02
"""Between two notifications of a process. PostgreSQL sends them one transaction at a time, and a
worker that just worked or was notified polls again as soon by itself.
"""
_NOTIFY = SQL("NOTIFY {}").format(Identifier(CHANNEL))


class Notices:
    """Sends notifications on the connection that commits rows, at most every LEAST_SECONDS."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent = -LEAST_SECONDS

    async def send(self, connection: AsyncConnection) -> None:
        """Notify workers of committed rows, unless they were just notified. Uses its own
        transaction, which causes no flush.
        """
        now = self._clock()
        if now - self._sent >= LEAST_SECONDS:
            self._sent = now
            await connection.execute(_NOTIFY)
