"""Lock files of a dead PostgreSQL don't prevent the next start, even if another process now has their process
id. A server that still runs is ended first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from headwater.database.embedded import Embedded
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a stopped server."""
    root = tmp_path_factory.mktemp("stale")
    server = Embedded(root)
    server.start(tied=True)
    server.stop()
    return root


@pytest.fixture
def server(root: Path) -> Iterator[Embedded]:
    server = Embedded(root)
    yield server
    server.stop()


def lock_files(server: Embedded) -> list[Path]:
    return [server.cluster / "postmaster.pid", server.sockets / ".s.PGSQL.5432.lock"]


def answers(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("file", [0, 1], ids=["cluster", "socket"])
@pytest.mark.parametrize(
    "content", [f"{os.getpid()}\n/x\n0\n5432\n/x\n\n0 0\n", "", "\0" * 40, "0\n", "-1\n", "x\n"],
    ids=["another program's", "empty", "zeros", "no process", "a group", "no number"],
)  # fmt: skip
def test_it_works(server: Embedded, file: int, content: str) -> None:
    lock_files(server)[file].write_text(content)
    assert answers(server.start(tied=True))


def test_a_dead_process_that_nobody_has_reaped(server: Embedded) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        wait_until(lambda: psutil.Process(dead.pid).status() == psutil.STATUS_ZOMBIE)
        for file in lock_files(server):
            file.write_text(f"{dead.pid}\n")
        assert answers(server.start(tied=True))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a signal for the end of a parent")
@pytest.mark.usefixtures("server")
def test_a_tied_server_ends_with_the_killed_process_that_started_it(root: Path) -> None:
    program = (
        "import pathlib, sys; from headwater.database.embedded import Embedded;"
        "server = Embedded(pathlib.Path(sys.argv[1])); server.start(tied=True);"
        "print(server.pid, flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", program, str(root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        postgresql = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
    wait_until(lambda: not postgresql.is_running(), description="PostgreSQL's end")


def test_an_orphan_is_ended_in_order(server: Embedded, root: Path) -> None:
    orphan = Embedded(root)
    orphan.start(tied=True)
    assert answers(server.start(tied=True))
    assert orphan.died()
    assert "received fast shutdown request" in (root / "postgresql.log").read_text()


def test_what_a_killed_server_leaves_running_is_ended(server: Embedded, root: Path) -> None:
    old_server = Embedded(root)
    url = old_server.start(tied=True)
    connection = psycopg.connect(url, autocommit=True)
    backend = psutil.Process(connection.info.backend_pid)
    backend.send_signal(signal.SIGSTOP)  # so that it can't notice
    assert old_server.pid is not None
    os.kill(old_server.pid, signal.SIGKILL)
    wait_until(old_server.died)
    with pytest.raises(BlockingIOError):
        server.launch(tied=True)
    backend.send_signal(signal.SIGCONT)
    assert answers(server.start(tied=True))
    with suppress(psutil.NoSuchProcess):
        backend.wait(60)
    connection.close()


def test_a_server_of_an_earlier_version_is_ended(server: Embedded, root: Path) -> None:
    """It holds none of our locks."""
    old = Embedded(root)
    old.start(tied=True)
    (root / "postgresql.lock").unlink()
    assert answers(server.start(tied=True))
    assert old.died()
