"""Moves of Spaces between the nodes of a cluster, while in use. Citus copies the rows, replicates later
writes, and blocks writes only during the switch.

    node 1                   split   node 2                     split   node 3
    │ a   b   huge   c   d │ ──────▶ │ a   b │ huge   c   d │ ────────▶ │ huge │ c   d │

Only a whole shard, a range of hashes, can move. So the Space's shard is split first: before its hash, and
then behind it, each time onto one node, because more parts and nodes block writes longer. No part stays on
the old node: Citus cannot follow changes while it prepares such a part, and the split would never end.

Each step is Citus' own transaction; another run continues after an interruption.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import psycopg
from psycopg import Connection

from headwater.base.failure import Failure
from headwater.database.cluster.presence import is_cluster, is_first_node
from headwater.database.cluster.tables import DISTRIBUTED
from headwater.database.queries import Queries

queries = Queries(__name__, "moves.sql")


class MoveRefusal(StrEnum):
    NO_CLUSTER = "no_cluster"
    NOT_FIRST_NODE = "not_first_node"
    NOT_DISTRIBUTED = "not_distributed"
    UNKNOWN_SPACE = "unknown_space"
    UNKNOWN_NODE = "unknown_node"
    NO_OTHER_NODE = "no_other_node"
    NO_KEY = "no_key"
    WAL_LEVEL = "wal_level"
    CITUS = "citus"


class MoveError(Failure):
    """The message has advice."""

    def __init__(self, reason: MoveRefusal, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Node(NamedTuple):
    id: int
    host: str
    port: int
    takes_spaces: bool

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class MoveStep(NamedTuple):
    step: str
    node: Node
    neighbors: int = 0
    """Other Spaces in its shard move with it."""


class _Place(NamedTuple):
    shard: int
    node_id: int
    first_hash: int
    hash: int
    last_hash: int

    def list_cuts(self) -> list[_Place]:
        """Return the ranges to split, in order, until the hash is alone."""
        cuts: list[_Place] = [self] if self.first_hash < self.hash else []
        if self.hash < self.last_hash:
            cuts.append(self._replace(first_hash=self.hash))
        return cuts


def plan_steps(
    connection: Connection[Any], space_id: int, address: tuple[str, int] | None = None
) -> list[MoveStep]:
    _require_first_node(connection)
    nodes = [Node._make(row) for row in connection.execute(queries["nodes"])]
    space_place = _fetch_place(connection, space_id)
    source_node = next(node for node in nodes if node.id == space_place.node_id)
    target = None if address is None else _find_node(nodes, address)
    steps: list[MoveStep] = []
    cuts, goal = space_place.list_cuts(), target or source_node
    for cut in cuts:
        source_node = _choose_node(nodes, source_node, goal, to_goal=cut is cuts[-1])
        values = {"space_id": space_id, **cut._asdict()}
        ((neighbors,),) = connection.execute(queries["neighbors"], values).fetchall()
        steps.append(MoveStep("split", source_node, neighbors))
    if target is not None and target != source_node:
        steps.append(MoveStep("move", target))
    if steps:
        _require_followed(connection)
    return steps


def _choose_node(nodes: list[Node], source_node: Node, goal: Node, *, to_goal: bool) -> Node:
    """Return the goal last, and another free node before."""
    other_nodes = [node for node in nodes if node.takes_spaces and node != source_node]
    if not other_nodes:
        raise MoveError(
            MoveRefusal.NO_OTHER_NODE,
            f"a shard is split onto another node than {source_node}, and none takes Spaces",
        )
    return next((node for node in other_nodes if (node == goal) == to_goal), other_nodes[0])


def take_step(connection: Connection[Any], space_id: int, step: MoveStep) -> None:
    """Take a planned step, which lasts as long as copying the rows. Raises MoveError if Citus refuses."""
    space_place = _fetch_place(connection, space_id)
    values: dict[str, Any] = {"shard": space_place.shard}
    if step.step == "split":
        # The last hash of the first part.
        before = space_place.first_hash < space_place.hash
        values |= {"point": space_place.hash - before, "node": step.node.id}
    else:
        values |= {"source": space_place.node_id, "target": step.node.id}
    try:
        connection.execute(queries[step.step], values)
    except psycopg.Error as error:
        if connection.closed:
            raise
        message = error.diag.message_primary
        raise MoveError(MoveRefusal.CITUS, f"Citus refuses to {step.step}: {message}") from None


def _require_first_node(connection: Connection[Any]) -> None:
    if not is_cluster(connection):
        raise MoveError(
            MoveRefusal.NO_CLUSTER, "the database is a single PostgreSQL, which has no other node for a Space"
        )
    if not is_first_node(connection):
        raise MoveError(
            MoveRefusal.NOT_FIRST_NODE, "only the first node moves Spaces: name it in HEADWATER_DATABASE_URL"
        )


def _fetch_place(connection: Connection[Any], space_id: int) -> _Place:
    if not connection.execute(queries["is_distributed"]).fetchall()[0][0]:
        raise MoveError(
            MoveRefusal.NOT_DISTRIBUTED,
            "the tables are not distributed yet: run `headwater distribute` first",
        )
    values = {"space_id": space_id}
    if not connection.execute(queries["exists"], values).fetchall():
        raise MoveError(MoveRefusal.UNKNOWN_SPACE, f"Space {space_id} not found")
    return _Place._make(connection.execute(queries["place"], values).fetchall()[0])


def _find_node(nodes: list[Node], address: tuple[str, int]) -> Node:
    takers = [node for node in nodes if node.takes_spaces]
    for node in takers:
        if (node.host, node.port) == address:
            return node
    host, port = address
    raise MoveError(
        MoveRefusal.UNKNOWN_NODE,
        f"{host}:{port} is no node that takes Spaces: there are {', '.join(map(str, takers))}",
    )


def _require_followed(connection: Connection[Any]) -> None:
    """Raise MoveError if Citus could not replicate writes during the copy: it would block or refuse them."""
    for node, level in connection.execute(queries["wal_levels"]).fetchall():
        if level != "logical":
            raise MoveError(
                MoveRefusal.WAL_LEVEL,
                f"wal_level of {node} is {level}: set it to logical there and start it again",
            )
    keyless = connection.execute(queries["keyless"], {"tables": list(DISTRIBUTED)}).fetchall()
    if keyless:
        names = ", ".join(name for (name,) in keyless)
        raise MoveError(
            MoveRefusal.NO_KEY, f"rows of {names} have no primary key or replica identity to follow them by"
        )
