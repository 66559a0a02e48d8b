"""Verify a backup: restore it into a scratch PostgreSQL and compare."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path

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

LEAST_FREE_BYTES = 512 * 1024 * 1024
"""Space that a trial restore leaves on the disk of temporary files."""


def verify(archive: Archive, progress: Progress) -> Restored:
    """Restore a backup for trial, and remove it again. Raises BackupError if any row is missing."""
    refuse_other_schema(archive)
    directory = Path(tempfile.gettempdir()) / f"headwater-verify-{secrets.token_hex(8)}"
    try:
        with scratch_server(directory) as url:
            load(url, archive, _watching(directory, progress))
            return bring_up(url, archive, (), None)
    finally:
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
