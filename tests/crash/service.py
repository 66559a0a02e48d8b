"""A real `headwater serve` in its own data directory, and methods that disturb it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psycopg

from headwater.database.embedded import Embedded
from headwater.intake.inbox.queue import wait_until_processed
from headwater.privacy.erasures import wait_until_erased
from headwater.spaces.keys import SCOPES
from tests.crash.load import Account
from tests.crash.processes import Process, descendants, send_all
from tests.support.commands import run_command
from tests.support.installations import install
from tests.support.preloaded import CopiedProcess, start_copy
from tests.support.processes import start_module
from tests.support.spaces import insert_space
from tests.support.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).parent.parent.parent
LOOK_SECONDS = 0.1
WAITING = """
SELECT greatest(1, (SELECT count(*) FROM inbox)
                   + (SELECT count(*) FROM erasures WHERE erased_at IS NULL))
"""


class Service:
    """Prepare a service. `python -m` runs `module`: Headwater, or Headwater with a planted fault. `source` is
    the folder it is imported from.
    """

    def __init__(
        self,
        directory: Path,
        *module: str,
        workers: int = 1,
        variables: Mapping[str, str] = {},
        source: Path = ROOT / "src",
    ) -> None:
        self._workers, self._variables, self._source = workers, variables, source
        self.data_dir = directory / "data"
        self.module = module or ("headwater",)
        self._failpoint = directory / "failpoint"
        self._log = directory / "serve.log"
        can_be_copy = source == ROOT / "src" and "LD_PRELOAD" not in variables
        self._start = start_copy if can_be_copy else start_module
        self._process: subprocess.Popen[str] | CopiedProcess | None = None
        self.host, self.port = "127.0.0.1", 0

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def database_url(self) -> str:
        return Embedded(self.data_dir).url

    def install(self) -> None:
        """Put a new installation in place. A first start would do the same, but takes a second longer."""
        install(self.data_dir)

    def start(self) -> None:
        """Start the service on its previous port, if any, and wait for the `ready` line."""
        self.launch()
        assert self.await_ready(), self._log.read_text()[-4000:]

    @contextmanager
    def run_installed(self) -> Iterator[Self]:
        """Install and start the service, and end it with the block."""
        try:
            self.install()
            self.start()
            yield self
        finally:
            self.end()

    def launch(self) -> None:
        """Start the service without waiting."""
        words = (*self._words(*self.module, "serve"), "--port", str(self.port),
                 "--workers", str(self._workers))  # fmt: skip
        with self._log.open("ab") as log:
            self._process = self._start(words, log, self._environment())

    def await_ready(self, seconds: float = PATIENCE_SECONDS) -> bool:
        """Return whether the service reports within `seconds` that it is ready."""
        assert self._process is not None
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], max(0.0, seconds))[0]:
            return False
        with self._process.stdout as output:
            line = output.readline()
        if line.startswith("ready "):
            self.port = urlsplit(line.split()[1]).port or 0
        return line.startswith("ready ")

    def signal(self, number: signal.Signals) -> None:
        """Signal the supervisor."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait for the supervisor's end and return its exit code. Raise TimeoutExpired."""
        assert self._process is not None
        return self._process.wait(seconds)

    def stop(self) -> int:
        """Stop the service as an operator would and return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def end(self) -> None:
        """End all processes, from any state."""
        if not self.is_running:
            return
        family = self.family()
        send_all(family, signal.SIGCONT)
        self.signal(signal.SIGCONT)
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            self.kill_supervisor()
            send_all(family, signal.SIGKILL)

    def times_logged(self, text: str) -> int:
        """Return how often `text` is in the log."""
        return self._log.read_text().count(text)

    def kill_supervisor(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()

    def command(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run another command on the same data."""
        return subprocess.run(
            [sys.executable, "-m", *self._words("headwater", *arguments)],
            env=self._environment(), cwd=ROOT, text=True, capture_output=True, check=False,
            timeout=PATIENCE_SECONDS, input=stdin,
        )  # fmt: skip

    def run_json(self, *arguments: str, stdin: str = "") -> Any:
        """Run a command in this process, with `stdin` as its standard input, and return its JSON output."""
        data_options = ("--data-dir", str(self.data_dir), "--json")
        result = run_command(*arguments, *data_options, stdin=stdin, **self._variables)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def open_account(self, name: str) -> Account:
        """Create a Space with a key, faster than with two commands."""
        key = "trk_sk_" + secrets.token_urlsafe(32)
        with self.connect() as connection:
            space_id = insert_space(connection, name=name)
            connection.execute(
                "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes) VALUES (%s, %s, %s, %s, %s)",
                (space_id, name, hashlib.sha256(key.encode()).digest(), key[-4:], list(SCOPES)),
            )
        return Account(self.host, self.port, space_id, key)

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection in autocommit, for checks of the database."""
        return psycopg.connect(self.database_url, autocommit=True)

    def drain(self) -> None:
        """Wait until everything accepted is processed. Fail when the queue stops getting shorter."""
        before = math.inf
        while (backlog := self._wait_for_queue()) > 0:
            assert backlog < before, f"{backlog} rows wait"
            before = backlog

    def _wait_for_queue(self) -> int:
        """Wait for the queue and for erasures, as `headwater queue wait` does. Return how many rows are left
        in either.
        """
        seconds = PATIENCE_SECONDS / 2
        with self.connect() as connection:
            if wait_until_processed(connection, seconds) and wait_until_erased(connection, seconds):
                return 0
            row = connection.execute(WAITING).fetchone()
        assert row is not None
        return row[0]

    def is_ready(self) -> bool:
        """Whether /readyz reports the service as ready."""
        http = HTTPConnection(self.host, self.port, timeout=5)
        try:
            http.request("GET", "/readyz")
            return http.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            http.close()

    def is_whole(self) -> bool:
        """Whether every part runs and requests can be served."""
        family = self.family()
        return bool(
            len(self._with_role("api", family)) == self._workers
            and self._with_role("worker", family)
            and self._postmaster(family)
            and self.is_ready()
        )

    def await_whole(self) -> None:
        """Wait until the service is whole. Check rarely, because each check reads the state of every process
        of the machine.
        """
        pause = threading.Event()
        wait_until(self.is_whole, pause=lambda: pause.wait(LOOK_SECONDS))

    def family(self) -> list[Process]:
        return descendants(self.pid)

    def processes(self, role: str) -> list[Process]:
        """Return the service's processes of a role, `api` or `worker`."""
        return self._with_role(role, self.family())

    def _with_role(self, role: str, family: list[Process]) -> list[Process]:
        return [
            process for process in family if process.parent == self.pid and role in process.command.split()
        ]

    def children(self, role: str) -> list[Process]:
        """Return the service's processes of a role that a worker has started, such as `forwarder`."""
        return [process for process in self.family() if "headwater" in process.command
                and role in process.command.split()]  # fmt: skip

    def postmaster(self) -> Process | None:
        """Return PostgreSQL's first process, once it runs PostgreSQL."""
        return self._postmaster(self.family())

    def _postmaster(self, family: list[Process]) -> Process | None:
        return next(
            (process for process in family if process.parent == self.pid and process.program == "postgres"),
            None,
        )

    def postgresql(self) -> list[Process]:
        """Return all of PostgreSQL's processes."""
        postmaster = self.postmaster()
        return [postmaster, *descendants(postmaster.pid)] if postmaster else []

    def arm(self, failpoint: str) -> None:
        """Arm a failpoint, so that the next process that reaches it dies. Wait until one has."""
        new_file = self._failpoint.with_suffix(".new")
        new_file.write_text(failpoint)
        new_file.rename(self._failpoint)
        wait_until(lambda: not self._failpoint.exists())

    def _words(self, *arguments: str) -> list[str]:
        return [*arguments, "--data-dir", str(self.data_dir)]

    def _environment(self) -> dict[str, str]:
        variables = {name: value for name, value in os.environ.items() if "HEADWATER" not in name}
        return variables | {
            **self._variables,
            "HEADWATER_RATE_LIMIT_FACTOR": "1000000",
            "HEADWATER_FAILPOINT_FILE": str(self._failpoint),
            "PYTHONPATH": os.pathsep.join((str(self._source), str(ROOT))),
        }
