"""Verify a backup: restore it into a scratch PostgreSQL and compare."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from headwater.base.files import OURS_ALONE
from headwater.database.data_directory import DirectoryInUseError, lock_directory
from headwater.operations.backups.archive import Archive
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.load import load
from headwater.operations.backups.restoration import (
    Progress,
    Restored,
    bring_up,
    refuse_other_schema,
    scratch_server,
)

PREFIX = "headwater-verify-"
"""Of a directory with a trial restore."""
LEAST_FREE_BYTES = 512 * 1024 * 1024
"""Space that a trial restore leaves on the disk of temporary files."""


def verify(archive: Archive, progress: Progress) -> Restored:
    """Restore a backup for trial, and remove it again. Raises BackupError if any row is missing."""
    refuse_other_schema(archive)
    with _trial_directory(Path(tempfile.gettempdir())) as directory, scratch_server(directory) as url:
        load(url, archive, _watching(directory, progress))
        return bring_up(url, archive, (), None)


@contextmanager
def _trial_directory(folder: Path) -> Generator[Path]:
    """Yield a locked directory, removed afterwards. Raises BackupError."""
    _remove_leftovers(folder)
    directory = folder / f"{PREFIX}{secrets.token_hex(8)}"
    try:
        directory.mkdir(OURS_ALONE)
        lock = lock_directory(directory)
    except OSError as error:
        raise BackupError(f"cannot write {directory}: {error.strerror or error}") from None
    try:
        with lock:
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed verifications left: each is a copy of a database. If its PostgreSQL is still ending,
    the next verification removes the rest.
    """
    for directory in folder.glob(f"{PREFIX}*"):
        with suppress(OSError, DirectoryInUseError):
            if directory.lstat().st_uid == os.geteuid():
                with lock_directory(directory):
                    shutil.rmtree(directory, ignore_errors=True)


def _watching(directory: Path, progress: Progress) -> Progress:
    """Return a `progress` that stops the trial before the disk is full."""

    def watch(done: int) -> object:
        if shutil.disk_usage(directory).free < LEAST_FREE_BYTES:
            raise BackupError(
                f"there is not enough space in {directory.parent} to verify the backup, which must"
                f" leave {LEAST_FREE_BYTES >> 20} MB free. Set TMPDIR to a larger disk"
            )
        return progress(done)

    return watch
