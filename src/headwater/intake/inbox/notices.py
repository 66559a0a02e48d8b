"""The notice to workers that rows were accepted: one that rests looks again at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

CHANNEL = "headwater_inbox"
LEAST_SECONDS = 0.02
"""Between two notices of a process. PostgreSQL sends them one transaction at a time, and a worker
that has just worked or been woken looks again by itself as soon.
"""
_NOTIFY = SQL("NOTIFY {}").format(Identifier(CHANNEL))


class Notices:
    """Sends notices on the connection that commits rows, and remembers when it did."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent = -LEAST_SECONDS

    async def send(self, connection: AsyncConnection) -> None:
        """Notify workers of rows that are committed, unless they were notified just now. In a
        transaction of its own, which nothing is flushed for.
        """
        now = self._clock()
        if now - self._sent >= LEAST_SECONDS:
            self._sent = now
            await connection.execute(_NOTIFY)
