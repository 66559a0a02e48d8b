"""Clean up expired codes and unused self-registered assistants."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.database.jobs.duties import INSTALLATION, Duty
from headwater.database.queries import Queries
from headwater.spaces.accounts.authorization_codes import forget_codes

queries = Queries(__name__, "cleanup.sql")

LOOK_SECONDS = 600.0


def make_cleanup_duty(seconds: float = LOOK_SECONDS) -> Duty:

    def attend(connection: Connection[Any], _: int) -> bool:
        forget(connection)
        return False

    return Duty(lambda _: [INSTALLATION], attend, pause_seconds=seconds, name="cleanup")


def forget(connection: Connection[Any]) -> None:
    with connection.transaction():
        forget_codes(connection)
        connection.execute(queries["clients"])
