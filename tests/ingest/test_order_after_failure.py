"""Requests whose commit fails are still stored in their order of arrival: of two events of one order, the
earlier one counts.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from headwater.intake.inbox import inbox
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.inbox.inbox import Inbox, Request
from headwater.intake.ingest.endpoints import TRACKING
from headwater.people.identity.senders import Sender


def test_it_works(
    database_url: str, connection: psycopg.Connection, space_id: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    take, failures = inbox.take, [psycopg.OperationalError("The connection is lost.")]

    async def take_at_second_try(*arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return await take(*arguments)

    monkeypatch.setattr(inbox, "take", take_at_second_try)
    names = [f"event-{number}" for number in range(5)]

    async def put_all() -> None:
        queue = Inbox(database_url, TRACKING)
        rows = [NewRow("event", f'{{"event_name":"{name}"}}'.encode(), Sender.API_KEY) for name in names]
        requests = [Request(space_id, 1_000, 1, [row]) for row in rows]
        tasks = [asyncio.create_task(queue.put(request)) for request in requests]
        await asyncio.sleep(0)  # all are queued before the first commit
        queue.start()
        await asyncio.gather(*tasks)
        await queue.stop()

    asyncio.run(put_all())
    assert not failures
    query = "SELECT payload::json->>'event_name' FROM inbox WHERE space_id = %s ORDER BY id"
    rows = connection.execute(query, (space_id,)).fetchall()
    assert [name for (name,) in rows] == names
    connection.execute("DELETE FROM inbox WHERE space_id = %s", (space_id,))
