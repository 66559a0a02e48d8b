"""Replacing processes while the service runs: the signals involved, how a successor reports that it has
started, and how a new program adopts the children of its predecessor.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Protocol

RELOAD = signal.SIGUSR2
"""To the supervisor: go on with the version that is on disk. No SIGHUP, which a terminal that is
closed sends to what runs in it.
"""
RETIRE = signal.SIGUSR1
"""To an API process or a worker: take nothing new, finish what is under way, and end. Unlike
SIGTERM it leaves as long as the work needs, within bounds.
"""
_LOOK_SECONDS = 0.02


class Process(Protocol):
    """A child process, as `subprocess.Popen` is one."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def send_signal(self, number: int, /) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class InheritedProcess:
    """A child that this process has from the program that it was before."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._exit_code: int | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._pid

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        if self._exit_code is None:
            try:
                ended, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # it was no child of ours after all
                self._exit_code = -1
            else:
                self._exit_code = os.waitstatus_to_exitcode(status) if ended else None
        return self._exit_code

    def send_signal(self, number: int, /) -> None:
        """Signal it unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code. Raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self._pid), timeout or 0.0)
            time.sleep(_LOOK_SECONDS)
        return code


def announce(descriptor: int | None) -> None:
    """Report to the parent process, through a pipe, that this one has started its work."""
    if descriptor is not None:
        with suppress(OSError):  # the parent is gone
            os.write(descriptor, b"+")
        os.close(descriptor)
