"""Ends a process with its parent, which holds standard input open. The pipe closes when the parent dies, on
every system.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from argparse import Namespace

GRACE_SECONDS = 10.0


def hold(arguments: Namespace) -> None:
    """End this process when standard input ends, if started with `--leash`: cleanly, or by force after a
    while.
    """
    if arguments.leash:
        threading.Thread(target=_watch, name="leash", daemon=True).start()


def _watch() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)
