"""Waiting for a condition, never for an amount of time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE_SECONDS = 300.0
"""What a test waits for whatever must come in the end. It costs nothing when all is well, and a
machine can be as busy as it likes.
"""

_pause = threading.Event()


def wait_until(
    condition: Callable[[], object],
    seconds: float = PATIENCE_SECONDS,
    what: str = "the condition",
    pause: Callable[[], object] = lambda: _pause.wait(0.01),
) -> None:
    """Return as soon as `condition` holds; fail when it does not within `seconds`. A `pause`
    that lets a browser go on is for what its driver does only while the test waits for it.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        pause()
