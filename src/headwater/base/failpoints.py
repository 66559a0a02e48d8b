"""Named points in the code where a process dies as in a power failure, for crash tests.

`HEADWATER_FAILPOINT=<name>` arms one permanently. `HEADWATER_FAILPOINT_FILE=<path>` lets a test arm them in a
running service: while the file contains a failpoint's name, the first process to reach that point removes the
file and dies. With neither set a failpoint costs two comparisons.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

_ARMED = os.environ.get("HEADWATER_FAILPOINT", "")
_FILE = os.environ.get("HEADWATER_FAILPOINT_FILE", "")


def failpoint(name: str) -> None:
    """End this process immediately, without clean-up, if the failpoint `name` is armed."""
    if name == _ARMED or (_FILE and _take(Path(_FILE), name)):
        os.kill(os.getpid(), signal.SIGKILL)


def _take(file: Path, name: str) -> bool:
    """Return whether the file arms `name` and this process removed it."""
    try:
        if file.read_text() != name:
            return False
        file.unlink()
    except FileNotFoundError:
        return False
    return True
