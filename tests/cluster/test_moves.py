"""Moves of Spaces between nodes. Tests of a real cluster need HEADWATER_TEST_CITUS_URL. On a single
PostgreSQL, planning uses stand-ins for Citus' tables and functions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from headwater.cli import FAILED, main
from headwater.database.cluster import moves
from headwater.database.cluster.moves import MoveError, MoveRefusal, MoveStep, Node, plan_steps, take_step
from headwater.database.cluster.tables import DISTRIBUTED
from tests.support.clusters import CLUSTER_URL
from tests.support.spaces import insert_space

IS_CLUSTER = CLUSTER_URL is not None
on_cluster = pytest.mark.skipif(not IS_CLUSTER, reason="HEADWATER_TEST_CITUS_URL is not set")
on_single = pytest.mark.skipif(IS_CLUSTER, reason="on a single PostgreSQL")

A, B, EMPTY = Node(2, "a", 5432, True), Node(3, "b", 5433, True), Node(4, "c", 5432, False)
STAND_IN = """
CREATE SCHEMA stand_in;
SET LOCAL search_path = public, stand_in;
CREATE TABLE stand_in.pg_dist_local_group AS SELECT 0 AS groupid;
CREATE TABLE stand_in.pg_dist_node AS
SELECT * FROM (VALUES (2, 1, 'a', 5432, true, true, 'primary'),
                      (3, 2, 'b', 5433, true, true, 'primary'),
                      (4, 3, 'c', 5432, false, true, 'primary'),
                      (5, 2, 'standby', 5432, true, true, 'secondary')) AS n
    (nodeid, groupid, nodename, nodeport, shouldhaveshards, isactive, noderole);
CREATE TABLE stand_in.pg_dist_partition AS
SELECT 'space_locks'::regclass AS logicalrelid, 'h' AS partmethod;
CREATE TABLE stand_in.pg_dist_shard (shardid bigint, shardminvalue text, shardmaxvalue text);
INSERT INTO stand_in.pg_dist_shard VALUES (101, '-9', '-1'), (102, '0', '0'), (103, '1', '9');
CREATE TABLE stand_in.pg_dist_placement AS
SELECT * FROM (VALUES (101, 1), (102, 2), (103, 3)) AS p (shardid, groupid);
CREATE TABLE stand_in.hashes (space_id bigint, hash integer);
CREATE FUNCTION stand_in.worker_hash(bigint) RETURNS integer LANGUAGE sql STABLE AS
'SELECT h.hash FROM stand_in.hashes h WHERE h.space_id = $1';
CREATE FUNCTION stand_in.get_shard_id_for_distribution_column(regclass, bigint) RETURNS bigint
LANGUAGE sql STABLE AS 'SELECT s.shardid FROM stand_in.pg_dist_shard s
    WHERE stand_in.worker_hash($2) BETWEEN s.shardminvalue::int AND s.shardmaxvalue::int';
CREATE TABLE stand_in.levels AS SELECT n.nodeid, 'logical' AS result FROM stand_in.pg_dist_node n;
CREATE FUNCTION stand_in.run_command_on_all_nodes(text) RETURNS SETOF stand_in.levels
LANGUAGE sql AS 'TABLE stand_in.levels';
"""


def place_space(connection: psycopg.Connection, hashed: int) -> int:
    """Insert a Space with this hash: 0 is isolated on b, lower ones are on a, higher ones on c."""
    space_id = insert_space(connection)
    connection.execute("INSERT INTO stand_in.hashes VALUES (%s, %s)", (space_id, hashed))
    return space_id


@pytest.fixture
def fake_cluster(
    connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> Iterator[psycopg.Connection]:
    """A connection to what looks like a cluster of nodes A, B and one that is being emptied."""
    if IS_CLUSTER:
        pytest.skip("on a single PostgreSQL")
    monkeypatch.setattr(moves, "is_cluster", lambda _: True)
    with connection.transaction(force_rollback=True):
        connection.execute(STAND_IN)
        yield connection


def refusal(connection: psycopg.Connection, space_id: int, *address: str | int) -> MoveError:
    with pytest.raises(MoveError) as error:
        plan_steps(connection, space_id, address or None)  # type: ignore[arg-type]
    return error.value


@on_cluster
def test_it_works(connection: psycopg.Connection, space_id: int) -> None:
    """A Space moves to every node and back, with its rows."""
    connection.execute(
        "INSERT INTO clicks (space_id, click, device, first_seen_at)"
        " VALUES (%s, gen_random_uuid(), gen_random_uuid(), now())",
        (space_id,),
    )
    ((shard_node,),) = connection.execute(
        "SELECT p.nodeport FROM pg_dist_shard_placement p WHERE p.shardid ="
        " get_shard_id_for_distribution_column('clicks', %s::bigint)",
        (space_id,),
    ).fetchall()
    first, last = plan_steps(connection, space_id)
    assert first.step == last.step == "split"
    assert first.node.port != shard_node == last.node.port
    ports = [
        (host, port)
        for host, port in connection.execute(
            "SELECT nodename, nodeport FROM pg_dist_node WHERE shouldhaveshards ORDER BY nodeid"
        )
    ]
    for address in [*ports, ports[0]]:
        for step in plan_steps(connection, space_id, address):
            take_step(connection, space_id, step)
        assert plan_steps(connection, space_id, address) == []
        assert plan_steps(connection, space_id) == []
        cursor = connection.execute("SELECT count(*) FROM clicks WHERE space_id = %s", (space_id,))
        assert cursor.fetchall() == [(1,)]


@on_cluster
def test_citus_itself_refuses(connection: psycopg.Connection, space_id: int) -> None:
    with pytest.raises(MoveError, match="Citus refuses to move") as error:
        take_step(connection, space_id, MoveStep("move", Node(0, "nowhere", 1, True)))
    assert error.value.reason is MoveRefusal.CITUS


@on_cluster
def test_another_node_than_the_first_refuses(
    connection: psycopg.Connection, database_url: str, space_id: int
) -> None:
    ((host, port),) = connection.execute(
        "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeid LIMIT 1"
    ).fetchall()
    parts = {**conninfo_to_dict(database_url), "host": host, "port": port}
    with psycopg.connect(**parts, autocommit=True) as node:
        assert refusal(node, space_id).reason is MoveRefusal.NOT_FIRST_NODE


def test_steps_are_those_that_are_left(fake_cluster: psycopg.Connection) -> None:
    shared_id, beside_id, first, isolated_id = (
        place_space(fake_cluster, hash_number) for hash_number in (-3, -4, -9, 0)
    )
    onto_b, split_back = MoveStep("split", B, 2), MoveStep("split", A, 0)
    assert plan_steps(fake_cluster, shared_id) == [onto_b, split_back]
    assert plan_steps(fake_cluster, shared_id, ("a", 5432)) == [onto_b, split_back]
    assert plan_steps(fake_cluster, shared_id, ("b", 5433)) == [onto_b, split_back, MoveStep("move", B)]
    assert plan_steps(fake_cluster, beside_id, ("b", 5433)) == [
        onto_b, MoveStep("split", A, 1), MoveStep("move", B)
    ]  # fmt: skip
    assert plan_steps(fake_cluster, first) == [onto_b]
    assert plan_steps(fake_cluster, first, ("a", 5432)) == [onto_b, MoveStep("move", A)]
    assert plan_steps(fake_cluster, isolated_id) == []
    assert plan_steps(fake_cluster, isolated_id, ("b", 5433)) == []
    assert plan_steps(fake_cluster, isolated_id, ("a", 5432)) == [MoveStep("move", A)]


def test_a_space_leaves_a_node_that_is_to_be_empty(fake_cluster: psycopg.Connection) -> None:
    """It goes through the node that isn't its target."""
    space_id, last = place_space(fake_cluster, 5), place_space(fake_cluster, 9)
    onto_a, onto_b = (MoveStep("split", node, 1) for node in (A, B))
    assert plan_steps(fake_cluster, space_id, ("a", 5432)) == [onto_b, onto_a]
    assert plan_steps(fake_cluster, space_id, ("b", 5433)) == [onto_a, onto_b]
    assert plan_steps(fake_cluster, last, ("b", 5433)) == [onto_b]


def test_refusals(fake_cluster: psycopg.Connection) -> None:
    space_id = place_space(fake_cluster, 0)
    for address in (("c", 5432), ("b", 5432), ("standby", 5432)):
        error = refusal(fake_cluster, space_id, *address)
        assert error.reason is MoveRefusal.UNKNOWN_NODE
        assert "there are a:5432, b:5433" in str(error)
    assert refusal(fake_cluster, 2**60).reason is MoveRefusal.UNKNOWN_SPACE
    with fake_cluster.transaction(force_rollback=True):
        fake_cluster.execute("UPDATE stand_in.levels SET result = 'replica' WHERE nodeid = 3")
        error = refusal(fake_cluster, space_id, "a", 5432)
        assert error.reason is MoveRefusal.WAL_LEVEL
        assert str(error).startswith("wal_level of b:5433 is replica")
    with fake_cluster.transaction(force_rollback=True):
        fake_cluster.execute("ALTER TABLE alert_steps REPLICA IDENTITY NOTHING")
        error = refusal(fake_cluster, space_id, "a", 5432)
        assert error.reason is MoveRefusal.NO_KEY
        assert "rows of alert_steps have" in str(error)
    with fake_cluster.transaction(force_rollback=True):
        fake_cluster.execute("UPDATE stand_in.pg_dist_local_group SET groupid = 2")
        assert refusal(fake_cluster, space_id).reason is MoveRefusal.NOT_FIRST_NODE
    with fake_cluster.transaction(force_rollback=True):
        fake_cluster.execute("UPDATE stand_in.pg_dist_node SET isactive = false WHERE nodeid = 3")
        only_id = place_space(fake_cluster, -3)
        assert refusal(fake_cluster, only_id).reason is MoveRefusal.NO_OTHER_NODE
    fake_cluster.execute("DELETE FROM stand_in.pg_dist_partition")
    assert refusal(fake_cluster, space_id).reason is MoveRefusal.NOT_DISTRIBUTED


def test_every_distributed_table_can_be_followed(connection: psycopg.Connection) -> None:
    """A table without a key would prevent all moves."""
    keyless = connection.execute(moves.queries["keyless"], {"tables": list(DISTRIBUTED)})
    assert keyless.fetchall() == []


@on_single
@pytest.mark.parametrize("command", [["isolate"], ["move", "--node", "a"]])
def test_a_single_postgresql_is_refused(
    command: list[str], database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    assert main(["space", *command, "--space", "1", "--dry-run", "--json"]) == FAILED
    assert "the database is a single PostgreSQL" in capsys.readouterr().err


@on_cluster
def test_the_command_prints_the_steps(
    database_url: str, space_id: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    printed_steps = []
    for options in (["--dry-run"], [], []):
        assert main(["space", "isolate", "--space", str(space_id), "--json", *options]) == 0
        printed_steps.append([row["step"] for row in json.loads(capsys.readouterr().out)])
    assert printed_steps == [["split", "split"], ["split", "split"], []]
