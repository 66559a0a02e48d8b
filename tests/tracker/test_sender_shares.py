"""How much one sender of reports may use: a share of the Space's limit per minute. Refused items use up
nothing.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from headwater.http.errors import RateLimited
from headwater.intake.tracker import shares
from headwater.intake.tracker.browser_reports import MAX_ITEMS
from headwater.intake.tracker.shares import Shares
from tests.support.sites import BROWSER, Site, page


def report(site: Site, sender: str, items: list[Any]) -> httpx.Response:
    """Send a report from another address of this machine."""
    transport = httpx.HTTPTransport(local_address=sender)
    body = json.dumps({"site": site.key, "items": items, "token": "tok-1"})
    with httpx.Client(transport=transport, timeout=20) as client:
        return client.post(f"{site.base_url}/t", content=body, headers=BROWSER)


def test_it_works(site: Site) -> None:
    site.connection.execute(
        "UPDATE space_limits SET per_minute = 1 WHERE space_id = %s AND bucket = 'hits'", (site.space_id,)
    )  # a thousand: the test server multiplies limits by 1000
    bad = [page(url="x")] * MAX_ITEMS
    answers = [report(site, "127.0.0.2", bad) for _ in range(7)]
    assert {answer.status_code for answer in answers} == {422, 429}
    refusal = next(answer for answer in answers if answer.status_code == 429)
    assert 1 <= int(refusal.headers["retry-after"]) <= 60
    other_answer = report(site, "127.0.0.3", [page()])
    assert other_answer.status_code == 202
    assert other_answer.headers["x-ratelimit-remaining"] == "999", "what was refused is not charged"


def test_a_share_is_a_tenth() -> None:
    sender_shares = Shares()
    sender_shares.take(1, "a", 100, 1000, 0.0)
    with pytest.raises(RateLimited):
        sender_shares.take(1, "a", 1, 1000, 59.0)
    sender_shares.take(1, "b", 100, 1000, 59.0)
    sender_shares.take(2, "a", 100, 1000, 59.0)
    sender_shares.take(1, "a", 100, 1000, 60.0)


def test_a_whole_report_always_fits() -> None:
    Shares().take(1, "a", MAX_ITEMS, 3, 0.0)


def test_many_senders_cost_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "MOST_SENDERS", 2)
    sender_shares = Shares()
    for sender in "ab":
        sender_shares.take(1, sender, 1, 1000, 0.0)
    sender_shares.take(1, "c", 100, 1000, 0.0)
    with pytest.raises(RateLimited):
        sender_shares.take(1, "d", 1, 1000, 0.0)
