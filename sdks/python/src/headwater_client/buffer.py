"""A bounded buffer of events, in memory or in a file that survives the process, emptied in batches by a
thread.

An event gets its `idempotency_key` and `event_time` when added, so that retries are stored once and with the
original time.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, cast

from headwater_client.api import TrackPayload
from headwater_client.client import Client, with_key
from headwater_client.errors import ApiError, ConnectionFailedError, HeadwaterError

FINAL = frozenset({413, 422})
"""Statuses that mean invalid events. Any other, such as a proxy's 404 during an outage, may be temporary."""


class BufferInUseError(HeadwaterError):
    """The file belongs to another buffer, or can't be used."""


class BufferFullError(HeadwaterError):
    """The buffer is full."""


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
        """Without a `file`, events are in memory and lost with the process. A file belongs to one buffer at a
        time: raises BufferInUseError. `most` is the capacity, `batch` the number of events sent together,
        `seconds` the time an event waits for others, and `retry_seconds` the pause while the service can't be
        reached or refuses all events, for example because of a wrong key.
        """
        self._client, self._batch = client, batch
        self._most, self._seconds, self._retry_seconds = most, seconds, retry_seconds
        self._on_rejection = on_rejection
        self._changed = threading.Condition()
        self._database = _open(file)
        ((self._count,),) = self._database.execute("SELECT count(*) FROM events")
        self._closing = self._flushing = False
        self.failure: HeadwaterError | None = None
        """The reason if the latest batch could not be sent, or None."""
        self._thread = threading.Thread(target=self._run, name="headwater-buffer", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Return the number of waiting events."""
        return self._count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, event: TrackPayload) -> None:
        """Add an event; with a file, it is on disk on return. Raises BufferFullError."""
        kept = with_key(event)
        if not kept.get("event_time"):
            kept = {**kept, "event_time": datetime.now(UTC).isoformat()}
        with self._changed:
            if self._closing or self._count >= self._most:
                raise BufferFullError(f"{self._count} events are waiting")
            self._database.execute("INSERT INTO events (body) VALUES (?)", (json.dumps(kept),))
            self._count += 1
            if self._count == 1 or self._count >= self._batch:
                self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Send waiting events immediately. Return whether none are left after `timeout` seconds."""
        with self._changed:
            self._flushing = True
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._count, timeout)
            finally:
                self._flushing = False

    def close(self, timeout: float = 10.0) -> bool:
        """Send waiting events for at most `timeout` seconds, and stop. Return whether none are left. Others
        stay in the file for the next buffer.
        """
        with self._changed:
            self._closing = True
        done = self.flush(timeout)
        with self._changed:
            self._most = 0
            self._changed.notify_all()
        self._thread.join(timeout)
        return done

    def _run(self) -> None:
        try:
            self._send_all()
        finally:
            self._client.close()  # this thread's connection
            with self._changed:
                self._closing = True
                self._database.close()

    def _send_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._count or not self._most)
                self._changed.wait_for(self._is_due, self._seconds)
                if not self._most:
                    return
                rows = self._database.execute(
                    "SELECT id, body FROM events ORDER BY id LIMIT ?", (self._batch,)
                ).fetchall()
            try:
                self._send(rows)
            except (ApiError, ConnectionFailedError) as error:
                with self._changed:
                    self.failure = error
                    self._changed.wait_for(lambda: not self._most, self._retry_seconds)

    def _is_due(self) -> bool:
        return self._count >= self._batch or self._flushing or not self._most

    def _send(self, rows: list[tuple[int, str]]) -> None:
        """Send a batch, and remove accepted and invalid events. Raises ApiError, ConnectionFailedError."""
        events: list[TrackPayload] = [json.loads(body) for _, body in rows]
        results: list[dict[str, Any]]
        try:
            results = list(self._client.track_many(events))
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
                errors = cast("dict[str, list[str]]", result["errors"])
                number: int = result["index"]
                self._on_rejection(Rejection(events[number], errors))
        with self._changed:
            self._database.executemany("DELETE FROM events WHERE id = ?", [(each,) for each, _ in rows])
            self._count -= len(rows)
            self.failure = None
            self._changed.notify_all()


def _open(file: Path | None) -> sqlite3.Connection:
    """Open the database for exclusive use. Raises BufferInUseError."""
    database = sqlite3.connect(file or ":memory:", check_same_thread=False, isolation_level=None, timeout=0)
    try:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN EXCLUSIVE")
        database.execute(
            "CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT)"
        )
        database.execute("COMMIT")
    except sqlite3.Error as error:
        database.close()
        raise BufferInUseError(f"{file}: {error}") from None
    return database
