"""The waiting events of a buffer: in memory, or in a file that several processes may share."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from headwater_client.errors import HeadwaterError

BUSY_SECONDS = 5.0
"""The longest wait for another process that writes to the file."""
_PREPARE = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT);
"""
# Ids have no gaps, because events are removed in order: the first and the last give the number.
_COUNT = "coalesce((SELECT max(id) FROM events) - (SELECT min(id) FROM events) + 1, 0)"


class BufferFileError(HeadwaterError):
    """The file of a buffer can't be used."""


class BufferFullError(HeadwaterError):
    """The buffer is full or closed."""


class Store:
    """The waiting events. One thread at a time may use it."""

    def __init__(self, file: Path | None) -> None:
        """Raises BufferFileError."""
        self.is_shared = file is not None
        self._file = file
        self._database: sqlite3.Connection | None = None
        self._sender: sqlite3.Connection | None = None
        self._lost: int | None = None
        """How many events were in memory when the store was closed."""
        self.count()

    def add(self, body: str, most: int) -> None:
        """Add an event; in a file it is on disk on return. Raises BufferFullError, BufferFileError."""
        statement = f"INSERT INTO events (body) SELECT ? WHERE {_COUNT} < ?"
        try:
            added = self._open().execute(statement, (body, most)).rowcount
        except sqlite3.Error as error:
            raise BufferFileError(f"{self._file}: {error}") from error
        if not added:
            raise BufferFullError(f"{most} events are waiting")

    def read(self, count: int) -> list[tuple[int, str]]:
        """Return the oldest events with their ids."""
        statement = "SELECT id, body FROM events ORDER BY id LIMIT ?"
        return self._open().execute(statement, (count,)).fetchall()

    def remove(self, first: int, last: int) -> None:
        """Remove the events of a range of ids."""
        self._open().execute("DELETE FROM events WHERE id BETWEEN ? AND ?", (first, last))

    def count(self) -> int:
        """Return the number of events."""
        if self._lost is not None:
            return self._lost
        ((count,),) = self._open().execute(f"SELECT {_COUNT}")
        return int(count)

    def last_id(self) -> int:
        """Return the id of the newest event, or 0."""
        ((last,),) = self._open().execute("SELECT coalesce(max(id), 0) FROM events")
        return int(last)

    def is_sent(self, last: int) -> bool:
        """Return whether no event is left up to an id."""
        (row,) = self._open().execute("SELECT min(id) FROM events")
        return row[0] is None or row[0] > last

    def acquire_sender(self) -> bool:
        """Return whether this process may send. The system releases the right of a process that ends."""
        if self._file is None:
            return True
        if self._sender is None:
            self._sender = _connect(Path(f"{self._file}-sender"), timeout=0.0)
        try:
            self._sender.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        return True

    def release_sender(self) -> None:
        """Let another process send."""
        if self._sender is not None and self._sender.in_transaction:
            self._sender.execute("ROLLBACK")

    def close(self) -> None:
        """Close the store at the end. The next use opens a file again; what was in memory is gone."""
        if self._file is None:
            self._lost = self.count()
        self._close()

    def close_file(self) -> None:
        """Close the file before a fork, because a process must not use the connections of another."""
        if self._file is not None:
            self._close()

    def forget_memory(self) -> None:
        """Start empty in a forked process, whose parent sends the events in memory."""
        if self._file is None:
            self._close()

    def _close(self) -> None:
        for connection in (self._database, self._sender):
            if connection is not None:
                connection.close()
        self._database = self._sender = None

    def _open(self) -> sqlite3.Connection:
        end = time.monotonic() + BUSY_SECONDS
        while self._database is None:
            database = _connect(self._file or ":memory:", BUSY_SECONDS)
            try:
                database.executescript(_PREPARE)
            except sqlite3.Error as error:
                database.close()
                # SQLite does not wait for another process that switches the file to WAL.
                if "locked" not in str(error) or time.monotonic() > end:
                    raise BufferFileError(f"{self._file}: {error}") from error
                time.sleep(0.01)
            else:
                self._database = database
        return self._database


def _connect(file: Path | str, timeout: float) -> sqlite3.Connection:
    try:
        if isinstance(file, Path):  # events contain personal data
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        return sqlite3.connect(file, check_same_thread=False, isolation_level=None, timeout=timeout)
    except (sqlite3.Error, OSError) as error:
        raise BufferFileError(f"{file}: {error}") from error
