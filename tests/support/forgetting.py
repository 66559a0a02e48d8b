"""A planted fault: a statement that forgets to filter by Space."""

from __future__ import annotations

import re

import pytest
from psycopg.sql import SQL

from headwater.database import row_security
from headwater.database.pool import PooledConnection
from headwater.database.queries import Queries
from tests.support.clusters import CLUSTER_URL, NO_WALL


def forget_space(patch: pytest.MonkeyPatch, queries: Queries, name: str) -> None:
    """Make a statement read the rows of every Space. Skipped on a cluster, where the rows would show."""
    if CLUSTER_URL is not None:
        pytest.skip(NO_WALL)
    text = queries[name].as_string()
    faulty = re.sub(r"space_id = %\(space_id\)s", "space_id <> -%(space_id)s", text)
    assert faulty != text
    patch.setitem(queries._statements, name, SQL(faulty))  # type: ignore[arg-type]


def take_away_second_wall(patch: pytest.MonkeyPatch) -> None:
    """Stop confining the sessions of API processes."""

    async def release(connection: PooledConnection, _: int | None) -> None:
        connection._is_known = False
        await connection.execute(row_security.queries["release"])

    patch.setattr(PooledConnection, "confine", release)
