"""A bounded buffer of events, in memory or in a file that survives the process, emptied in batches by a
thread.

An event gets its `idempotency_key` and `event_time` when added, so that retries are stored once and with the
original time. The thread starts with the first event. A forked process starts its own thread, and leaves
the events in memory to its parent. When the interpreter exits, waiting events are sent for a short time.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from headwater_client import processes
from headwater_client.api import ItemResult, TrackPayload
from headwater_client.client import Client
from headwater_client.errors import ApiError
from headwater_client.options import LOGGER
from headwater_client.requests import encode
from headwater_client.store import BufferFileError, BufferFullError, Store
from headwater_client.tracking import add_key

__all__ = ["BufferFileError", "BufferFullError", "EventBuffer", "Rejection"]

FINAL = frozenset({413, 422})
"""Statuses that mean invalid events. Any other, such as a proxy's 404 during an outage, may be temporary."""
FLUSH_RETRY_SECONDS = 0.5
"""The longest pause between attempts while the caller waits, for example at exit."""
OTHER_SENDER_SECONDS = 0.05
"""The pause while another process sends the events of a file."""


@dataclass(frozen=True)
class Rejection:
    """An invalid event, removed from the buffer."""

    event: TrackPayload
    errors: Mapping[str, Sequence[str]]
    """By field."""


class EventBuffer:
    """A buffer of events and the thread that sends them. `with` closes it."""

    def __init__(  # noqa: PLR0913 # only the first is required
        self,
        client: Client,
        *,
        file: Path | None = None,
        most: int = 100_000,
        batch: int = 500,
        seconds: float = 1.0,
        retry_seconds: float = 10.0,
        on_rejection: Callable[[Rejection], object] = lambda _: None,
    ) -> None:
        """Without a `file`, events are in memory and lost if the process is killed. Processes may share a
        file; raises BufferFileError. `most` is the capacity, `batch` the number of events sent together,
        `seconds` the time an event waits for others, and `retry_seconds` the pause while the service can't be
        reached or refuses all events, for example because of a wrong key.
        """
        self._client = client
        self._batch, self._most = batch, most
        self._seconds, self._retry_seconds = seconds, retry_seconds
        self._on_rejection = on_rejection
        self._changed = threading.Condition()
        self._is_closing = self._is_stopped = False
        self._flushes = 0
        self._flushing = 0
        self._thread: threading.Thread | None = None
        self.failure: Exception | None = None
        """The reason if the latest batch could not be sent, or None."""
        self._store = Store(file)
        processes.register(self)
        with self._changed:
            if self._store.count():
                self._start()

    def __len__(self) -> int:
        """Return the number of waiting events, of all processes that share the file."""
        with self._changed:
            return self._count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, event: TrackPayload) -> None:
        """Add an event; with a file, it is on disk on return. Raises BufferFullError, BufferFileError, and
        ValueError or TypeError for an event without a JSON form.
        """
        body = add_key(event)
        if not body.get("event_time"):
            body = {**body, "event_time": datetime.now(UTC).isoformat()}
        text = encode(body)
        with self._changed:
            if self._is_closing:
                raise BufferFullError("the buffer is closed")
            self._store.add(text, self._most)
            self._start()
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Send waiting events immediately. Return whether none of them is left after `timeout` seconds."""
        with self._changed:
            if self._is_stopped:
                return not self._count()
            last = self._store.last_id()
            if last:
                self._start()
            deadline = None if timeout is None else time.monotonic() + timeout
            self._flushes += 1
            self._flushing += 1
            self._changed.notify_all()
            try:
                while not self._store.is_sent(last):
                    left = None if deadline is None else deadline - time.monotonic()
                    if self._is_stopped or (left is not None and left <= 0):
                        return False
                    # Another process may send the events of a file.
                    pause = OTHER_SENDER_SECONDS if self._store.is_shared else left
                    self._changed.wait(pause if left is None else min(left, pause or left))
            finally:
                self._flushing -= 1
        return True

    def close(self, timeout: float = 10.0) -> bool:
        """Send waiting events for at most `timeout` seconds, and stop. Return whether none are left. Others
        stay in the file for the next buffer.
        """
        end = time.monotonic() + timeout
        with self._changed:
            if self._is_stopped:
                return not len(self)
            self._is_closing = True
        if self._is_running():  # otherwise what is in the file belongs to other processes
            self.flush(timeout)
        with self._changed:
            left = self._store.count()
            self._is_stopped = True
            self._changed.notify_all()
        if left and not self._store.is_shared:
            LOGGER.warning("%d events were not sent before the buffer was closed", left)
        if self._thread is not None:
            self._thread.join(max(0.0, end - time.monotonic()))
        with self._changed:
            if not self._is_running():
                self._store.close()
        return not left

    def _count(self) -> int:
        """Return the number of waiting events. The caller holds the lock."""
        count = self._store.count()
        if self._is_stopped and not self._is_running():
            self._store.close()
        return count

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        """Start the thread unless it runs. The caller holds the lock."""
        if self._is_running():
            return
        processes.close_at_end_of_worker()
        self._thread = threading.Thread(target=self._run, name="headwater-buffer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_stopped:
            seen = self._flushes
            try:
                pause = self._send_next() if self._wait_for_batch() else 0.0
            except Exception as error:  # noqa: BLE001 # the thread must survive anything
                level = logging.INFO if self.failure else logging.WARNING  # once per outage
                self.failure = error
                pause = max(self._rest_seconds(), getattr(error, "retry_after", 0.0))
                LOGGER.log(
                    level, "events could not be sent (%s); next attempt in %.0f s", _name(error), pause
                )
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped or self._flushes > seen, pause)  # noqa: B023
        with self._changed:
            self._store.close()

    def _rest_seconds(self) -> float:
        return min(self._retry_seconds, FLUSH_RETRY_SECONDS) if self._flushing else self._retry_seconds

    def _wait_for_batch(self) -> bool:
        """Wait until a batch is due. Return False after the end."""
        due: float | None = None
        with self._changed:
            while not self._is_stopped:
                count, now = self._store.count(), time.monotonic()
                if count:
                    due = now + self._seconds if due is None else due
                    if self._flushing or count >= self._batch or now >= due:
                        return True
                    self._changed.wait(due - now)
                else:
                    due = None
                    self._changed.wait(self._seconds if self._store.is_shared else None)
        return False

    def _send_next(self) -> float:
        """Send a batch, unless another process does. Return the pause before the next one."""
        with self._changed:
            if not self._store.acquire_sender():
                return OTHER_SENDER_SECONDS
            rows = self._store.read(self._batch)
        try:
            if rows:
                self._send(rows)
        finally:
            with self._changed:
                self._store.release_sender()
        return 0.0

    def _send(self, rows: list[tuple[int, str]]) -> None:
        """Send a batch, and remove accepted and invalid events. Raises ApiError, ConnectionFailedError."""
        events: list[TrackPayload] = [json.loads(body) for _, body in rows]
        try:
            results: list[ItemResult] = self._client.track_many(events)
        except ApiError as error:
            if error.status not in FINAL:
                raise
            if len(rows) > 1:  # halve the batch: an event is invalid, or the batch too large
                self._send(rows[: len(rows) // 2])
                self._send(rows[len(rows) // 2 :])
                return
            results = [{"index": 0, "status": "invalid", "errors": {"": [error.message]}}]
        for result in results:
            if result["status"] == "invalid":
                self._reject(Rejection(events[result["index"]], result.get("errors", {})))
        with self._changed:
            self._store.remove(rows[0][0], rows[-1][0])
            self.failure = None
            self._changed.notify_all()

    def _reject(self, rejection: Rejection) -> None:
        try:
            self._on_rejection(rejection)
        except Exception as error:  # noqa: BLE001 # the thread must survive the callback
            # The message of the error may contain personal data.
            LOGGER.error("on_rejection raised %s", _name(error))

    def before_fork(self) -> None:
        """Hold the buffer while the process forks; the package calls this and the next two by itself."""
        self._changed.acquire()
        self._store.close_file()

    def after_fork_in_parent(self) -> None:
        """Continue."""
        self._changed.release()

    def after_fork_in_child(self) -> None:
        """Begin without the parent's thread and without its events in memory."""
        self._changed = threading.Condition()
        self._thread = None
        self._flushing = 0
        self._store.forget_memory()


def _name(error: BaseException) -> str:
    """Return an error's type, and the status of a response."""
    status = f" {error.status}" if isinstance(error, ApiError) else ""
    return type(error).__name__ + status
