"""A start that waits for its database: for another migration, or for PostgreSQL's recovery after a crash."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import PGconn, Ping

from headwater.database import embedded
from headwater.database.embedded import Embedded
from headwater.database.migrator import LOCK
from tests.support.installations import install
from tests.support.processes import Serve
from tests.support.waiting import PATIENCE_SECONDS, wait_until

RECOVERY = """
hot_standby = off
restore_command = 'until [ -e "{end}" ]; do sleep 0.05; done; false'
"""


@pytest.fixture
def end(tmp_path: Path) -> Path:
    """Return a file whose appearance lets recovery continue."""
    return tmp_path / "end"


@pytest.fixture
def recovering(tmp_path: Path, end: Path) -> Embedded:
    """Return a server that recovers at its next start until `end` exists."""
    server = Embedded(install(tmp_path / "data"))
    tmp_path.chmod(0o711)  # the server may run under another account
    with (server.cluster / "postgresql.conf").open("a") as configuration:
        configuration.write(RECOVERY.format(end=end))
    (server.cluster / "recovery.signal").touch()
    return server


def is_recovering(server: Embedded) -> bool:
    return PGconn.ping(server.url.encode()) == Ping.REJECT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works(young_url: str, tmp_path: Path, number: signal.Signals) -> None:
    """A stop ends the wait for a migration by another process."""
    waiting = "SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND NOT l.granted"
    with psycopg.connect(young_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        with Serve(tmp_path / "data", HEADWATER_DATABASE_URL=young_url) as serve:
            wait_until(lambda: other.execute(waiting).fetchone() is not None)
            serve.process.send_signal(number)
            assert serve.wait() == 0
        wait_until(lambda: other.execute(waiting).fetchone() is None)


def test_a_stop_ends_a_recovery(recovering: Embedded) -> None:
    with Serve(recovering.root) as serve:
        wait_until(lambda: is_recovering(recovering))
        assert serve.stop() == 0
    assert not (recovering.cluster / "postmaster.pid").exists()


def test_a_recovery_may_take_any_time(
    recovering: Embedded, end: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended, it would begin again at every start."""
    start = threading.Thread(target=recovering.start)
    start.start()
    try:
        wait_until(lambda: is_recovering(recovering))
        monkeypatch.setattr(embedded, "ANSWER_SECONDS", 0.0)
        start.join(0.5)
        assert start.is_alive()
        end.touch()
        start.join(PATIENCE_SECONDS)
        with psycopg.connect(recovering.url) as connection:
            assert connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)
    finally:
        recovering.stop()
