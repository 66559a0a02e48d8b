"""A data directory as a whole: the lock of whatever serves on it or restores into it, and what a
restore that has not finished leaves in it.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

LOCK = "serve.lock"
POSTGRESQL_MAJOR = "18"
"""The major version of PostgreSQL that comes with this version."""


class DirectoryInUseError(RuntimeError):
    """Another process holds the data directory."""


def lock_directory(data_dir: Path) -> IO[bytes]:
    """Lock a data directory until the returned file is closed, which the system does however the
    process ends. The file is empty: the holder may write into it. Raises DirectoryInUseError,
    OSError.
    """
    file = (data_dir / LOCK).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise DirectoryInUseError(str(data_dir)) from None
    file.truncate(0)
    return file


def restoration_directory(root: Path) -> Path:
    """The directory in which a restore makes what becomes the data directory's cluster."""
    return root / "postgresql.restoring"


def explain_other_major(cluster: Path) -> str | None:
    """Return why a cluster cannot be used, and what to do, if another major version of PostgreSQL
    has made it; None for one of ours.
    """
    major = (cluster / "PG_VERSION").read_text().strip()
    if major == POSTGRESQL_MAJOR:
        return None
    return (
        f"{cluster} is of PostgreSQL {major}, and this version brings {POSTGRESQL_MAJOR}: back it"
        " up with the version of Headwater that last served it (`headwater backup FILE"
        " --with-secret-key`), and restore it with this one into a new data directory (`headwater"
        " restore FILE --data-dir NEW`); nothing here was changed"
    )
