"""Private files and directories, complete or absent after a power failure.

A name is on disk only after syncing its directory, so each function syncs its data, then the directory.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import IO

OURS_ALONE = 0o700
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a write without room: a full disk, a user's quota, or the process's limit for a file."""


def keep_private() -> None:
    """Make files created by this process private to its account."""
    os.umask(0o077)


def make_private(directory: Path, mode: int = OURS_ALONE) -> None:
    """Create a private directory with its parents, or make an existing one private."""
    missing_folders = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing_folders):
        path.mkdir(exist_ok=True)
        path.chmod(mode)  # overrides the umask
        sync_directory(path.parent)
    directory.mkdir(exist_ok=True)  # raises if it is something else
    close_to_others(directory, mode)


def close_to_others(directory: Path, mode: int = OURS_ALONE) -> None:
    """Remove other accounts' permissions beyond `mode`.

    Only the owner can. A sticky directory is shared by accounts, such as /tmp, and stays.
    """
    status = directory.stat()
    foreign_bits = status.st_mode & 0o077 & ~mode
    if foreign_bits and status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
        directory.chmod(stat.S_IMODE(status.st_mode) & ~foreign_bits)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read. The rename is atomic: readers see the old text or all of the
    new one.
    """
    partial_path = path.with_name(f"{path.name}.partial")
    partial_path.unlink(missing_ok=True)  # a leftover of a killed attempt, or a link placed by another user
    descriptor = os.open(partial_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 # it is open already
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial_path.replace(path)
    sync_directory(path.parent)


def try_lock(file: IO[bytes] | int) -> bool:
    """Lock an open file until it is closed. Return False if another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_directory(directory: Path) -> None:
    """Sync a directory's names to disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
