"""A refusal for the rate limit doesn't outlive its attempt: otherwise an event could be stored although its
sender was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest

from headwater.http.rate_limits import Quota, QuotaRequest
from headwater.intake.inbox import inbox
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.inbox.inbox import Inbox, Request
from headwater.intake.ingest.endpoints import TRACKING
from headwater.people.identity.senders import Sender


def test_refused_then_put_back_then_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    grants = iter((1, 9))

    async def take(_: Any, __: str, demands: Iterable[QuotaRequest]) -> dict[int, Quota]:
        grant = next(grants)
        return {demand.space_id: Quota(9, grant, 0, 60, 60) for demand in demands}

    async def give_back(*_: Any) -> None:
        if fails.pop():
            raise psycopg.OperationalError

    async def attempt(group: list[Request]) -> list[Request]:
        return await Inbox("", TRACKING)._admit(None, group)  # type: ignore[arg-type] # unused

    fails = [False, True]
    monkeypatch.setattr(inbox, "take", take)
    monkeypatch.setattr(inbox, "give_back", give_back)
    group = [Request(space_id=1, limit=9, cost=2, rows=[NewRow("event", b"{}", Sender.API_KEY)])]
    with pytest.raises(psycopg.OperationalError):
        asyncio.run(attempt(group))
    assert group[0].failure is not None
    assert asyncio.run(attempt(group)) == group
    assert group[0].failure is None
