"""Background jobs: queue scheduled runs, run the export process, and remove expired files."""

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
"""Between two polls for waiting exports, which visit every node of a cluster."""
SCHEDULE_SECONDS = 1.0
TIDY_SECONDS = 2.0
"""Between two searches for expired files, which read the rows of all files."""


def make_export_duty(settings: Settings) -> Duty:
    return make_process_duty("exporter", settings, waiting_spaces, LOOK_SECONDS)


def make_export_schedule_duty() -> Duty:
    return Duty(due_spaces, queue_runs, pause_seconds=SCHEDULE_SECONDS, name="scheduled exports")


def make_export_tidying_duty(settings: Settings) -> Duty:
    storage = open_storage(settings)

    def attend(connection: Connection[Any], space_id: int) -> bool:
        tidy(connection, storage, space_id)
        return False

    return Duty(spaces_to_tidy, attend, pause_seconds=TIDY_SECONDS, name="exports")
