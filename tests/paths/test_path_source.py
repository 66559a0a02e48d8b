"""Cached paths are identified by their database, with its address and number, and by their Space."""

from __future__ import annotations

import asyncio

import psycopg
from psycopg import AsyncConnection

from headwater.attribution.paths.cache import PathSource, fetch_source


def test_it_works(database_url: str, connection: psycopg.Connection) -> None:
    (number,) = connection.execute(
        "SELECT d.oid FROM pg_database d WHERE d.datname = current_database()"
    ).fetchone()

    async def fetch() -> list[PathSource]:
        async with (
            await AsyncConnection.connect(database_url) as first_connection,
            await AsyncConnection.connect(database_url) as second_connection,
        ):
            pairs = (
                (first_connection, 1),
                (first_connection, 1),
                (second_connection, 1),
                (first_connection, 2),
            )
            return [await fetch_source(*pair) for pair in pairs]

    first, second, other_connection_source, other_space_source = asyncio.run(fetch())
    assert (first.database, first.space_id) == (number, 1)
    assert first == second == other_connection_source
    assert first._replace(space_id=2) == other_space_source


def test_another_database_is_another_source(database_url: str) -> None:
    """Another database on the same server is another source, although the rest is equal."""

    async def fetch(name: str) -> PathSource:
        async with await AsyncConnection.connect(database_url, dbname=name) as connection:
            return await fetch_source(connection, 1)

    async def fetch_both() -> tuple[PathSource, PathSource]:
        name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
        return await fetch(str(name)), await fetch("postgres")

    own_source, other_source = asyncio.run(fetch_both())
    assert own_source.database != other_source.database
