"""Replacing processes while the service runs: signals, the successor's start report, and adopting the
predecessor's children.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Protocol

RELOAD = signal.SIGUSR2
"""To the supervisor: switch to the version on disk. Not SIGHUP, which closing a terminal sends to its
programs.
"""
RETIRE = signal.SIGUSR1
"""To an API process or a worker: accept nothing new, finish current work, and end. Unlike SIGTERM it leaves
the time that the work needs, within bounds.
"""
_LOOK_SECONDS = 0.02


class Process(Protocol):
    """A child process, like `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def send_signal(self, number: int, /) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class InheritedProcess:
    """A child inherited from the program that this process ran before."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._exit_code: int | None = None

    @property
    def pid(self) -> int:
        return self._pid

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        if self._exit_code is None:
            try:
                ended_pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # it was not our child after all
                self._exit_code = -1
            else:
                self._exit_code = os.waitstatus_to_exitcode(status) if ended_pid else None
        return self._exit_code

    def send_signal(self, number: int, /) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code. Raise TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self._pid), timeout or 0.0)
            time.sleep(_LOOK_SECONDS)
        return code


def announce(descriptor: int | None) -> None:
    """Report to the parent process, through a pipe, that this one has started."""
    if descriptor is not None:
        with suppress(OSError):  # the parent is gone
            os.write(descriptor, b"+")
        os.close(descriptor)
