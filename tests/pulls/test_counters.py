"""What pulls count for /metrics: pulls by outcome, calls by answer, and rows."""

from __future__ import annotations

from prometheus_client import REGISTRY

from tests.pulls.books import Books, fill
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import FakePlatform, Silence

SETTINGS = {"ad_account_id": "1234567890"}


def read(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"headwater_spend_{name}_total", {"platform": "meta", **labels}) or 0


def count(pulls: Pulls, name: str, token: str = TOKEN, **labels: str) -> float:
    """Return by how much a pull of a new connection raises a counter."""
    before = read(name, **labels)
    pulls.connect("meta", SETTINGS, {"access_token": token})
    pulls.pull()
    return read(name, **labels) - before


def test_it_works(pulls: Pulls) -> None:
    with FakePlatform(default=PretendMeta(fill(Books(), TODAY))) as platform:
        pulls.urls["meta"] = platform.url
        rows_before = read("pulled_rows")
        assert count(pulls, "pulls", outcome="complete") == 1
        assert read("pulled_rows") - rows_before == len(pulls.rows()) > 0
        calls_before = len(platform.requests)
        assert count(pulls, "calls", answer="2xx") == len(platform.requests) - calls_before > 0


def test_a_refused_token(pulls: Pulls) -> None:
    with FakePlatform(default=PretendMeta(Books())) as platform:
        pulls.urls["meta"] = platform.url
        assert count(pulls, "pulls", token="another", outcome="token") == 1
        assert count(pulls, "calls", token="another", answer="4xx") == 1


def test_no_answer(pulls: Pulls) -> None:
    with FakePlatform(default=Silence()) as platform:
        pulls.urls["meta"] = platform.url
    assert count(pulls, "calls", answer="none") > 0
