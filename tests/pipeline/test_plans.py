"""Query plans of a worker's lookups: made once rather than for each batch, so they must suit tables that have
grown since.
"""

from __future__ import annotations

from psycopg.sql import SQL, Identifier

from headwater.database.jobs.connection import WorkerConnection, connect
from tests.support.pipeline import Accepted, event, new_stage

SINGLE, MANY = 300, 1_500
INDEXES = {
    "%known.idempotency_key = k.key%": "events_idempotency",
    "%Several contacts may have an address.%": "contact_identifiers_pkey",
}
"""The index of each lookup, by a part of its statement."""
PREPARED = "SELECT p.name, cardinality(p.parameter_types) FROM pg_prepared_statements p"


def order(number: int) -> Accepted:
    return event(email=f"{number}@shop.example", idempotency_key=f"order-{number}")


def read_plan(connection: WorkerConnection, lookup: str) -> str:
    """Return the connection's plan for a lookup."""
    query = f"{PREPARED} WHERE p.statement LIKE %s"
    row = connection.execute(query, (lookup,), prepare=False).fetchone()
    assert row is not None
    name, parameters = row
    nulls = SQL(", ").join([SQL("NULL")] * parameters)
    explain = SQL("EXPLAIN EXECUTE {} ({})").format(Identifier(name), nulls)
    return "\n".join(line for (line,) in connection.execute(explain, prepare=False))


def test_it_works(young_url: str) -> None:
    """Plans made for a few hundred single rows are replaced when many rows follow."""
    with connect(young_url) as worker:
        stage = new_stage(worker)
        for number in range(SINGLE):
            stage.put(order(number))
            stage.process()
        for batch in range(1, 4):
            stage.put(*(order(batch * MANY + number) for number in range(MANY)))
            stage.process()
        stage.put(order(0))
        stage.process()
        for lookup, index in INDEXES.items():
            assert index in read_plan(worker, lookup)
