"""The worker's watch for backlogs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from psycopg import Connection

from headwater.alerts.problems import LATE_AFTER, queries
from headwater.database.jobs.duties import Duty
from headwater.intake.inbox.queue import find_late_spaces

WATCH_SECONDS = 30.0

log = structlog.get_logger()


def make_backlog_duty() -> Duty:
    return Duty(BacklogWatch().look, lambda _, __: False, pause_seconds=WATCH_SECONDS)


class BacklogWatch:
    """Log each backlog when it begins and when it ends."""

    def __init__(self) -> None:
        self._logged_queues: set[tuple[int, int | None]] = set()

    def look(self, connection: Connection[Any]) -> list[int]:
        """Return no Spaces: they need no further work."""
        late_queues: dict[tuple[int, int | None], datetime] = {
            (space_id, destination_id): since
            for space_id, destination_id, since in connection.execute(
                queries["late_destinations"], {"late": LATE_AFTER}
            )
        }
        late_queues |= {
            (space, None): since for space, since in find_late_spaces(connection, LATE_AFTER).items()
        }
        for late_key in late_queues.keys() - self._logged_queues:
            log.warning("queue behind", **_log_values(late_key), since=late_queues[late_key].isoformat())
        for late_key in self._logged_queues - late_queues.keys():
            log.warning("queue caught up", **_log_values(late_key))
        self._logged_queues = set(late_queues)
        return []


def _log_values(space: tuple[int, int | None]) -> dict[str, int]:
    space_id, destination_id = space
    destination = {} if destination_id is None else {"destination_id": destination_id}
    return {"space_id": space_id, **destination}
