"""`headwater serve`: starts PostgreSQL, the API and the workers, and keeps them running.

It imports little, as it stays in memory as long as the service. A process that dies is started
again, at once the first time and ever more slowly after that. Each child holds one end of a pipe
as standard input, its leash: if the supervisor is killed, the leash ends and so do they.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from headwater import listening_socket
from headwater.accounts.links import make_set_up_link
from headwater.database.data_directory import DirectoryInUseError, lock_directory
from headwater.database.embedded import Embedded, EmbeddedError
from headwater.database.installation import (
    UnfinishedRestoreError,
    require_finished,
    write_addresses,
)
from headwater.database.migrator import MigrationError, migrate
from headwater.files import make_private
from headwater.jobs.backoff import double_pause
from headwater.jobs.child_process import ChildProcess
from headwater.log_lines import Log
from headwater.settings import Settings
from headwater.spaces.secret_key import SecretKeyError, find_secret_key, move_to_file

GRACE_SECONDS = 10.0
FIRST_DELAY, LONGEST_DELAY = 0.1, 10.0
STEADY_SECONDS = 10.0
HOPELESS = 5
INVITATION = "Open this link to create the first account. It works once, within a day."
_ADDRESSES = """\
  Console        {0}/console
  API reference  {0}/docs

  Ctrl-C stops the service.

"""
LOOK_SECONDS = 60.0
"""Between two checks of the size of PostgreSQL's log."""
KEPT_FREE_BYTES = 32 * 1024 * 1024
"""The freed memory that each thread of an API process keeps for its next arrays. Without it, glibc
gives every large one back, and up to a fifth of a report's time goes into making them anew.
"""


class ServeError(Exception):
    """The service cannot be started; the text says why."""


@dataclass(frozen=True)
class ServePlan:
    """The settings, address and processes of one `headwater serve`."""

    settings: Settings
    host: str
    port: int
    api_processes: int = 1
    pipelines: int = 1
    """Workers, which share the Spaces."""
    welcome: bool = True
    """True to say what to open: the link for the first account while there is none, and where
    people go.
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
        self.started = now
        try:
            self.launch()
        except OSError as error:  # no memory or no process to be had just now
            self.ended(now, reason=str(error))
        else:
            self.running = True

    def ended(self, now: float, **reason: str) -> None:
        self.running = False
        self.failures = self.failures + 1 if now - self.started < STEADY_SECONDS else 1
        self.due = now + double_pause(FIRST_DELAY, LONGEST_DELAY, self.failures)
        values = {"process": self.name, "failures": self.failures, **reason}
        self.log.write("error", "process_ended", **values)


class Wakeups:
    """Ends a wait when a child ends or the supervisor is told to stop, without a gap in which a
    signal could be missed: the interpreter writes every signal into a pipe.
    """

    def __init__(self) -> None:
        self.stopping = False
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, self._note)

    def _note(self, number: int, _: Any) -> None:
        self.stopping = self.stopping or number != signal.SIGCHLD

    def wait(self, seconds: float | None) -> None:
        select.select([self._read], [], [], seconds)
        with suppress(BlockingIOError):
            os.read(self._read, 4096)


@dataclass
class Supervisor:
    """The processes of one `headwater serve`."""

    plan: ServePlan
    bound: socket.socket
    wakeups: Wakeups = field(default_factory=Wakeups)
    embedded: Embedded | None = None
    children: list[ChildProcess] = field(default_factory=list[ChildProcess])
    watched: list[SupervisedProcess] = field(default_factory=list[SupervisedProcess])
    set_up_link: str | None = None
    """The link that makes the first account, if this start made one."""

    def __post_init__(self) -> None:
        self.log = Log(self.plan.settings.log_format)

    def run(self) -> None:
        """Serve until told to stop. Raises ServeError when that cannot even begin."""
        try:
            self._prepare_database()
            self._plan_children()
            self._wait_until_ready()
            while not self.wakeups.stopping:
                delay = self._revive()
                self.wakeups.wait(LOOK_SECONDS if delay is None else min(delay, LOOK_SECONDS))
                if self.embedded is not None:
                    self.embedded.bound_log()
        finally:
            self._stop()

    def _prepare_database(self) -> None:
        settings = self.plan.settings
        url = settings.database_url
        if url is None:
            embedded = self.embedded = Embedded(settings.data_dir)
            self._note("starting", data=str(settings.data_dir))
            url = embedded.start(tied=True)
            self.watched.append(
                SupervisedProcess("postgresql", lambda: embedded.launch(tied=True), embedded.died,
                        self.log, running=True, started=time.monotonic())
            )  # fmt: skip
        self._log_migrations(migrate(url))
        with psycopg.connect(url) as connection:
            require_finished(connection)
        self._settle_secret_key(url)
        with psycopg.connect(url) as connection:
            write_addresses(connection, settings, self._origin())
            link = make_set_up_link(connection) if self.plan.welcome else None
        self.set_up_link = None if link is None else self._origin() + link

    def _log_migrations(self, names: list[str]) -> None:
        if self.log.is_text and len(names) > 1:
            self._note("migrated", migrations=len(names), latest=names[-1])
            return
        for name in names:
            self.log.write("info", "migrated", migration=name)

    def _note(self, event: str, **values: Any) -> None:
        """Write a line that only somebody who watches the start needs."""
        if self.log.is_text:
            self.log.write("info", event, **values)

    def _settle_secret_key(self, url: str) -> None:
        """Keep the key outside a database that is ours alone, and have it before anything needs
        it. Other machines may look for it in an external one.
        """
        settings = self.plan.settings
        if settings.secret_key is None and self.embedded is not None:
            with psycopg.connect(url, autocommit=True) as connection:
                move_to_file(connection, settings.data_dir)
        find_secret_key(settings, url)

    def _origin(self) -> str:
        """The origin under which people reach the service."""
        return self.plan.settings.base_url or listening_socket.base_url(self.bound)

    def _welcome(self) -> None:
        """Say what to open: programs read of the link for the first account alone."""
        link = self.set_up_link
        if self.log.is_text and self.plan.welcome:
            box = "\n" if link is None else _boxed(INVITATION, "", link)
            sys.stderr.write(box + _ADDRESSES.format(self._origin()))
            sys.stderr.flush()
        elif link is not None:
            self.log.write("info", "set_up", open_once=link)

    def _share_metrics(self) -> dict[str, str]:
        """The variables that let any of several API processes tell the counters of all."""
        if self.plan.api_processes == 1:
            return {}
        folder = self.plan.settings.data_dir.absolute() / "metrics"
        shutil.rmtree(folder, ignore_errors=True)  # the counters of an earlier start
        make_private(folder)
        return {"PROMETHEUS_MULTIPROC_DIR": str(folder)}

    def _plan_children(self) -> None:
        where = ("--data-dir", str(self.plan.settings.data_dir.absolute()))
        descriptor = self.bound.fileno()
        api = ("api", "--fd", str(descriptor), *where)
        variables = {"MALLOC_TOP_PAD_": str(KEPT_FREE_BYTES), **self._share_metrics()}
        for number in range(1, self.plan.api_processes + 1):
            numbered = (*api, "--number", str(number))
            child = ChildProcess(*numbered, pass_fds=(descriptor,), variables=variables)
            self._watch(f"api {number}", child)
        for number in range(1, self.plan.pipelines + 1):
            self._watch(f"worker {number}", ChildProcess("worker", *where))

    def _watch(self, name: str, child: ChildProcess) -> None:
        self.children.append(child)
        self.watched.append(SupervisedProcess(name, child.launch, child.died, self.log))

    def _wait_until_ready(self) -> None:
        while not self.wakeups.stopping:
            delay = self._revive()
            if listening_socket.answers(self.bound, "/readyz"):
                sys.stdout.write(f"ready {self._origin()}\n")
                sys.stdout.flush()
                self._welcome()
                return
            hopeless = [process.name for process in self.watched if process.failures >= HOPELESS]
            if hopeless:
                raise ServeError(f"{hopeless[0]} does not start; see the lines above")
            self.wakeups.wait(0.02 if delay is None else min(delay, 0.02))

    def _revive(self) -> float | None:
        """Start the processes that are due. Returns the seconds until another is, or None."""
        now = time.monotonic()
        for process in self.watched:
            if process.running and process.died():
                process.ended(now)
            if not process.running and process.due <= now:
                process.start(now)
        waiting = [process.due - now for process in self.watched if not process.running]
        return max(0.0, min(waiting)) if waiting else None

    def _stop(self) -> None:
        """End the API and the workers, then, with nobody left to write, PostgreSQL."""
        self.bound.close()  # or new connections would wait, unanswered, as long as it is open
        for child in self.children:
            child.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while not all(child.died() for child in self.children):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self.wakeups.wait(left)
        for child in self.children:
            child.send_signal(signal.SIGKILL)
        if self.embedded is not None:
            self.embedded.stop()


def _boxed(*lines: str) -> str:
    """Lines that stand out from the log. Nothing stands beside them, so that an address can be
    copied whole, and all is ASCII, as a terminal's encoding may be any.
    """
    rule = "-" * (max(map(len, lines)) + 4)
    return "\n".join(["", rule, "", *(f"  {line}" for line in lines), "", rule, "", ""])


def supervise(plan: ServePlan) -> None:
    """Serve `plan` until SIGTERM or SIGINT, then stop everything in order. Raises ServeError."""
    try:
        with _alone(plan.settings), _bind(plan) as bound:
            Supervisor(plan, bound).run()
    except (EmbeddedError, MigrationError, SecretKeyError, UnfinishedRestoreError) as error:
        raise ServeError(str(error)) from None
    except psycopg.OperationalError as error:
        raise ServeError(f"cannot reach the database: {error}") from None


def _bind(plan: ServePlan) -> socket.socket:
    try:
        return listening_socket.bind(plan.host, plan.port)
    except OSError as error:
        where = f"{plan.host}:{plan.port}"
        raise ServeError(f"cannot listen on {where}: {error.strerror or error}") from None


@contextmanager
def _alone(settings: Settings) -> Generator[None]:
    """Hold the data directory's lock, which the system releases however the process ends."""
    if settings.database_url is not None:
        yield
        return
    try:
        Embedded(settings.data_dir).make_root()
        lock = lock_directory(settings.data_dir)
    except DirectoryInUseError:
        raise ServeError(f"another `headwater serve` runs on {settings.data_dir}") from None
    except OSError as error:
        raise ServeError(f"cannot use {settings.data_dir}: {error.strerror}") from None
    with lock:
        yield
