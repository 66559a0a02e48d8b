"""What a worker does about exports: it has a process at work while any wait, and removes files
whose time is over.
"""

from __future__ import annotations

import time
from typing import Any

from psycopg import Connection

from headwater.cli.children import keep_at_work
from headwater.exports.jobs import spaces_to_tidy, tidy, waiting_spaces
from headwater.exports.storage import open_storage
from headwater.pipeline.worker import Duty
from headwater.settings import Settings

TIDY_SECONDS = 2.0
"""Between two looks for files to remove, which pass over every file that is kept."""


def exporting(settings: Settings) -> Duty:
    """Have a process at work while exports wait."""
    return keep_at_work("exporter", settings, waiting_spaces)


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
