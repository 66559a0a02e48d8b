"""A new installation, created once for all processes of a run and copied in place of a first start."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from headwater.database.embedded import Embedded
from headwater.database.migrator import migrate
from tests.support.directories import copy_with_owners

UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_SHARED = "HEADWATER_TEST_INSTALLATION"
"""The variable with the folder of the original installation, which the first process of a run passes to the
others.
"""

if _SHARED not in os.environ:
    os.environ[_SHARED] = tempfile.mkdtemp(prefix="headwater-tests-")
    atexit.register(shutil.rmtree, os.environ[_SHARED], ignore_errors=True)


def install(data_dir: Path) -> Path:
    """Put an unused installation in place: PostgreSQL's files and a migrated database. A first start would
    need seconds of CPU time.
    """
    copy_with_owners(_new_installation(), data_dir)
    return data_dir


def _new_installation() -> Path:
    folder = Path(os.environ[_SHARED])
    data_dir = folder / "data"
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            shutil.rmtree(data_dir, ignore_errors=True)  # left by a killed process
            folder.chmod(0o711)  # the server may run under another account
            server = Embedded(data_dir)
            migrate(server.start(UNSAFE, tied=True))
            server.stop()
            (folder / "made").touch()
    return data_dir
