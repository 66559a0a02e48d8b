"""The presence of a cluster: all processes connect to its first node. Tests of a real one need
HEADWATER_TEST_CITUS_URL. On a single PostgreSQL, a table with the name of Citus' is a stand-in.
"""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.cluster import presence
from headwater.database.cluster.presence import BOUND_WAITING, require_first_node
from headwater.operations.supervision.preparation import prepare_beside
from headwater.operations.terminal.connection import refuse_unfinished
from tests.support.clusters import CLUSTER_URL

IS_CLUSTER = CLUSTER_URL is not None
on_cluster = pytest.mark.skipif(not IS_CLUSTER, reason="HEADWATER_TEST_CITUS_URL is not set")
on_single = pytest.mark.skipif(IS_CLUSTER, reason="on a single PostgreSQL")


def test_it_works(connection: psycopg.Connection, database_url: str) -> None:
    require_first_node(connection)
    refuse_unfinished(database_url)


@on_single
@pytest.mark.parametrize("group", [0, 2])
def test_another_node_than_the_first_is_refused(
    group: int, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "is_cluster", lambda _: True)
    connection.execute(f"CREATE TEMP TABLE pg_dist_local_group AS SELECT {group} AS groupid")
    if group == 0:
        require_first_node(connection)
        return
    with pytest.raises(Failure, match="HEADWATER_DATABASE_URL names a node of a cluster"):
        require_first_node(connection)


@on_cluster
def test_no_process_starts_on_another_node(connection: psycopg.Connection, database_url: str) -> None:
    ((host, port),) = connection.execute(
        "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeid LIMIT 1"
    ).fetchall()
    url = make_conninfo(**{**conninfo_to_dict(database_url), "host": host, "port": port})
    with pytest.raises(Failure, match="not its first"):
        refuse_unfinished(url)
    with pytest.raises(Failure, match="Use the first node"):
        prepare_beside(Settings(database_url=url))


@pytest.mark.parametrize("is_named", [True, False])
def test_only_sessions_of_a_cluster_are_impatient(is_named: bool, connection: psycopg.Connection) -> None:
    """On a single PostgreSQL, the operator's own setting applies."""
    if is_named:
        connection.execute("SET lock_timeout = '7s'")
    connection.execute(BOUND_WAITING)
    waits = connection.execute("SHOW lock_timeout").fetchall()[0][0]
    assert waits == ("50ms" if IS_CLUSTER else "7s" if is_named else "0")
