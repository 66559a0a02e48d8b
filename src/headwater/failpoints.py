"""Named places at which a process can be made to die as if by power cut, for crash tests.

`HEADWATER_FAILPOINT=<name>` arms one; unarmed, a failpoint costs one comparison.
"""

from __future__ import annotations

import os
import signal

_ARMED = os.environ.get("HEADWATER_FAILPOINT", "")


def failpoint(name: str) -> None:
    """End this process at once, with no clean-up, when the failpoint `name` is armed."""
    if name == _ARMED:
        os.kill(os.getpid(), signal.SIGKILL)
