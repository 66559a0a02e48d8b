"""The distribution of tables in a cluster. Tests of a real one need HEADWATER_TEST_CITUS_URL."""

from __future__ import annotations

import psycopg
import pytest

from headwater.cli import FAILED, main
from headwater.database.cluster.distribution import (
    DistributionError,
    DistributionRefusal,
    distribute,
    list_places,
)
from headwater.database.cluster.tables import FIRST_NODE, QUEUES
from tests.support.clusters import CLUSTER_URL

IS_CLUSTER = CLUSTER_URL is not None
NEVER_SPREAD = {"audit_entries"}
"""No version distributed it, and Citus can't undistribute a table with an identity column."""


@pytest.mark.skipif(not IS_CLUSTER, reason="HEADWATER_TEST_CITUS_URL is not set")
def test_it_works(connection: psycopg.Connection) -> None:
    places = list_places(connection)
    assert all(placement.is_placed for placement in places)
    assert {placement.table for placement in places if placement.place == "reference"} >= {"spaces", "sites"}
    assert distribute(connection) == []
    unlogged_tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relpersistence = 'u'"
    assert {table for (table,) in connection.execute(unlogged_tables)} <= set(FIRST_NODE)


@pytest.mark.skipif(not IS_CLUSTER, reason="HEADWATER_TEST_CITUS_URL is not set")
@pytest.mark.parametrize("table", sorted({*QUEUES, *FIRST_NODE} - NEVER_SPREAD))
def test_a_table_of_the_first_node_that_was_spread_is_taken_back(
    connection: psycopg.Connection, table: str
) -> None:
    """Earlier versions distributed it."""
    connection.execute("SELECT create_distributed_table(%s, 'space_id')", (table,))
    assert [placement.table for placement in list_places(connection) if not placement.is_placed] == [table]
    assert [placement.table for placement in distribute(connection)] == [table]
    assert all(placement.is_placed for placement in list_places(connection))


@pytest.mark.skipif(not IS_CLUSTER, reason="HEADWATER_TEST_CITUS_URL is not set")
def test_distributed_rows_are_counted_once(connection: psycopg.Connection, space_id: int) -> None:
    """The triggers that count visits wait until the visits are moved, and count later ones."""
    add = (
        "INSERT INTO visits (space_id, id, contact_id, started_at, last_hit_at, device)"
        " VALUES (%s, %s, 1, now(), now(), gen_random_uuid())"
    )
    connection.execute(add, (space_id, 1))
    connection.execute("SELECT undistribute_table('visits')")
    assert [placement.table for placement in distribute(connection)] == ["visits"]
    connection.execute(add, (space_id, 2))
    counts = connection.execute("SELECT sum(visits) FROM visit_counts WHERE space_id = %s", (space_id,))
    assert counts.fetchall() == [(2,)]


@pytest.mark.skipif(not IS_CLUSTER, reason="HEADWATER_TEST_CITUS_URL is not set")
def test_a_queue_and_a_node_are_written_together_or_not_at_all(
    connection: psycopg.Connection, space_id: int
) -> None:
    """They use two-phase commit, so that no crash between two commits leaves a row stored and still
    waiting.
    """
    commands = list[str]()
    connection.add_notice_handler(lambda notice: commands.append(notice.message_primary or ""))
    connection.execute("SET citus.log_remote_commands = on")
    try:
        with connection.transaction():
            connection.execute("DELETE FROM inbox WHERE space_id = %s", (space_id,))
            connection.execute("DELETE FROM duplicates WHERE space_id = %s", (space_id,))
    finally:
        connection.execute("RESET citus.log_remote_commands")
    assert any("PREPARE TRANSACTION" in command for command in commands)


@pytest.mark.skipif(IS_CLUSTER, reason="on a single PostgreSQL")
@pytest.mark.parametrize("work", [list_places, distribute])
def test_a_single_postgresql_is_refused(connection: psycopg.Connection, work: object) -> None:
    with pytest.raises(DistributionError) as error:
        work(connection)  # type: ignore[operator]
    assert error.value.reason is DistributionRefusal.NO_CLUSTER


@pytest.mark.skipif(IS_CLUSTER, reason="on a single PostgreSQL")
@pytest.mark.parametrize("option", ["--check", "--dry-run", "--json"])
def test_the_command_says_why(
    option: str, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    assert main(["distribute", option]) == FAILED
    assert "create the extension citus" in capsys.readouterr().err
