"""Distributes a database over the nodes of a cluster, in one transaction. Run it again after a migration that
creates a table.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from headwater.base.failure import Failure
from headwater.database.cluster.presence import is_cluster
from headwater.database.cluster.tables import DISTRIBUTED, FIRST_NODE, QUEUES, REFERENCE
from headwater.database.migrator import LOCK
from headwater.database.queries import Queries

queries = Queries(__name__, "distribution.sql")


class DistributionRefusal(StrEnum):
    NO_CLUSTER = "no_cluster"
    NO_NODES = "no_nodes"
    OTHER_PLACE = "other_place"


class DistributionError(Failure):
    """The message has advice."""

    def __init__(self, reason: DistributionRefusal, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class PlaceKind(StrEnum):
    DISTRIBUTED = "distributed"
    REFERENCE = "reference"
    QUEUE = "first node, in transactions with others"
    """Known to the cluster."""
    FIRST_NODE = "first node"


PLACES = (
    dict.fromkeys(DISTRIBUTED, PlaceKind.DISTRIBUTED)
    | dict.fromkeys(REFERENCE, PlaceKind.REFERENCE)
    | dict.fromkeys(QUEUES, PlaceKind.QUEUE)
    | dict.fromkeys(FIRST_NODE, PlaceKind.FIRST_NODE)
)


class TablePlace(NamedTuple):
    """A table, its intended place, and whether it is there."""

    table: str
    place: PlaceKind
    is_placed: bool


def list_places(connection: Connection[Any]) -> list[TablePlace]:
    """Return every table with its place. Raises DistributionError without a cluster, and for a table in the
    wrong place.
    """
    if not is_cluster(connection):
        raise DistributionError(
            DistributionRefusal.NO_CLUSTER,
            "the database is a single PostgreSQL, where nothing needs to be distributed: for a "
            "cluster, create the extension citus on every node first",
        )
    current = {table: PlaceKind[kind] for table, kind in connection.execute(queries["placed"])}
    for table, table_place in current.items():
        if PLACES.get(table, table_place) not in (table_place, PlaceKind.QUEUE, PlaceKind.FIRST_NODE):
            raise DistributionError(
                DistributionRefusal.OTHER_PLACE,
                f"the table {table} has another place than Headwater gives it: undistribute_table "
                "takes it back",
            )
    return [
        TablePlace(table, table_place, current.get(table, PlaceKind.FIRST_NODE) is table_place)
        for table, table_place in PLACES.items()
    ]


def distribute(connection: Connection[Any]) -> list[TablePlace]:
    """Move every table to its place and return the moved ones. The connection is in autocommit. The tables
    are locked until all are moved. Raises DistributionError without other nodes.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        unplaced_tables = [
            table_place for table_place in list_places(connection) if not table_place.is_placed
        ]
        if not connection.execute(queries["nodes"]).fetchall()[0][0]:
            raise DistributionError(
                DistributionRefusal.NO_NODES,
                "the cluster has no node for Spaces: add one with citus_add_node",
            )
        connection.execute(queries["prepare"])
        table_values = {"tables": [table_place.table for table_place in unplaced_tables]}
        for (table,) in connection.execute(queries["unlogged"], table_values).fetchall():
            connection.execute(queries["log_changes"].format(table=Identifier(table)))
        triggers = connection.execute(queries["triggers"], table_values).fetchall()
        counted_tables = [Identifier(table) for (table,) in triggers]
        for table in counted_tables:
            connection.execute(queries["disable_triggers"].format(table=table))
        references = _drop_references(connection, [table_place.table for table_place in unplaced_tables])
        for table_place in unplaced_tables:
            _move(connection, table_place)
        for table in counted_tables:
            connection.execute(queries["enable_triggers"].format(table=table))
        for table, name, definition in references:
            names = {"table": Identifier(table), "name": Identifier(name)}
            statement = queries["add_reference"].format(definition=SQL(definition), **names)
            connection.execute(statement)
    return unplaced_tables


def _drop_references(connection: Connection[Any], tables: list[str]) -> list[tuple[Any, ...]]:
    references = connection.execute(queries["references"], {"tables": tables}).fetchall()
    for table, name, _ in references:
        names = {"table": Identifier(table), "name": Identifier(name)}
        connection.execute(queries["drop_reference"].format(**names))
    return references


def _move(connection: Connection[Any], table_place: TablePlace) -> None:
    if table_place.place is PlaceKind.REFERENCE:
        connection.execute(queries["copy"], {"table": table_place.table})
        return
    if table_place.place in (PlaceKind.QUEUE, PlaceKind.FIRST_NODE):
        connection.execute(queries["take_back"], {"table": table_place.table})
        if table_place.place is PlaceKind.QUEUE:
            connection.execute(queries["make_known"], {"table": table_place.table})
        return
    first = DISTRIBUTED[0]
    colocated_table = "none" if table_place.table == first else first
    connection.execute(queries["distribute"], {"table": table_place.table, "beside": colocated_table})
