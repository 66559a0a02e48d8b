"""`headwater serve`: start PostgreSQL, the API and the workers, and keep them running.

It imports little because it stays in memory as long as the service. It restarts a process that dies,
immediately the first time and more slowly after that. Each child holds one end of a pipe as standard input:
if the supervisor is killed, the pipe closes and the children exit. On a reload it becomes the version on
disk, and replaces its processes one after the other.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO

import psycopg
from msgspec import Struct

from headwater import __version__
from headwater.base import listening_socket
from headwater.base.failure import Failure
from headwater.base.log_lines import Log
from headwater.base.settings import Settings
from headwater.base.telemetry.counter_files import child_variables, keep_directory, make_directory
from headwater.database.data_directory import DirectoryInUseError, lock_directory
from headwater.database.embedded import Embedded
from headwater.database.installation import write_addresses
from headwater.database.jobs.child_process import ChildProcess
from headwater.operations.supervision.announcement import greet, log_migrations, note
from headwater.operations.supervision.handover import HandedProcess, Handover, become_next, own_command
from headwater.operations.supervision.preparation import PREPARE, explained, prepare
from headwater.operations.supervision.processes import Predecessor, SupervisedProcess
from headwater.operations.supervision.record import ServiceRecord, erase_record, was_killed, write_record
from headwater.operations.supervision.wakeups import Wakeups
from headwater.spaces.accounts.links import make_set_up_link

GRACE_SECONDS = 10.0
HOPELESS = 5
LOOK_SECONDS = 60.0
"""Seconds between checks of the size of PostgreSQL's log."""
ORPHAN_SECONDS = 15.0
"""Seconds to wait for the address of a killed supervisor. A process that it was just starting holds the
socket, and learns that it is an orphan after its start.
"""
SUCCESSION_SECONDS = 0.02
"""Seconds between checks whether a process has started."""


class ServePlan(Struct, frozen=True):
    """Settings, address and processes of one `headwater serve`."""

    settings: Settings
    host: str
    port: int
    api_processes: int = 1
    pipelines: int = 1
    """Workers, which share the Spaces."""
    welcome: bool = True
    """Whether to print the console's address, and the first account's link while it doesn't exist."""


@dataclass
class Supervisor:
    """The processes of one `headwater serve`."""

    plan: ServePlan
    bound: socket.socket
    lock: IO[bytes]
    """Lock of the data directory."""
    handover: Handover | None = None
    """State inherited from the previous version."""
    wakeups: Wakeups = field(default_factory=Wakeups)
    embedded: Embedded | None = None
    children: dict[str, ChildProcess] = field(default_factory=dict[str, ChildProcess])
    predecessors: list[Predecessor] = field(default_factory=list[Predecessor])
    watched: list[SupervisedProcess] = field(default_factory=list[SupervisedProcess])
    database_url: str | None = None
    """Address of the prepared database, not needed after a handover."""

    def __post_init__(self) -> None:
        self.log = Log(self.plan.settings.log_format)
        self.record = ServiceRecord(os.getpid(), __version__)

    def run(self) -> None:
        """Serve until stopped. Raise Failure if the start fails."""
        try:
            if self.handover is None:
                self._begin()
            else:
                self._follow(self.handover)
            while not self.wakeups.stopping:
                self._turn(LOOK_SECONDS)
                if self.embedded is not None:
                    self.embedded.bound_log()
                if self.wakeups.reloading:
                    self._reload()
        finally:
            self._stop()

    def _begin(self) -> None:
        with self.wakeups.interruptible():
            self._prepare_database()
        if self.wakeups.stopping:
            return
        for name, child in self._make_children().items():
            self._watch(name, child)
        if self._wait_until_ready():
            write_record(self.lock, self.record)  # first: who reads "ready" may reload or kill at once
            self._announce()

    def _turn(self, longest: float) -> None:
        """Start due processes, and wait for the next event."""
        delay = self._revive()
        self.wakeups.wait(longest if delay is None else min(delay, longest))

    def _prepare_database(self) -> None:
        settings = self.plan.settings
        url = settings.database_url
        if url is None:
            embedded = self.embedded = Embedded(settings.data_dir)
            note(self.log, "starting", data=str(settings.data_dir))
            url = embedded.start(tied=True)
            self._watch_postgresql(embedded)
        log_migrations(self.log, prepare(settings, url))
        self.database_url = url

    def _watch_postgresql(self, embedded: Embedded) -> None:
        self.embedded = embedded
        self.watched.append(
            SupervisedProcess(
                "postgresql",
                lambda: embedded.launch(tied=True),
                embedded.died,
                self.log,
                running=True,
                started_at=time.monotonic(),
            )
        )

    def _origin(self) -> str:
        return self.plan.settings.base_url or listening_socket.base_url(self.bound)

    def _share_counters(self) -> dict[str, str]:
        """Return the variable that lets any API process report the counters of all processes."""
        folder = self.plan.settings.data_dir.absolute() / "metrics"
        return make_directory(folder) if self.handover is None else keep_directory(folder)

    def _make_children(self) -> dict[str, ChildProcess]:
        data_options = ("--data-dir", str(self.plan.settings.data_dir.absolute()))
        descriptor = self.bound.fileno()
        counting = self._share_counters()
        children: dict[str, ChildProcess] = {}
        for number in range(1, self.plan.api_processes + 1):
            variables = counting | child_variables(f"api-{number}")
            children[f"api {number}"] = ChildProcess(
                "api",
                "--fd",
                str(descriptor),
                *data_options,
                pass_fds=(descriptor,),
                variables=variables,
                announces=True,
            )
        for number in range(1, self.plan.pipelines + 1):
            variables = counting | child_variables(f"worker-{number}")
            children[f"worker {number}"] = ChildProcess(
                "worker", *data_options, variables=variables, announces=True
            )
        return children

    def _watch(self, name: str, child: ChildProcess) -> None:
        self.children[name] = child
        self.watched.append(SupervisedProcess(name, child.launch, child.died, self.log))

    def _wait_until_ready(self) -> bool:
        """Return False if the service has to stop before."""
        while not self.wakeups.stopping:
            delay = self._revive()
            if listening_socket.answers(self.bound, "/readyz"):
                return True
            hopeless = [process.name for process in self.watched if process.failures >= HOPELESS]
            if hopeless:
                raise Failure(f"{hopeless[0]} does not start; see the lines above")
            self.wakeups.wait(0.02 if delay is None else min(delay, 0.02))
        return False

    def _announce(self) -> None:
        """Store the address and print it. A start that fails earlier leaves the stored one."""
        assert self.database_url is not None
        with psycopg.connect(self.database_url) as connection:
            write_addresses(connection, self.plan.settings, self._origin())
            link = make_set_up_link(connection) if self.plan.welcome else None
        sys.stdout.write(f"ready {self._origin()}\n")
        sys.stdout.flush()
        if self.plan.welcome:
            greet(self.log, self._origin(), None if link is None else self._origin() + link)

    def _revive(self) -> float | None:
        """Start due processes. Return the seconds until the next one, or None."""
        current_time = time.monotonic()
        for process in self.watched:
            if process.running and process.died():
                process.record_end(current_time)
            if not process.running and process.due_at <= current_time:
                process.start(current_time)
        start_delays = [process.due_at - current_time for process in self.watched if not process.running]
        return max(0.0, min(start_delays)) if start_delays else None

    def _reload(self) -> None:
        """Let the version on disk prepare the database, then become that version. If it fails, everything
        stays unchanged.
        """
        self.wakeups.reloading = False
        note(self.log, "reloading")
        trial = subprocess.Popen(
            [*own_command(), PREPARE], stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()
        )
        while trial.poll() is None:
            if self.wakeups.stopping:
                trial.terminate()
            self._turn(LOOK_SECONDS)
        if self.wakeups.stopping:
            return
        if trial.returncode:
            self._fail_to_reload("the version on disk cannot serve here; see the log")
            return
        try:
            become_next(self._hand_over())
        except OSError as error:
            self._fail_to_reload(str(error))

    def _fail_to_reload(self, problem: str) -> None:
        self.log.write("error", "not_reloaded", problem=problem)
        self.record = replace(self.record, failures=self.record.failures + 1, problem=problem)
        write_record(self.lock, self.record)

    def _hand_over(self) -> Handover:
        processes = [
            HandedProcess(name, child.process.pid, child.process.stdin.fileno())
            for name, child in self.children.items()
            if child.process is not None and child.process.stdin is not None
        ]
        return Handover(
            socket=self.bound.fileno(),
            lock=self.lock.fileno(),
            postgresql=None if self.embedded is None else self.embedded.pid,
            reloads=self.record.reloads,
            failures=self.record.failures,
            processes=tuple(processes),
        )

    def _follow(self, handover: Handover) -> None:
        """Replace the previous version's processes one by one; each runs until its successor has started."""
        self.record = replace(self.record, reloads=handover.reloads, failures=handover.failures)
        if self.plan.settings.database_url is None:
            embedded = Embedded(self.plan.settings.data_dir)
            if handover.postgresql is not None:
                embedded.adopt(handover.postgresql)
            self._watch_postgresql(embedded)
        self.predecessors = [
            Predecessor(process.name, process.pid, process.leash) for process in handover.processes
        ]
        children = self._make_children()
        for name, child in children.items():
            self._watch(name, child)
            self._await_begin(name, child)
            self._retire([predecessor for predecessor in self.predecessors if predecessor.name == name])
        self._retire(self.predecessors)
        if not self.wakeups.stopping:
            self.log.write("info", "reloaded", version=__version__)
            self.record = replace(self.record, reloads=handover.reloads + 1, problem=None)
            write_record(self.lock, self.record)

    def _await_begin(self, name: str, child: ChildProcess) -> None:
        (process,) = (candidate for candidate in self.watched if candidate.name == name)
        while not self.wakeups.stopping and not child.has_begun():
            self._turn(SUCCESSION_SECONDS)
            if process.failures == HOPELESS and self.record.problem is None:
                self._fail_to_reload(f"{name} of the version on disk does not start; see the log")

    def _retire(self, predecessors: list[Predecessor]) -> None:
        """Let the previous version's processes finish, and wait for their end."""
        while not self.wakeups.stopping and not all(predecessor.died() for predecessor in predecessors):
            for predecessor in predecessors:
                predecessor.retire()
            self._turn(1.0)

    def _stop(self) -> None:
        """Stop the API and workers, then PostgreSQL."""
        self.bound.close()  # or new connections would wait, unanswered, as long as it is open
        children = [*self.children.values(), *self.predecessors]
        for child in children:
            child.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while not all(child.died() for child in children):
            remaining_seconds = deadline - time.monotonic()
            if remaining_seconds <= 0:
                break
            self.wakeups.wait(remaining_seconds)
        for child in children:
            child.send_signal(signal.SIGKILL)
        if self.embedded is not None:
            self.embedded.stop()
        erase_record(self.lock)


def supervise(plan: ServePlan, handover: Handover | None = None) -> None:
    """Serve `plan` until SIGTERM or SIGINT, then stop everything in order; with `handover` continue from the
    previous version's state. Raise Failure.
    """
    patience = listening_socket.BIND_SECONDS
    if was_killed(plan.settings.data_dir):
        patience = ORPHAN_SECONDS
    with explained(), _alone(plan.settings, handover) as lock, _bind(plan, handover, patience) as bound:
        Supervisor(plan, bound, lock, handover).run()


def _bind(plan: ServePlan, handover: Handover | None, patience: float) -> socket.socket:
    if handover is not None:
        return socket.socket(fileno=handover.socket)
    try:
        return listening_socket.bind(plan.host, plan.port, patience)
    except OSError as error:
        raise Failure(listening_socket.explain(plan.host, plan.port, error)) from None


@contextmanager
def _alone(settings: Settings, handover: Handover | None) -> Generator[IO[bytes]]:
    """Hold the data directory's lock, which the system releases however the process ends."""
    try:
        if handover is not None:
            lock = os.fdopen(handover.lock, "ab")
        else:
            Embedded(settings.data_dir).make_root()
            lock = lock_directory(settings.data_dir)
    except DirectoryInUseError:
        raise Failure(f"another `headwater serve` runs on {settings.data_dir}") from None
    except OSError as error:
        raise Failure(f"cannot use {settings.data_dir}: {error.strerror}") from None
    with lock:
        yield lock
