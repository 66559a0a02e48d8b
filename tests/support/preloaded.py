"""Services as copies of a process that has already imported Headwater. Starting a new service takes two to
three seconds of CPU time, mostly for imports in the supervisor, the API and the worker. A copy takes half a
second. Copies are for tests of what a running service does, not of how it starts. They share no counters, and
a worker starts new processes rather than copies.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, NoReturn

from headwater import supervisor
from headwater.base import failpoints
from headwater.base.succession import InheritedProcess
from headwater.base.telemetry.counter_files import DIRECTORY
from headwater.cli import main as run_headwater
from headwater.cli.commands import build_parser
from headwater.database.jobs.child_process import ChildProcess
from headwater.operations.supervision.wakeups import REQUESTS
from tests.support.campaigns import IS_LONG
from tests.support.processes import Serve, environment, start_module
from tests.support.sizes import ROOT

CAN_COPY = hasattr(os, "pidfd_open") and not IS_LONG
"""Whether this process can wait for processes that are not its children. Long runs use new processes."""
IMPORTED = ("serve", "api", "worker")
"""The commands whose code the original imports."""
NAME = Path("/proc/self/comm")
"""The file with this process's name. A copy keeps the original's command line."""
MAX_REQUEST = 1 << 17
STREAMS = 3


class CopiedProcess:
    """A copy, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, original: Original, pid: int, stdout: int) -> None:
        self.pid = pid
        self.stdout = os.fdopen(stdout)
        self.returncode: int | None = None
        self._original = original
        self._descriptor = os.pidfd_open(pid)

    def poll(self) -> int | None:
        return self._end(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code. Raise TimeoutExpired."""
        code = self._end(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("headwater", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _end(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._descriptor], [], [], seconds)[0]:
            self.returncode = self._original.read_exit_code(self.pid)
            os.close(self._descriptor)
        return self.returncode


class Original:
    """A handle to the process that is copied."""

    def __init__(self) -> None:
        self._requests, child_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with child_socket:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(child_socket.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[child_socket.fileno()],
                cwd=ROOT, env=environment(OPENBLAS_NUM_THREADS="1"),
            )  # fmt: skip

    def copy(self, command: Sequence[str], log: IO[bytes], variables: Mapping[str, str]) -> CopiedProcess:
        """Run a module with its arguments in a copy that logs errors to `log`."""
        request = {"command": [*command], "variables": {**variables}}
        read_end, write_end = os.pipe()
        with Path(os.devnull).open("rb") as null_file:
            pid = self._ask(request, [null_file.fileno(), write_end, log.fileno()])
        os.close(write_end)
        return CopiedProcess(self, pid, read_end)

    def read_exit_code(self, pid: int) -> int:
        """Return the exit code of an ended copy in `subprocess`'s convention."""
        return self._ask({"ended": pid}, [])

    def end(self) -> None:
        self._requests.close()
        self._process.wait()

    def _ask(self, request: Mapping[str, object], descriptors: Iterable[int]) -> int:
        with self._lock:
            socket.send_fds(self._requests, [json.dumps(request).encode()], [*descriptors])
            return int(self._requests.recv(MAX_REQUEST))


@functools.cache
def find_original() -> Original:
    """Return this process's original, started at the first call."""
    original = Original()
    atexit.register(original.end)
    return original


def start_copy(
    command: Sequence[str], log: IO[bytes], variables: Mapping[str, str]
) -> CopiedProcess | subprocess.Popen[str]:
    """Run a module with its arguments in a copy, or in a new process where copies are impossible."""
    start = find_original().copy if CAN_COPY else start_module
    return start(command, log, variables)


class CopiedServe(Serve):
    """A `headwater serve` that runs as a copy."""

    start = staticmethod(start_copy)


class CopiedChild(ChildProcess):
    """A supervisor's child process that runs as a copy of the supervisor."""

    def _launch(self, command: list[str], pass_fds: tuple[int, ...]) -> None:
        read_end, write_end = os.pipe()
        words = command[command.index("headwater") + 1 :]
        name = NAME.read_text()
        NAME.write_text(words[0])  # so that the copy has the name from its first moment
        pid = os.fork()
        if not pid:
            os.dup2(read_end, 0)
            os.dup2(2, 1)
            _end_with(partial(self._work, words, pass_fds))
        NAME.write_text(name)
        os.close(read_end)
        self.process = LeashedProcess(pid, write_end)  # type: ignore[assignment] # the part that a supervisor uses

    def _work(self, arguments: Sequence[str], pass_fds: tuple[int, ...]) -> int:
        self._forget_supervisor(pass_fds)
        return run_headwater(arguments)

    def _forget_supervisor(self, pass_fds: tuple[int, ...]) -> None:
        """Drop the supervisor's session, signal handlers, open files and variables."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (*REQUESTS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _close_all_except({0, 1, 2, *pass_fds})
        _set_variables({name: text for name, text in self._environment.items() if name != DIRECTORY})


class LeashedProcess(InheritedProcess):
    """A copy that ends when its leash is closed."""

    def __init__(self, pid: int, leash: int) -> None:
        super().__init__(pid)
        self.stdin = os.fdopen(leash, "wb")


def serve_requests(requests: socket.socket) -> None:
    """Make copies until the requesting end is closed."""
    for command in IMPORTED:
        build_parser(command)
    gc.freeze()  # otherwise garbage collection would copy all pages into each copy
    supervisor.ChildProcess = CopiedChild
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, STREAMS)
        if not message:
            return
        request = json.loads(message)
        if "ended" in request:
            code = os.waitstatus_to_exitcode(os.waitpid(request["ended"], 0)[1])
            requests.send(str(code).encode())
        elif pid := os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            requests.send(str(pid).encode())
        else:
            for stream, descriptor in enumerate(descriptors):
                os.dup2(descriptor, stream)
            requests.detach()
            _close_all_except({0, 1, 2})
            _end_with(partial(run, **request))


def run(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a module with its arguments as `python -m` does, and return its exit code."""
    _set_variables(variables)
    sys.argv[1:] = command[1:]
    try:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _end_with(work: Callable[[], int]) -> NoReturn:
    """Run `work` and exit, without returning into the original's code or tearing the interpreter down."""
    code = 1
    try:
        code = work()
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue] # an interpreter ends with it
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 # as an interpreter does
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _set_variables(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)
    failpoints._ARMED = os.environ.get("HEADWATER_FAILPOINT", "")
    failpoints._FILE = os.environ.get("HEADWATER_FAILPOINT_FILE", "")


def _close_all_except(kept_numbers: set[int]) -> None:
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) not in kept_numbers:
            with suppress(OSError):  # the descriptor of the listing
                os.close(int(entry.name))


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        serve_requests(asked)
