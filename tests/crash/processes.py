"""The processes of a running service, found by descent from the supervisor, so that a test can only reach its
own.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process. Its start time distinguishes it from a later one with the same pid."""

    pid: int
    started: str
    parent: int = field(compare=False)
    command: str = field(compare=False)
    """Its name and command line. A copied process changes only its name."""

    @property
    def is_alive(self) -> bool:
        return _read(self.pid) == self

    @property
    def program(self) -> str:
        return self.command.split(" ")[0]

    def send(self, number: signal.Signals) -> None:
        """Signal the process unless it has ended."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def descendants(pid: int) -> list[Process]:
    """Return every process below `pid`, parents before children."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _read_stat(int(entry.name))):
            children[int(stat[1])].append(int(entry.name))
    pids = [pid]
    for parent in pids:
        pids += children[parent]
    processes = map(_read, pids[1:])
    return [process for process in processes if process is not None]


def send_all(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        process.send(number)


def _read(pid: int) -> Process | None:
    """Return the process, or None when it has ended, even if it hasn't been reaped yet."""
    stat = _read_stat(pid)
    try:
        command = Path(f"/proc/{pid}/comm").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if stat is None or stat[0] in ("Z", "X"):
        return None
    words = command.replace(b"\n", b" ", 1).replace(b"\0", b" ").decode(errors="replace")
    return Process(pid, stat[19], int(stat[1]), words)


def _read_stat(pid: int) -> list[str] | None:
    """Return its state, parent and the following fields in proc(5), or None when it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
