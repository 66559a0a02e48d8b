"""Spaces of which nothing can be stored for the moment do not keep others from being stored. On a
single PostgreSQL they wait for rows, where those of a cluster wait for shards: a session waits as
long for either.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.errors import ConnectionFailure

from headwater.http.errors import Unavailable
from headwater.inbox import inbox
from headwater.inbox.held_spaces import HOLD_SECONDS, HeldSpaces
from headwater.inbox.inbox import Inbox, Request
from headwater.ingest.endpoints import TRACKING
from tests.support.waiting import PATIENCE_SECONDS

IS_CLUSTER = "HEADWATER_TEST_CITUS_URL" in os.environ
SHARD = "SELECT get_shard_id_for_distribution_column('inbox', %s::bigint)"
LOCK = (
    f"SELECT lock_shard_metadata(7, ARRAY[({SHARD})])"
    if IS_CLUSTER
    else "SELECT FROM rate_limits WHERE space_id = %s FOR UPDATE"
)
ROWS = "SELECT id FROM inbox WHERE space_id = %s ORDER BY id"
USED = "SELECT used FROM rate_limits WHERE space_id = %s"


@pytest.fixture
def impatient(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database that the inbox takes for a cluster, in which no statement waits for long."""

    async def yes(_: object) -> bool:
        return True

    monkeypatch.setattr(inbox, "leads_to_cluster", yes)
    return make_conninfo(database_url, options="-c lock_timeout=50ms")


def shares_shard(connection: psycopg.Connection, spaces: tuple[int, int]) -> bool:
    shards = {connection.execute(SHARD, (one,)).fetchall()[0] for one in spaces if IS_CLUSTER}
    return len(shards) == 1


def one(space_id: int) -> Request:
    return Request(space_id=space_id, limit=100, cost=1, rows=[b"{}"])


async def store(queue: Inbox, space_id: int) -> int:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return (await queue.put(one(space_id))).receipts[0]


def run(url: str, work: Callable[[Inbox], object]) -> None:
    async def main() -> None:
        queue = Inbox(url, TRACKING)
        queue.start()
        try:
            await work(queue)  # type: ignore[misc]
        finally:
            await queue.stop()

    asyncio.run(main())


def test_it_works(
    impatient: str, connection: psycopg.Connection, make_space: Callable[[], int]
) -> None:
    """Others are stored while one is held, and that one once it can be. All count once."""
    held, *made = (make_space() for _ in range(9))
    others = [other for other in made if not shares_shard(connection, (other, held))][:4]

    async def work(queue: Inbox) -> None:
        for space_id in (*others, held):
            await store(queue, space_id)
        with connection.transaction():
            connection.execute(LOCK, (held,))
            waiting = asyncio.ensure_future(store(queue, held))
            for _ in range(3):
                await asyncio.gather(*(store(queue, space_id) for space_id in others))
            assert not waiting.done()
        receipt = await waiting
        assert connection.execute(ROWS, (held,)).fetchall()[-1] == (receipt,)
        await asyncio.gather(*(store(queue, space_id) for space_id in (*others, held)))

    run(impatient, work)
    for space_id, count in (*((other, 5) for other in others), (held, 3)):
        assert len(connection.execute(ROWS, (space_id,)).fetchall()) == count
        assert connection.execute(USED, (space_id,)).fetchall() == [(count,)]


def test_a_space_whose_node_is_away_is_refused_alone(
    impatient: str, make_space: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    other, away = make_space(), make_space()

    insert = inbox._insert

    async def reach(connection: object, group: list[Request], **options: bool) -> None:
        if away in {request.space_id for request in group}:
            raise ConnectionFailure
        await insert(connection, group, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(inbox, "_insert", reach)
    monkeypatch.setattr(inbox, "WAIT_SECONDS", 2 * HOLD_SECONDS)

    async def work(queue: Inbox) -> None:
        refused, stored = await asyncio.gather(
            store(queue, away), store(queue, other), return_exceptions=True
        )
        assert isinstance(refused, Unavailable)
        assert isinstance(stored, int)

    run(impatient, work)


def test_rows_that_were_counted_are_not_counted_again(
    impatient: str, connection: psycopg.Connection, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The minute is counted before the rows are stored, and either may have to wait."""
    insert, failures = inbox._insert, [psycopg.errors.LockNotAvailable()]

    async def fail_first(*arguments: object, **options: bool) -> None:
        if failures:
            raise failures.pop()
        await insert(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(inbox, "_insert", fail_first)

    async def work(queue: Inbox) -> None:
        await store(queue, space_id)

    run(impatient, work)
    assert len(connection.execute(ROWS, (space_id,)).fetchall()) == 1
    assert connection.execute(USED, (space_id,)).fetchall() == [(1,)]


def test_spaces_that_failed_together_are_tried_alone() -> None:
    now = [0.0]
    held = HeldSpaces(lambda: now[0])
    assert not held

    def next_of(*waiting: int) -> list[int]:
        return list(filter(held.choose(waiting), waiting))

    held.note_failure({1, 2})
    assert next_of(3, 2, 1, 2) == [2, 2]
    held.note_success({2})
    assert next_of(3, 2, 1) == [1]
    held.note_failure({1})
    assert next_of(3, 2, 1) == [3, 2]
    assert next_of(1) == []
    now[0] += HOLD_SECONDS
    assert next_of(3, 2, 1) == [1]
    assert next_of(3, 2) == [3, 2]
    held.note_success({1})
    assert not held
