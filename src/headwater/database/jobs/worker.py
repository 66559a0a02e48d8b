"""The worker: works for each Space in turn."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg
import structlog
from prometheus_client import Counter
from psycopg.errors import LockNotAvailable
from psycopg.sql import SQL, Identifier

from headwater.database.jobs.backoff import double_pause
from headwater.database.jobs.connection import TRANSIENT_ERRORS, WorkerConnection, connect
from headwater.database.jobs.duties import INSTALLATION, Duty
from headwater.database.jobs.failed_jobs import CLEAR, NOTE, RETRY_SECONDS, failure, success
from headwater.database.outage_log import OutageLog

FIRST_PAUSE_SECONDS = 0.05
"""The pause after a failure, doubled by each further one."""
FIRST_REST_SECONDS = 0.0125
LONGEST_REST_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
LOOK_SHARE = 20
"""A job with a pause polls at most once in this many times the duration of a poll."""
LONGEST_SHARE_SECONDS = 60.0
"""The longest rest after a long poll: one that stood still, because of a lock or a machine on hold, must not
stop the job for hours.
"""
SWITCH_PAUSE_SECONDS = 0.4
"""The longest pause while a Space is being switched to another node."""

LOOK = -1
"""Replaces the Space id for a poll. No Space has this id."""

log = structlog.get_logger()
put_off = Counter("headwater_put_off_spaces", "Units of work postponed by a worker")


class PutOffs:
    """Work postponed by failures that no row caused, with growing delays, to keep a full disk from filling
    with log lines.
    """

    def __init__(self) -> None:
        self._failures: dict[tuple[Duty, int], int] = {}
        self._due_times: dict[tuple[Duty, int], float] = {}
        self._failed_spaces: set[tuple[Duty, int]] = set()

    def put_off(self, duty: Duty, space_id: int, longest: float = LONGEST_PAUSE_SECONDS) -> float:
        """Postpone again, and return the delay."""
        key = duty, space_id
        self._failures[key] = self._failures.get(key, 0) + 1
        pause = double_pause(FIRST_PAUSE_SECONDS, longest, self._failures[key])
        self._due_times[key] = time.monotonic() + pause
        return pause

    def fail(self, duty: Duty, space_id: int) -> None:
        self._failed_spaces.add((duty, space_id))
        self._due_times[duty, space_id] = time.monotonic() + RETRY_SECONDS

    def has_failed(self, duty: Duty, space_id: int) -> bool:
        return (duty, space_id) in self._failed_spaces

    def is_due(self, duty: Duty, space_id: int) -> bool:
        return time.monotonic() >= self._due_times.get((duty, space_id), 0.0)

    def forget(self, duty: Duty, space_id: int) -> None:
        self._failures.pop((duty, space_id), None)
        self._failed_spaces.discard((duty, space_id))
        self._due_times.pop((duty, space_id), None)


@dataclass
class Look:
    """A duty's poll for waiting work."""

    began: float
    seconds: float = 0.0
    spaces: list[int] = field(default_factory=list[int])
    led_to_work: bool = False

    def find_next_poll(self, duty: Duty) -> float:
        """Return the earliest time of the next poll, after serving all Spaces."""
        pause = 0.0 if self.led_to_work else max(duty.pause_seconds, FIRST_REST_SECONDS)
        share = min(LOOK_SHARE * self.seconds, self.seconds + LONGEST_SHARE_SECONDS)
        return self.began + max(pause, share if duty.pause_seconds else 0.0)


class Worker:
    """Runs duties in turn until `stop`, finishing the current unit of work."""

    def __init__(self, url: str, stop: threading.Event, duties: Sequence[Duty]) -> None:
        self._url = url
        self._stop = stop
        self._duties = duties
        self._put_offs = PutOffs()
        self._looks: dict[Duty, Look] = {}
        self._idle_turns = 0

    def run(self) -> None:
        """Run; reconnect with growing delays when the database is away."""
        _collect_rarely()
        failures, outage = 0, OutageLog("worker")
        while not self._stop.is_set():
            try:
                with connect(self._url) as connection:
                    self._listen(connection)
                    while not self._stop.is_set():
                        self._turn(connection)
                        failures = 0
                        outage.end()
            except psycopg.Error as error:  # also of another class, such as a session ended while idle
                failures += 1
                pause = double_pause(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, failures)
                outage.fail(error)
                self._stop.wait(pause)

    def _listen(self, connection: WorkerConnection) -> None:
        for duty in self._duties:
            if duty.channel is not None:
                connection.execute(SQL("LISTEN {}").format(Identifier(duty.channel)))

    def _turn(self, connection: WorkerConnection) -> None:
        """Give every duty its turn; rest if all were idle."""
        worked = [self._work(connection, duty) for duty in self._duties]
        if any(worked):
            self._idle_turns = 0
        else:
            self._idle_turns += 1
            self._wait(connection)

    def _work(self, connection: WorkerConnection, duty: Duty) -> bool:
        """Work on a duty until nothing waits or its time is over. Returns whether there was any work."""
        worked, ends = False, time.monotonic() + duty.turn_seconds
        while not self._stop.is_set() and (look := self._look(connection, duty)).spaces:
            if self._attend(connection, duty, look.spaces.pop()):
                worked = look.led_to_work = True
            if time.monotonic() >= ends:
                break
        return worked

    def _look(self, connection: WorkerConnection, duty: Duty) -> Look:
        """Return the duty's last poll, or a new one after all its Spaces were served."""
        look, current_time = self._looks.get(duty), time.monotonic()
        if look is None or (not look.spaces and current_time >= look.find_next_poll(duty)):
            spaces = self._waiting(connection, duty)
            look = self._looks[duty] = Look(current_time, time.monotonic() - current_time, spaces)
        return look

    def _wait(self, connection: WorkerConnection) -> None:
        """Wait for a notification, but not long, because not all work sends one."""
        seconds = double_pause(FIRST_REST_SECONDS, LONGEST_REST_SECONDS, self._idle_turns)
        for notice in connection.notifies(timeout=seconds, stop_after=1):
            self._idle_turns = 0
            for duty in self._duties:
                if duty.channel == notice.channel:
                    self._looks.pop(duty, None)

    def _waiting(self, connection: WorkerConnection, duty: Duty) -> list[int]:
        """Return the Spaces with waiting work. A failed poll is postponed, because other jobs may still work:
        in a cluster not all of them query a broken node.
        """
        if not self._put_offs.is_due(duty, LOOK):
            return []
        try:
            waiting_spaces = duty.waiting(connection)
        except TRANSIENT_ERRORS as error:
            self._put_off(connection, duty, LOOK, error)
            return []
        self._put_offs.forget(duty, LOOK)
        spaces = [space_id for space_id in waiting_spaces if self._put_offs.is_due(duty, space_id)]
        random.shuffle(spaces)  # several workers should not queue up for the same Space
        return spaces

    def _attend(self, connection: WorkerConnection, duty: Duty, space_id: int) -> bool:
        """Do one unit of work for a Space; returns whether there was any. A failure that no row caused
        postpones the Space. Raises it if the connection is closed.
        """
        try:
            has_worked = self._do(connection, duty, space_id)
        except TRANSIENT_ERRORS as error:
            self._put_off(connection, duty, space_id, error)
            return False
        except Exception as error:  # noqa: BLE001 - a fault of one Space is not the others'
            self._fail(connection, duty, space_id, error)
            return False
        if self._put_offs.has_failed(duty, space_id):
            with suppress(psycopg.Error):
                connection.execute(CLEAR, success(space_id, duty.name))
        self._put_offs.forget(duty, space_id)
        return has_worked

    def _fail(self, connection: WorkerConnection, duty: Duty, space_id: int, error: Exception) -> None:
        if connection.closed:
            raise error
        with suppress(psycopg.Error):
            connection.rollback()
        put_off.inc()
        log.error("job failed", space_id=space_id, job=duty.name, exc_info=error)
        self._put_offs.fail(duty, space_id)
        if space_id != INSTALLATION:
            with suppress(psycopg.Error):
                connection.execute(NOTE, failure(space_id, duty.name, error))

    def _put_off(self, connection: WorkerConnection, duty: Duty, space_id: int, error: Exception) -> None:
        """Postpone failed work. Raises its error if the connection is closed."""
        if connection.closed:
            raise error
        with suppress(psycopg.Error):
            connection.rollback()
        put_off.inc()
        is_switch = isinstance(error, LockNotAvailable)
        longest = SWITCH_PAUSE_SECONDS if is_switch else LONGEST_PAUSE_SECONDS
        pause = self._put_offs.put_off(duty, space_id, longest)
        name = type(error).__name__
        if space_id == LOOK:
            log.warning("look put off", error=name, pause=pause)
        else:
            log.warning("space put off", space_id=space_id, error=name, pause=pause)

    @staticmethod
    def _do(connection: WorkerConnection, duty: Duty, space_id: int) -> bool:
        if space_id == INSTALLATION:
            return duty.attend(connection, space_id)
        with connection.confined(space_id):
            return duty.attend(connection, space_id)


def _collect_rarely() -> None:
    """Collect garbage rarely: Python's default would waste about a fifth of a worker's time on tens of
    thousands of objects without cycles.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
