"""When a new Space is checked for the first time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg

from headwater.alerts.watches import queries

ALL = 1_000_000


def test_it_works(connection: psycopg.Connection, space_id: int) -> None:
    """It isn't checked during set-up: there is no earlier data to compare with."""

    def is_due(delay: timedelta) -> bool:
        values = {"now": datetime.now(UTC) + delay, "most": ALL}
        return (space_id,) in connection.execute(queries["due"], values).fetchall()

    assert not is_due(timedelta(seconds=1))
    assert is_due(timedelta(minutes=2))
