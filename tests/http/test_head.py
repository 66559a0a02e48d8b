"""HEAD answers like GET, without the body."""

from __future__ import annotations

import httpx
import pytest

from tests.support.reading_fixtures import RANGE


@pytest.mark.parametrize("path", ["/events", "/contacts", "/companies", "/openapi.json"])
def test_it_works(client: httpx.Client, path: str) -> None:
    get_answer, head_answer = client.get(path, params=RANGE), client.head(path, params=RANGE)
    assert (head_answer.status_code, head_answer.content) == (200, b"")
    for name in ("content-length", "content-type", "x-ratelimit-limit"):
        assert head_answer.headers.get(name) == get_answer.headers.get(name)


def test_one_resource_and_one_that_is_not_there(client: httpx.Client) -> None:
    contact_id = client.post("/contacts", json={"emails": ["ada@example.com"]}).json()["id"]
    assert client.head(f"/contacts/{contact_id}").status_code == 200
    missing = client.head(f"/contacts/{contact_id + 1_000_000}")
    assert (missing.status_code, missing.content) == (404, b"")


def test_it_counts_like_get(client: httpx.Client) -> None:
    allowances = [
        int(client.request(method, "/events", params=RANGE).headers["x-ratelimit-remaining"])
        for method in ("GET", "HEAD", "GET")
    ]
    assert [allowances[0] - allowance for allowance in allowances] == [0, 1, 2]


def test_where_there_is_no_get_there_is_none(client: httpx.Client) -> None:
    refusal = client.head("/events/track")
    assert (refusal.status_code, refusal.headers["allow"], refusal.content) == (405, "POST", b"")
