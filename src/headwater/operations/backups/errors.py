from __future__ import annotations

from headwater.base.failure import Failure


class BackupError(Failure):
    """A backup cannot be made, read or restored; the text gives the reason and advice."""
