"""A Headwater of its own to measure: started as a person would, on a directory thrown away."""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from headwater.database.embedded import Embedded

SCOPES = ["events:read", "events:write"]


class Stage:
    """A running service and its data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.process: subprocess.Popen[str] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return Embedded(self.data_dir).url

    def start(self) -> float:
        """Start and return the seconds until `ready`."""
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headwater", "serve", "--port", "0",
             "--data-dir", str(self.data_dir)],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "HEADWATER_RATE_LIMIT_FACTOR": "100000",
                 "HEADWATER_LOG_LEVEL": "warning"},
        )  # fmt: skip
        line = self.process.stdout.readline()
        self.port = int(line.rpartition(":")[2])
        return time.perf_counter() - started

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()

    @contextmanager
    def database(self) -> Iterator[str]:
        """The database alone, while the service is stopped."""
        server = Embedded(self.data_dir)
        try:
            yield server.start()
        finally:
            server.stop()

    def spaces(self, count: int) -> list[tuple[int, str]]:
        """New Spaces, each with its id and a key."""
        made = []
        with psycopg.connect(self.url) as connection:
            for _ in range(count):
                key = "trk_sk_" + secrets.token_urlsafe(32)
                (space_id,) = connection.execute(
                    "INSERT INTO spaces (name) VALUES ('bench') RETURNING id"
                ).fetchone()
                connection.execute(
                    "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes)"
                    " VALUES (%s, 'bench', %s, %s, %s)",
                    (space_id, hashlib.sha256(key.encode()).digest(), key[-4:], SCOPES),
                )
                made.append((space_id, key))
        return made

    def tree(self) -> dict[int, str]:
        """Every process of the service: pid to what it is."""
        return dict(_descendants(self.process.pid, "supervisor"))

    def pause_worker(self) -> None:
        """Keep the pipeline from taking the cores from what is being measured."""
        self._signal_worker(signal.SIGSTOP)

    def resume_worker(self) -> None:
        self._signal_worker(signal.SIGCONT)

    def _signal_worker(self, number: signal.Signals) -> None:
        for pid, role in self.tree().items():
            if role == "worker":
                os.kill(pid, number)

    def cpu_seconds(self) -> float:
        """CPU time the whole service has used so far."""
        return sum(_cpu(pid) for pid in self.tree())

    def memory(self) -> dict[str, float]:
        """Proportional memory (PSS) in MB by role: shared pages are counted once in all."""
        sums: dict[str, float] = {}
        for pid, role in self.tree().items():
            sums[role] = sums.get(role, 0.0) + _pss(pid)
        return sums

    def drained(self, timeout: float) -> float:
        """Wait until everything accepted is processed; the seconds it took."""
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "headwater", "queue", "wait", "--timeout", str(timeout),
             "--data-dir", str(self.data_dir)], check=True,
        )  # fmt: skip
        return time.perf_counter() - started


@contextmanager
def staged() -> Iterator[Stage]:
    """A service that is gone afterwards with all its data."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as directory:
        stage = Stage(Path(directory) / "data")
        stage.start()
        try:
            yield stage
        finally:
            stage.stop()


def _descendants(pid: int, role: str) -> Iterator[tuple[int, str]]:
    yield pid, role
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
                yield from _descendants(int(child), _role(int(child)))


def _role(pid: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    if b"postgres" in command[0]:
        return "postgresql"
    return next((part.decode() for part in command if part in (b"api", b"worker")), "other")


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pss(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0
