"""The worker's duties of exports: a process is at work while any wait, and files whose time is over
are removed.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.exports.jobs import spaces_to_tidy, tidy, waiting_spaces
from headwater.jobs.child_process import make_process_duty
from headwater.jobs.duties import Duty, look_every
from headwater.settings import Settings
from headwater.storage import open_storage

TIDY_SECONDS = 2.0
"""Between two looks for files to remove, which pass over every file that is kept."""


def make_export_duty(settings: Settings) -> Duty:
    """Have a process at work while exports wait."""
    return make_process_duty("exporter", settings, waiting_spaces)


def make_export_tidying_duty(settings: Settings) -> Duty:
    """Remove files that nobody may have any more."""
    storage = open_storage(settings)

    def attend(connection: Connection[Any], space_id: int) -> bool:
        tidy(connection, storage, space_id)
        return False

    return Duty(look_every(TIDY_SECONDS, spaces_to_tidy), attend)
