"""The processes of a service: those that have to run, and those that their successors replace."""

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
"""The longest that a process may take to finish what is under way: an API process gives its
requests a minute.
"""


@dataclass
class SupervisedProcess:
    """A process that has to run. `due` is when to start it, on the monotonic clock."""

    name: str
    launch: Callable[[], None]
    died: Callable[[], bool]
    log: Log
    running: bool = False
    started: float = 0.0
    due: float = 0.0
    failures: int = 0
    """The number of times in a row that it ended soon after its start."""

    def start(self, now: float) -> None:
        """Launch it, or plan to when that fails."""
        self.started = now
        try:
            self.launch()
        except OSError as error:  # no memory or no process to be had just now
            self.ended(now, reason=str(error))
        else:
            self.running = True

    def ended(self, now: float, **reason: str) -> None:
        """Note its end, and when to start it again."""
        self.running = False
        self.failures = self.failures + 1 if now - self.started < STEADY_SECONDS else 1
        self.due = now + double_pause(FIRST_DELAY, LONGEST_DELAY, self.failures)
        values = {"process": self.name, "failures": self.failures, **reason}
        self.log.write("error", "process_ended", **values)


class Predecessor:
    """A process of the version before, which runs until its successor does."""

    def __init__(self, name: str, pid: int, leash: int) -> None:
        self.name = name
        self._process = InheritedProcess(pid)
        self._leash = leash
        self._deadline: float | None = None
        os.set_inheritable(leash, False)

    def died(self) -> bool:
        """Return whether it has ended."""
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
        """Let it finish what is under way and end; kill it when that takes too long."""
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + RETIREMENT_SECONDS
            self.send_signal(RETIRE)
        elif now > self._deadline:
            with suppress(ProcessLookupError):
                self.send_signal(signal.SIGKILL)
