"""The processes of a service, and the predecessors that they replace."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from headwater.base.log_lines import Log
from headwater.base.succession import RETIRE, InheritedProcess
from headwater.database.jobs.backoff import double_pause

FIRST_DELAY, LONGEST_DELAY = 0.1, 10.0
STEADY_SECONDS = 10.0
RETIREMENT_SECONDS = 75.0
"""The time limit for a process to finish: an API process gives its requests a minute."""


@dataclass
class SupervisedProcess:
    """A process to keep running. `due_at` is its start time on the monotonic clock."""

    name: str
    launch: Callable[[], None]
    died: Callable[[], bool]
    log: Log
    running: bool = False
    started_at: float = 0.0
    due_at: float = 0.0
    failures: int = 0

    def start(self, current_time: float) -> None:
        """Start it, or plan a retry after a failure."""
        self.started_at = current_time
        try:
            self.launch()
        except OSError as error:  # temporarily out of memory or processes
            self.record_end(current_time, reason=str(error))
        else:
            self.running = True

    def record_end(self, current_time: float, **reason: str) -> None:
        self.running = False
        self.failures = self.failures + 1 if current_time - self.started_at < STEADY_SECONDS else 1
        self.due_at = current_time + double_pause(FIRST_DELAY, LONGEST_DELAY, self.failures)
        values = {"process": self.name, "failures": self.failures, **reason}
        self.log.write("error", "process_ended", **values)


class Predecessor:
    """A process of the previous version, which runs until its successor is ready."""

    def __init__(self, name: str, pid: int, leash: int) -> None:
        self.name = name
        self._process = InheritedProcess(pid)
        self._leash = leash
        self._deadline: float | None = None
        os.set_inheritable(leash, False)

    def died(self) -> bool:
        if self._process.poll() is None:
            return False
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1
        return True

    def send_signal(self, number: signal.Signals) -> None:
        """Signal it unless it has ended."""
        self._process.send_signal(number)

    def retire(self) -> None:
        """Let it finish its current work; kill it if that takes too long."""
        current_time = time.monotonic()
        if self._deadline is None:
            self._deadline = current_time + RETIREMENT_SECONDS
            self.send_signal(RETIRE)
        elif current_time > self._deadline:
            with suppress(ProcessLookupError):
                self.send_signal(signal.SIGKILL)
