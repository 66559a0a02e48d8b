"""The embedded PostgreSQL: a cluster in the data directory, run as a child process.

It is reached only through a socket in a private directory, with a password. The binaries come from a wheel;
any PostgreSQL tool of the same major version can open the cluster.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

import psycopg
from psycopg.pq import PGconn, Ping

from headwater.base.failure import Failure
from headwater.base.files import OURS_ALONE, close_to_others, make_private, sync_directory, write_private
from headwater.base.succession import InheritedProcess, Process
from headwater.database import sockets
from headwater.database.account import (
    give_to_server,
    readable_to_server,
    server_account,
    server_has_our_account,
    tie,
)
from headwater.database.data_directory import complete_upgrade, explain_other_major, restoration_directory
from headwater.database.machine_memory import buffer_megabytes, machine_memory
from headwater.database.orphans import ServerLock
from headwater.database.programs import Programs, own_programs

USER = "headwater"
OWN_ENTRIES = ("exports", "lost+found", "metrics", "postgresql", "secret.key", "serve.lock")
"""Prefixes of the names of our files in a data directory."""
PASSING_THROUGH = 0o711
"""The data directory's mode if the server runs under another account, which must reach its own directories.
"""
_BUILDING = "postgresql.new-"
"""The start of the name of a cluster that is being made."""
MAX_LOG_BYTES = 16 * 1024 * 1024
ANSWER_SECONDS = 120.0
"""How long a new server may answer nothing, not even that it is recovering."""

CONFIGURATION = """
listen_addresses = ''
max_connections = 100
shared_buffers = {buffers}MB
work_mem = 16MB
maintenance_work_mem = 128MB
effective_cache_size = 2GB
random_page_cost = 1.1
jit = off
wal_compression = on
max_wal_size = 2GB
checkpoint_timeout = 15min
autovacuum_naptime = 10s
autovacuum_vacuum_cost_limit = 2000
timezone = 'UTC'
# After a crash the server ends, and the supervisor starts it again. If it restarts by itself and recovery
# fails at once, as a file cannot be read, PostgreSQL 18 may run on without accepting any connection.
restart_after_crash = off
# A unique violation's detail and a failed statement's text would put personal data in the log.
log_error_verbosity = terse
log_min_error_statement = panic
"""


class Embedded:
    """The cluster of one data directory. Only `serve` starts and stops it; others read `url`. `programs`
    replace ours for another major version.
    """

    def __init__(self, data_dir: Path, programs: Programs | None = None) -> None:
        self.root = data_dir.absolute()
        self.programs = programs or own_programs()
        self.cluster = self.root / "postgresql"
        self.sockets = sockets.choose_directory(self.root)
        self._password_file = self.root / "postgresql.password"
        self._process: Process | None = None

    @property
    def url(self) -> str:
        """Return the URL to connect to. Raises Failure without a cluster, or if the socket could be
        another account's.
        """
        try:
            password = self.read_password()
            directory = self._find_sockets()
        except FileNotFoundError:
            raise Failure(
                f"no Headwater data in {self.root}; start `headwater serve` first, or name its --data-dir"
            ) from None
        except PermissionError as error:
            raise Failure(
                f"cannot read {error.filename}: {error.strerror}; use the account of `headwater serve`"
            ) from None
        # A fake server there would receive a proof of the password, never the password.
        return (
            f"postgresql://{USER}:{password}@/headwater?host={quote(str(directory), safe='')}"
            "&require_auth=scram-sha-256"
        )

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self, settings: dict[str, str] | None = None, *, tied: bool = False) -> str:
        """Start the server, creating the cluster at first, and return its URL once it answers.

        `settings` are extra `postgres -c` values; see `launch` for `tied`.
        """
        self.create()
        self.end_orphan()
        self.launch(settings, tied=tied)
        self._wait_until_ready()
        self._create_database()
        return self.url

    def launch(self, settings: dict[str, str] | None = None, *, tied: bool = False) -> None:
        """Start the server of an existing cluster without waiting for it. Raises BlockingIOError while an
        earlier one still runs.

        `tied` makes it shut down when the calling thread ends (Linux only); elsewhere the next `start` ends
        the orphan.
        """
        self.bound_log()
        self.make_socket_directory()
        options = [f"-c{name}={value}" for name, value in (settings or {}).items()]
        log_file = self.root / "postgresql.log"
        with self.hold() as lock, log_file.open("ab") as log:
            close_to_others(log_file)
            self._process = subprocess.Popen(
                [
                    *server_account(),
                    *(tie() if tied else []),
                    self.programs.path("postgres"),
                    "-D",
                    str(self.cluster),
                    "-k",
                    str(self.sockets),
                    *options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                start_new_session=True,  # a Ctrl-C in the terminal must not stop it before us
            )

    def adopt(self, pid: int) -> None:
        """Adopt the server that this process started before executing this program."""
        self._process = InheritedProcess(pid)

    def died(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def bound_log(self) -> None:
        """Copy and empty the server's log if it is too large. The server appends, so it can keep the file
        open.
        """
        log = self.root / "postgresql.log"
        with suppress(OSError):  # a full disk must not stop the service
            if log.stat().st_size > MAX_LOG_BYTES:
                shutil.copyfile(log, log.with_suffix(".log.1"))
                os.truncate(log, 0)

    def stop(self, timeout: float = 30) -> None:
        """Stop cleanly: a fast shutdown that closes sessions and writes a checkpoint."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
        self._process = None

    def sync(self) -> None:
        command = [self.programs.path("initdb"), "--sync-only", "-D", str(self.cluster)]
        subprocess.run([*server_account(), *command], capture_output=True, check=True)

    def read_password(self) -> str:
        """Raises OSError without a password."""
        return self._password_file.read_text().strip()

    def hold(self) -> AbstractContextManager[int]:
        """Block every server on the cluster during the block, and while a process has inherited the yielded
        descriptor. Raises BlockingIOError.
        """
        return self._lock.take()

    def end_orphan(self) -> None:
        """Raises Failure."""
        if not self._lock.end_server(timeout=30):
            raise Failure(f"a PostgreSQL still runs on {self.cluster}")

    def refuse_other_major(self) -> None:
        """Raise Failure for a cluster of another major version."""
        reason = explain_other_major(self.root, self.programs.major)
        if reason is not None:
            raise Failure(reason)

    def make_root(self) -> None:
        """Create it, or close it to other accounts unless it holds other files."""
        if self.root.is_dir() and not all(
            entry.name.startswith(OWN_ENTRIES) for entry in self.root.iterdir()
        ):
            return
        make_private(self.root, OURS_ALONE if server_has_our_account() else PASSING_THROUGH)

    def make_socket_directory(self) -> None:
        """Raises Failure unless the directory is ours alone."""
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        if self.sockets == sockets.inside(self.root):
            close_to_others(self.sockets)  # no other process could have used it there
        self._refuse_open(self.sockets)
        give_to_server(self.sockets)

    def create(self, password: str | None = None) -> None:
        """Create the cluster, if missing: under a temporary name until it is on disk, so that a power cut
        leaves no part of it. Without a password it gets a random one. Raises Failure for a cluster of
        another major version.
        """
        self.make_root()
        complete_upgrade(self.root)
        if (self.cluster / "PG_VERSION").exists():
            self.refuse_other_major()
            return
        if restoration_directory(self.root).exists():
            raise Failure(
                f"`headwater restore` has not finished in {self.root}: run it again, or remove"
                f" {restoration_directory(self.root)} to begin a new installation"
            )
        password = password or secrets.token_urlsafe(32)
        write_private(self._password_file, password)
        for leftover in self.root.glob(f"{_BUILDING}*"):  # of a killed set-up, whose initdb may still write
            shutil.rmtree(leftover, ignore_errors=True)
        building = Path(mkdtemp(prefix=_BUILDING, dir=self.root))
        give_to_server(building)
        self._run_initdb(building, password)
        with (building / "postgresql.conf").open("a") as configuration:
            buffers = buffer_megabytes(machine_memory())
            configuration.write(CONFIGURATION.format(buffers=buffers))
            configuration.flush()
            os.fsync(configuration.fileno())
        sync_directory(building)
        building.rename(self.cluster)
        sync_directory(self.root)

    def _run_initdb(self, building: Path, password: str) -> None:
        """Create files that initdb has synced when it ends."""
        with readable_to_server(password) as pipe:
            result = subprocess.run(
                [
                    *server_account(),
                    self.programs.path("initdb"),
                    "-D",
                    str(building),
                    "-U",
                    USER,
                    "--pwfile=/dev/stdin",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C",
                    "--data-checksums",
                ],
                stdin=pipe,
                capture_output=True,
                check=False,
                start_new_session=True,  # a Ctrl-C in the terminal must not make this fail
            )
        if result.returncode:
            raise Failure(f"initdb failed: {result.stderr.decode(errors='replace')}")

    def _create_database(self) -> None:
        url = self.url.replace("@/headwater?", "@/postgres?")
        with psycopg.connect(url, autocommit=True) as connection, suppress(psycopg.errors.DuplicateDatabase):
            connection.execute("CREATE DATABASE headwater")

    def _wait_until_ready(self) -> None:
        """Wait until the server accepts connections. Crash recovery may take any time: interrupted, it would
        begin again. Raises Failure if the server has exited, or does not answer at all.
        """
        url = self.url.replace("@/headwater?", "@/postgres?") + "&connect_timeout=5"
        start = time.monotonic()
        while (answer := PGconn.ping(url.encode())) != Ping.OK:
            if self.died():
                log = (self.root / "postgresql.log").read_text(errors="replace")
                raise Failure(f"PostgreSQL did not start:\n{log[-2000:]}")
            if answer != Ping.REJECT and time.monotonic() - start > ANSWER_SECONDS:
                raise Failure("PostgreSQL did not answer in time")
            time.sleep(0.02)

    @property
    def _lock(self) -> ServerLock:
        return ServerLock(self.cluster, self.sockets, self.root / "postgresql.lock")

    def _find_sockets(self) -> Path:
        directory = self.sockets
        if directory != sockets.inside(self.root):
            directory = sockets.recorded_directory(self.cluster) or directory
        self._refuse_open(directory)
        return directory

    def _refuse_open(self, directory: Path) -> None:
        """Raise Failure if other accounts could place a socket in the directory."""
        fault = sockets.find_fault(directory, {os.geteuid(), self.cluster.stat().st_uid})
        if fault is not None:
            raise Failure(
                f"{directory}, for PostgreSQL's socket, {fault}; remove it, or set XDG_RUNTIME_DIR"
                " to a directory of your own, or use a data directory with a shorter path"
            )
