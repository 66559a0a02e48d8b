"""Work that a worker leaves to a process of its own, which is started while there is some: so it
takes neither the pipeline's time nor memory otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from psycopg import Connection

from headwater.pipeline.worker import Duty
from headwater.settings import Settings
from headwater.supervisor import Child

PAUSE_SECONDS = 0.5
"""Between two starts: a process that cannot work must not be started in a tight loop."""


def keep_at_work(
    command: str, settings: Settings, waiting: Callable[[Connection[Any]], list[int]]
) -> Duty:
    """Have `headwater <command>` at work while `waiting` names Spaces."""
    child = Child(command, "--data-dir", str(settings.data_dir.absolute()))
    launched = -PAUSE_SECONDS

    def look(connection: Connection[Any]) -> list[int]:
        # Asking whether it has died also lets go of one that has.
        return waiting(connection) if child.died() else []

    def attend(_: Connection[Any], __: int) -> bool:
        nonlocal launched
        now = time.monotonic()
        if child.died() and now - launched >= PAUSE_SECONDS:
            launched = now
            child.launch()
        return False  # the work is the child's

    return Duty(look, attend)
