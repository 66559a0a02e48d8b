"""The snapshot of a backup."""

from __future__ import annotations

from urllib.parse import quote

import psycopg
from psycopg.sql import SQL, Literal

from headwater.operations.backups.snapshot import take_snapshot
from tests.support.waiting import wait_until

OPTIONS = quote("-c application_name=snapshot_probe -c idle_in_transaction_session_timeout=200")
WAITS = """
SELECT count(*) FROM pg_stat_activity
WHERE application_name = 'snapshot_probe' AND clock_timestamp() - state_change < interval '300 ms'
"""
"""The snapshot's session, until it has idled for longer than the server allows, or has ended."""


def test_it_outlasts_the_server_s_time_limits(database_url: str, connection: psycopg.Connection) -> None:
    separator = "&" if "?" in database_url else "?"
    with (
        take_snapshot(f"{database_url}{separator}options={OPTIONS}") as snapshot,
        psycopg.connect(database_url) as reading_connection,
    ):
        wait_until(lambda: connection.execute(WAITS).fetchone() == (0,))
        reading_connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reading_connection.execute(SQL("SET TRANSACTION SNAPSHOT {}").format(Literal(snapshot.name)))
        row = reading_connection.execute("SELECT count(*) FROM spaces").fetchone()
        assert row == (snapshot.tables["spaces"],)
