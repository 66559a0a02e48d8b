"""A separate Headwater to measure, started as a user would start it, in a temporary directory."""

from __future__ import annotations

import hashlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

from headwater.database.embedded import Embedded

SCOPES = [
    "events:read", "events:write", "contacts:read", "contacts:write", "contacts:delete",
    "companies:read", "exports:read", "exports:write", "reports:read",
]  # fmt: skip


class Stage:
    """A running service and its data directory."""

    def __init__(self, data_dir: Path, **variables: str) -> None:
        self.data_dir = data_dir
        self._variables = {**os.environ, **variables}
        self.process: subprocess.Popen[str] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return Embedded(self.data_dir).url

    def start(self, *options: str, **variables: str) -> float:
        """Start and return the seconds until `ready`."""
        start = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headwater", "serve", "--port", "0",
             "--data-dir", str(self.data_dir), *options],
            stdout=subprocess.PIPE, text=True,
            env={**self._variables, "HEADWATER_RATE_LIMIT_FACTOR": "100000",
                 "HEADWATER_LOG_LEVEL": "warning", **variables},
        )  # fmt: skip
        line = self.process.stdout.readline()
        self.port = int(line.rpartition(":")[2])
        return time.perf_counter() - start

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()

    @contextmanager
    def database(self) -> Iterator[str]:
        """Run only the database, while the service is stopped."""
        server = Embedded(self.data_dir)
        try:
            yield server.start()
        finally:
            server.stop()

    def spaces(self, count: int) -> list[tuple[int, str]]:
        """Create Spaces, and return their ids and keys."""
        with psycopg.connect(self.url) as connection:
            return [_with_key(connection, _new_space(connection, "bench")) for _ in range(count)]

    def space_named(self, name: str) -> tuple[int, str, bool]:
        """Return the Space with this name, a key to it, and whether it is new. In a kept data directory, an
        earlier run may have created it.
        """
        with psycopg.connect(self.url) as connection:
            row = connection.execute("SELECT id FROM spaces WHERE name = %s", (name,)).fetchone()
            space_id = row[0] if row else _new_space(connection, name)
            return *_with_key(connection, space_id), row is None

    def tree(self) -> list[tuple[psutil.Process, str]]:
        """Return every process of the service with its role."""
        top = psutil.Process(self.process.pid)
        processes = [(top, "supervisor")]
        for process in top.children(recursive=True):
            with suppress(psutil.Error):  # it has just ended
                processes.append((process, _role(process)))
        return processes

    def pause_worker(self) -> None:
        """Suspend workers and their child processes, so that they don't take CPU time from the
        measurement.
        """
        for process in self._workers():
            process.suspend()

    def resume_worker(self) -> None:
        for process in self._workers():
            process.resume()

    def _workers(self) -> list[psutil.Process]:
        other_roles = {"supervisor", "api", "postgresql"}
        return [process for process, role in self.tree() if role not in other_roles]

    def cpu_seconds(self) -> float:
        """Return the CPU time that the entire service has used so far."""
        return sum(self.cpu_by_role().values())

    def cpu_by_role(self) -> dict[str, float]:
        """Return the CPU time by role, including ended children."""
        sums: dict[str, float] = {}
        for process, role in self.tree():
            with suppress(psutil.Error):
                sums[role] = sums.get(role, 0.0) + sum(process.cpu_times()[:4])
        return sums

    def memory(self) -> dict[str, float]:
        """Return the proportional memory (PSS) in MB by role. Shared pages are counted once in total."""
        sums: dict[str, float] = {}
        for process, role in self.tree():
            with suppress(psutil.Error):
                sums[role] = sums.get(role, 0.0) + process.memory_full_info().pss / 2**20
        return sums

    def wait_until_drained(self, timeout: float) -> float:
        """Wait until everything accepted is processed, and return the seconds it took."""
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "headwater", "queue", "wait", "--timeout", str(timeout),
             "--data-dir", str(self.data_dir)], check=True, env=self._variables,
        )  # fmt: skip
        return time.perf_counter() - start


@contextmanager
def run_stage(data_dir: Path | None = None) -> Iterator[Stage]:
    """Run a service that is removed afterwards with its data, unless the data is kept."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as directory:
        stage = Stage(data_dir or Path(directory) / "data")
        stage.start()
        try:
            yield stage
        finally:
            stage.stop()


def _new_space(connection: psycopg.Connection, name: str) -> int:
    (space_id,) = connection.execute("INSERT INTO spaces (name) VALUES (%s) RETURNING id", (name,)).fetchone()
    connection.execute("INSERT INTO space_locks (space_id) VALUES (%s)", (space_id,))
    return space_id


def _with_key(connection: psycopg.Connection, space_id: int) -> tuple[int, str]:
    """Create a key to the Space and return both."""
    key = "trk_sk_" + secrets.token_urlsafe(32)
    connection.execute(
        "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes) VALUES (%s, 'bench', %s, %s, %s)",
        (space_id, hashlib.sha256(key.encode()).digest(), key[-4:], SCOPES),
    )
    return space_id, key


def _role(process: psutil.Process) -> str:
    if "postgres" in process.name():
        return "postgresql"
    return next((word for word in process.cmdline() if word in ("api", "worker", "exporter")), "other")
