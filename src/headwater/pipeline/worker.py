"""The worker: goes round the Spaces that have waiting rows, one batch each, until told to stop."""

from __future__ import annotations

import gc
import random
import threading
from contextlib import suppress
from typing import Any

import psycopg
import structlog
from psycopg import Connection

from headwater.pipeline.inbox import waiting_spaces
from headwater.pipeline.running import BATCH_ROWS, NOT_THE_ROWS, connect, process_space

IDLE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 5.0

log = structlog.get_logger()


class Worker:
    """Processes until `stop` is set. A batch under way is finished first."""

    def __init__(self, url: str, stop: threading.Event, limit: int = BATCH_ROWS) -> None:
        self._url = url
        self._stop = stop
        self._limit = limit

    def run(self) -> None:
        """Work; when the database goes away, come back to it, waiting longer each time."""
        _collect_rarely()
        pause = IDLE_SECONDS
        while not self._stop.is_set():
            try:
                with connect(self._url) as connection:
                    while not self._stop.is_set():
                        self._turn(connection)
                        pause = IDLE_SECONDS
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                log.warning("database unavailable", error=type(error).__name__, pause=pause)
                self._stop.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _turn(self, connection: Connection[Any]) -> None:
        """One batch of every waiting Space; rest when there was nothing to do."""
        spaces = waiting_spaces(connection)
        random.shuffle(spaces)  # several workers should not queue up for the same Space
        worked = False
        for space_id in spaces:
            if self._stop.is_set():
                return
            worked |= self._attend(connection, space_id)
        if not worked:
            self._stop.wait(IDLE_SECONDS)

    def _attend(self, connection: Connection[Any], space_id: int) -> bool:
        """Process a batch of one Space and return whether there was one. A failure no row is to
        blame for leaves the Space for the next turn, unless the connection itself is gone.
        """
        try:
            return process_space(connection, space_id, self._limit).rows > 0
        except NOT_THE_ROWS as error:
            if connection.closed:
                raise
            with suppress(psycopg.Error):
                connection.rollback()
            log.warning("space put off", space_id=space_id, error=type(error).__name__)
            return False


def _collect_rarely() -> None:
    """A batch makes tens of thousands of objects and no cycles among them, so that looking for
    cycles as often as Python does by default would only cost, about a fifth of a worker's time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
