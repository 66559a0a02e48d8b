"""A worker's look for backlogs: none stays silent, each is told to the log."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.pipeline.worker import Duty
from headwater.reports.alerts import BacklogWatch


def watching() -> Duty:
    """Tell the log of what falls behind."""
    watch = BacklogWatch()

    def look(connection: Connection[Any]) -> list[int]:
        watch.look(connection)
        return []

    def attend(_: Connection[Any], __: int) -> bool:
        return False  # looking was all

    return Duty(look, attend)
