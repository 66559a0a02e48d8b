"""What a worker does about exports: it starts a process for them while any wait, and removes files
whose time is over. So exports take neither the pipeline's time nor memory while nobody wants one.
"""

from __future__ import annotations

import time
from typing import Any

from psycopg import Connection

from headwater.exports.jobs import spaces_to_tidy, tidy, waiting_spaces
from headwater.exports.storage import open_storage
from headwater.pipeline.worker import Duty
from headwater.settings import Settings
from headwater.supervisor import Child

PAUSE_SECONDS = 0.5
"""Between two starts: a process that cannot work must not be started in a tight loop."""

TIDY_SECONDS = 2.0
"""Between two looks for files to remove, which pass over every file that is kept."""


def exporting(settings: Settings) -> Duty:
    """Have a process at work while exports wait."""
    child = Child("exporter", "--data-dir", str(settings.data_dir.absolute()))
    launched = -PAUSE_SECONDS

    def waiting(connection: Connection[Any]) -> list[int]:
        child.died()  # asking also lets go of one that has ended
        return waiting_spaces(connection)

    def attend(_: Connection[Any], __: int) -> bool:
        nonlocal launched
        now = time.monotonic()
        if child.died() and now - launched >= PAUSE_SECONDS:
            launched = now
            child.launch()
        return False  # the work is the child's

    return Duty(waiting, attend)


def tidying(settings: Settings) -> Duty:
    """Remove files that nobody may have any more."""
    storage = open_storage(settings)
    looked = -TIDY_SECONDS

    def waiting(connection: Connection[Any]) -> list[int]:
        nonlocal looked
        now = time.monotonic()
        if now - looked < TIDY_SECONDS:
            return []
        looked = now
        return spaces_to_tidy(connection)

    def attend(connection: Connection[Any], space_id: int) -> bool:
        tidy(connection, storage, space_id)
        return False

    return Duty(waiting, attend)
