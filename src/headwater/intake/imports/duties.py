"""Background jobs: run waiting imports; delete expired files and refused rows."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.base.settings import Settings
from headwater.base.storage import open_storage
from headwater.database.jobs.child_process import make_process_duty
from headwater.database.jobs.duties import Duty
from headwater.intake.imports.jobs import spaces_to_tidy, tidy, waiting_spaces

LOOK_SECONDS = 0.5
TIDY_SECONDS = 5.0


def make_import_duty(settings: Settings) -> Duty:
    return make_process_duty("importer", settings, waiting_spaces, LOOK_SECONDS)


def make_import_tidying_duty(settings: Settings) -> Duty:
    storage = open_storage(settings)

    def attend(connection: Connection[Any], space_id: int) -> bool:
        tidy(connection, storage, space_id)
        return False

    return Duty(spaces_to_tidy, attend, pause_seconds=TIDY_SECONDS, name="imports")
