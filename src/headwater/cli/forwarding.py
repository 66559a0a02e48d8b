"""What a worker does about forwarding: it has a process at work while deliveries are due."""

from __future__ import annotations

import time
from typing import Any

from psycopg import Connection

from headwater.cli.children import keep_at_work
from headwater.forwarding.queue import spaces_due
from headwater.pipeline.worker import Duty
from headwater.settings import Settings

LOOK_SECONDS = 0.5
"""Between two looks at every destination."""


def forwarding(settings: Settings) -> Duty:
    """Have a forwarder at work while deliveries are due."""
    looked = -LOOK_SECONDS

    def waiting(connection: Connection[Any]) -> list[int]:
        nonlocal looked
        now = time.monotonic()
        if now - looked < LOOK_SECONDS:
            return []
        looked = now
        return spaces_due(connection)

    return keep_at_work("forwarder", settings, waiting)
