"""Notify idle workers of accepted rows."""

from __future__ import annotations

import time
from collections.abc import Callable

from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

CHANNEL = "headwater_inbox"
LEAST_SECONDS = 0.02
"""Between two notifications: PostgreSQL sends them one transaction at a time."""
_NOTIFY = SQL("NOTIFY {}").format(Identifier(CHANNEL))


class Notices:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent_at = -LEAST_SECONDS

    async def send(self, connection: AsyncConnection) -> None:
        """Notify workers, unless just done, without a flush."""
        current_time = self._clock()
        if current_time - self._sent_at >= LEAST_SECONDS:
            self._sent_at = current_time
            await connection.execute(_NOTIFY)
