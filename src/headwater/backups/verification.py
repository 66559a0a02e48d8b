"""Verify a backup: restore it into a scratch PostgreSQL and compare what came back."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path

from headwater.backups.archive import Archive
from headwater.backups.load import load
from headwater.backups.restoration import (
    Progress,
    Restored,
    bring_up,
    refuse_newer,
    scratch_server,
)


def verify(archive: Archive, progress: Progress) -> Restored:
    """Restore a backup for trial, with this version's schema, and remove it again. Raises
    BackupError unless every table has come back with all of its rows.
    """
    refuse_newer(archive)
    directory = Path(tempfile.gettempdir()) / f"headwater-verify-{secrets.token_hex(8)}"
    try:
        with scratch_server(directory) as url:
            load(url, archive, progress)
            return bring_up(url, archive, (), None)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
