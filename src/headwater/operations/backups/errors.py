from __future__ import annotations


class BackupError(RuntimeError):
    """A backup cannot be made, read or restored; the text gives the reason and advice."""
