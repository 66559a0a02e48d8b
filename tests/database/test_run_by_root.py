"""Started by root where users can't be mapped, for instance in many containers: PostgreSQL runs as `nobody`.
Other accounts can pass through the data directory but read nothing.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headwater.database import account
from headwater.database.account import NOBODY
from headwater.database.embedded import Embedded
from headwater.database.programs import program_path


def can_be_tried() -> bool:
    if os.geteuid() != 0:
        return False
    command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", program_path("postgres"), "-V"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_be_tried(), reason="needs root, and a Python environment that others may read"
)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data directory below one that `nobody` can reach."""
    monkeypatch.setattr(account, "_may_map_users", lambda: False)
    before = os.umask(0o077)
    with tempfile.TemporaryDirectory(prefix="headwater-test-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "missing" / "data"
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_works(root: Path) -> None:
    for _ in range(2):
        server = Embedded(root)
        with psycopg.connect(server.start(tied=True)) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        server.stop()
    assert mode(root.parent) == mode(root) == 0o711
    assert mode(server.cluster) == mode(server.sockets) == 0o700
    assert server.cluster.stat().st_uid == server.sockets.stat().st_uid == NOBODY
    assert mode(root / "postgresql.password") == 0o600
    assert mode(root / "postgresql.log") == 0o600
