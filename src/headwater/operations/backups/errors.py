"""The failure of a backup or a restore."""

from __future__ import annotations


class BackupError(RuntimeError):
    """A backup cannot be made, read or restored; the text says why, and what to do."""
