"""Several accounts of a Space are pulled at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.spend.connections import pull
from tests.pulls.books import Books, fill
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import FakePlatform

ACCOUNTS = 5


def test_it_works(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their reports are fetched concurrently, but stored one at a time."""
    store_rows, store_count, running = pull.store_rows, 0, 0

    async def store(*rows: Any) -> int:
        nonlocal store_count, running
        store_count, running = store_count + 1, running + 1
        assert running == 1
        number = await store_rows(*rows)
        running -= 1
        return number

    monkeypatch.setattr(pull, "store_rows", store)
    books = fill(Books(), TODAY)
    with FakePlatform(default=PretendMeta(books)) as platform:
        pulls.urls["meta"] = platform.url
        rows = [
            pulls.connect("meta", {"ad_account_id": "1234567890"}, {"access_token": TOKEN})
            for _ in range(ACCOUNTS)
        ]
        pulls.pull()
    assert store_count >= ACCOUNTS
    assert [pulls.state(row).history_share for row in rows] == [1.0] * ACCOUNTS
