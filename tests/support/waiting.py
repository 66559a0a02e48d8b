"""Waiting for a condition, never for a fixed time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE_SECONDS = 300.0
"""How long a test waits for something that must happen. A passing test doesn't wait longer for it, and a busy
machine doesn't fail the test.
"""

_pause = threading.Event()


def wait_until(
    condition: Callable[[], object],
    seconds: float = PATIENCE_SECONDS,
    description: str = "the condition",
    pause: Callable[[], object] = lambda: _pause.wait(0.01),
) -> None:
    """Return as soon as `condition` holds. Fail when it doesn't within `seconds`. Pass a `pause` that keeps a
    browser running if its driver works only while the test waits for it.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {description}"
        pause()
