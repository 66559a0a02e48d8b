"""The worker's duties of exports: queue the runs of schedules, run a process while any export
waits, and remove files whose time is over.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.base.settings import Settings
from headwater.base.storage import open_storage
from headwater.database.jobs.child_process import make_process_duty
from headwater.database.jobs.duties import Duty
from headwater.exports.jobs import spaces_to_tidy, tidy, waiting_spaces
from headwater.exports.schedules import due_spaces, queue_runs

LOOK_SECONDS = 0.25
"""The pause between two looks for exports that wait, which visit every node of a cluster."""
SCHEDULE_SECONDS = 1.0
"""The pause between two looks for schedules that are due."""
TIDY_SECONDS = 2.0
"""The pause between two searches for files to remove, which read every file that is kept."""


def make_export_duty(settings: Settings) -> Duty:
    """A duty that runs a process while exports wait."""
    return make_process_duty("exporter", settings, waiting_spaces, LOOK_SECONDS)


def make_export_schedule_duty() -> Duty:
    """A duty that queues the runs of scheduled exports."""
    return Duty(due_spaces, queue_runs, pause_seconds=SCHEDULE_SECONDS, name="scheduled exports")


def make_export_tidying_duty(settings: Settings) -> Duty:
    """Return the background job that removes expired files."""
    storage = open_storage(settings)

    def attend(connection: Connection[Any], space_id: int) -> bool:
        tidy(connection, storage, space_id)
        return False

    return Duty(spaces_to_tidy, attend, pause_seconds=TIDY_SECONDS, name="exports")
