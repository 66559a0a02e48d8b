"""Finds servers that outlived their parent process, and lock files of dead servers.

PostgreSQL's lock files name a process id, which may now belong to another program or a dead process that was
never reaped; PostgreSQL then refuses to start. So a server also inherits a lock, held by the system while any
of its processes lives.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from headwater.base.files import try_lock
from headwater.database import sockets

CAN_SEE_PROCESSES = Path("/proc/self/cwd").exists()


class ServerLock(Struct, frozen=True):
    """The right to run a server on a cluster. `file` is next to the cluster, which may not exist yet."""

    cluster: Path
    sockets: Path
    file: Path

    @contextmanager
    def take(self) -> Generator[int]:
        """Take the lock, and yield the descriptor for the new server to inherit. Raises BlockingIOError while
        another server runs.
        """
        with self.file.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._remove_stale_files()
            yield file.fileno()

    def end_server(self, timeout: float) -> bool:
        """End a running server: cleanly, and by force after `timeout` seconds. Returns the success."""
        start = time.monotonic()
        sent_signals: set[tuple[int, signal.Signals]] = set()
        while self._is_alive():
            passed_seconds = time.monotonic() - start
            if passed_seconds > 2 * timeout:
                return False
            due_signals = self._signals(in_order=passed_seconds < timeout) - sent_signals
            for pid, number in due_signals:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            sent_signals |= due_signals
            time.sleep(0.02)
        return True

    def _signals(self, *, in_order: bool) -> set[tuple[int, signal.Signals]]:
        """Return the signals to send, by process. Only the postmaster gets the fast shutdown; SIGINT means
        something else to the other processes, which get SIGQUIT.
        """
        processes, postmaster = self._processes(), self._recorded_pid()
        if in_order and postmaster is not None and postmaster in processes:
            return {(postmaster, signal.SIGINT)}
        return {(pid, signal.SIGQUIT) for pid in processes}

    def _is_alive(self) -> bool:
        """Return whether a server of the cluster runs. A server that was started by hand has no lock."""
        with self.file.open("ab") as file:
            is_locked = not try_lock(file)
        return is_locked or bool(self._processes())

    def _processes(self) -> list[int]:
        """Return visible PostgreSQL processes in the cluster's directory."""
        if not CAN_SEE_PROCESSES:
            pid = self._recorded_pid()
            return [pid] if pid is not None and self._accepts_connections() else []
        cluster = self.cluster.resolve()
        pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in pids if _works_in(cluster, pid)]

    def _recorded_pid(self) -> int | None:
        """Read PostgreSQL's lock file, which may be empty after a power failure."""
        try:
            pid = int((self.cluster / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return None
        return pid if pid > 0 else None

    def _accepts_connections(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.sockets / sockets.NAME)) == 0

    def _remove_stale_files(self) -> None:
        """Remove lock files unless processes are invisible: then PostgreSQL must decide."""
        if not CAN_SEE_PROCESSES:
            return
        if self._processes():
            raise BlockingIOError(f"a PostgreSQL runs on {self.cluster}")
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)
        (self.sockets / f"{sockets.NAME}.lock").unlink(missing_ok=True)


def _works_in(cluster: Path, pid: int) -> bool:
    process = Path("/proc", str(pid))
    with suppress(OSError):
        is_postgres = (process / "comm").read_text().strip() == "postgres"
        return is_postgres and (process / "cwd").readlink() == cluster
    return False
