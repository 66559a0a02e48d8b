"""Child processes that end with their parent. They take no time from the pipeline, and no idle memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from psycopg import Connection

from headwater.base.settings import Settings
from headwater.base.telemetry.counter_files import child_variables
from headwater.database.jobs.duties import Duty, Waiting

PAUSE_SECONDS = 0.5
"""Between two starts, to avoid a tight loop of failing starts."""


class ChildProcess:
    """A child process running Headwater, on a leash."""

    def __init__(
        self,
        *arguments: str,
        pass_fds: tuple[int, ...] = (),
        variables: Mapping[str, str] | None = None,
        announces: bool = False,
    ) -> None:
        """Set `announces` for a process that reports its start."""
        self._command = [sys.executable, "-P", "-m", "headwater", *arguments, "--leash"]
        self._pass_fds = pass_fds
        self._environment = {**os.environ, **(variables or {})}
        self._announces = announces
        self._announcement: int | None = None
        self._has_begun = False
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        self._forget()
        if not self._announces:
            self._launch(self._command, self._pass_fds)
            return
        self._announcement, child_end = os.pipe()
        os.set_blocking(self._announcement, False)
        try:
            self._launch([*self._command, "--announce", str(child_end)], (*self._pass_fds, child_end))
        finally:
            os.close(child_end)

    def has_begun(self) -> bool:
        if self._announcement is not None and not self._has_begun:
            with suppress(BlockingIOError):
                self._has_begun = os.read(self._announcement, 1) != b""
        return self._has_begun

    def _launch(self, command: list[str], pass_fds: tuple[int, ...]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=sys.stderr.fileno(),  # standard output carries only the `ready` line
            pass_fds=pass_fds,
            env=self._environment,
            start_new_session=True,  # the supervisor handles a Ctrl-C in the terminal
        )

    def died(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def send_signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def _forget(self) -> None:
        self._has_begun = False
        if self._announcement is not None:
            os.close(self._announcement)
            self._announcement = None
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()


def make_process_duty(command: str, settings: Settings, waiting: Waiting, look_seconds: float) -> Duty:
    """Return the job that runs `headwater <command>` (one or more words) while `waiting`, called at this
    interval, returns Spaces.
    """
    words, data_options = command.split(), ("--data-dir", str(settings.data_dir.absolute()))
    child = ChildProcess(*words, *data_options, variables=child_variables("-".join(words)))
    launched_at = -PAUSE_SECONDS

    def look(connection: Connection[Any]) -> list[int]:
        # `died` also reaps a dead child.
        return waiting(connection) if child.died() else []

    def attend(_: Connection[Any], __: int) -> bool:
        nonlocal launched_at
        current_time = time.monotonic()
        if child.died() and current_time - launched_at >= PAUSE_SECONDS:
            launched_at = current_time
            child.launch()
        return False

    return Duty(look, attend, pause_seconds=look_seconds)
