"""Run `headwater` as users run it, for tests that need real processes."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

import psutil

from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

ABSENT = ROOT / "tests" / "support" / "absent"
"""Packages that an installation doesn't have."""


def environment(**extra: str) -> dict[str, str]:
    """Return this environment without Headwater's settings and without packages that installations don't
    have, plus `extra`.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    places = [str(ABSENT), *filter(None, [variables.get("PYTHONPATH")])]
    return variables | {"PYTHONPATH": os.pathsep.join(places)} | extra


def run_at_terminal(*command: str, **variables: str) -> str:
    """Run a program at a terminal until it ends successfully, and return its output."""
    terminal, child_terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *command], stdout=child_terminal, stderr=child_terminal, env=environment(**variables)
    )
    os.close(child_terminal)
    output = b""
    try:
        while chunk := os.read(terminal, 65536):
            output += chunk
    except OSError:  # Linux reports a terminal without a writer this way
        os.close(terminal)
    assert process.wait() == 0, output
    return output.decode().replace("\r\n", "\n")


def start_module(
    command: Sequence[str], log: IO[bytes], variables: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Run a module with its arguments in a new process that logs errors to `log`."""
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE, stderr=log, text=True, env=variables, cwd=ROOT,
    )  # fmt: skip


class Serve:
    """A `headwater serve` (or `demo`) on a data directory, on a free port by default."""

    module = "headwater"
    """The module that Python runs."""
    start = staticmethod(start_module)

    def __init__(self, data_dir: Path, *options: str, command: str = "serve", **variables: str) -> None:
        self.log = data_dir.with_name(f"{data_dir.name}.log")
        words = (command, "--data-dir", str(data_dir), *(options or ("--port", "0")))
        with self.log.open("ab") as log:
            self.process = self.start((self.module, *words), log, environment(**variables))

    def line(self) -> str:
        """Return the next line of its output; empty when it has ended. A service without one is killed."""
        assert self.process.stdout is not None
        deadline = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        deadline.start()
        try:
            return self.process.stdout.readline()
        finally:
            deadline.cancel()

    def url(self) -> str:
        """Return the base URL, once the service is ready."""
        line = self.line()
        assert line.startswith("ready http://"), self.log.read_text()
        return line.removeprefix("ready ").strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()

    def children(self) -> list[psutil.Process]:
        """Return all descendant processes."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def find_children(self, text: str) -> list[psutil.Process]:
        """Return the running direct children whose name or command line contains `text`."""
        children = psutil.Process(self.process.pid).children()
        return [child for child in children if is_alive(child) and text in _command(child)]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def wait(self) -> int:
        """Wait for its end and return its exit code."""
        code = self.process.wait(PATIENCE_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs. In a container without a reaper, an ended orphan may stay a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(("", process.name(), *process.cmdline()))
    except psutil.Error:  # it has just ended
        return ""


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return answer.status == 200
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except OSError:
        return False


def headwater(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a `headwater` command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "headwater", *arguments],
        capture_output=True, text=True, check=False, env=environment(**variables),
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
