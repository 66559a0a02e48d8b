"""Refusals in the log: the first of each kind per minute, then their number. No addresses, and no flood of
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.http.refusal_log import MOST_KINDS, log_refusal, log_repeated
from tests.conftest import Running, client_for, run_application

ADDRESS = "203.0.113.77"


def select_lines(refusal_lines: list[Any], event: str, reason: str) -> list[Any]:
    return [line for line in refusal_lines if (line["event"], line.get("reason")) == (event, reason)]


def test_it_works(refusal_lines: list[Any]) -> None:
    for _ in range(5):
        log_refusal("key_expired", ADDRESS, space_id=1, key_id=2)
    log_refusal("key_expired", ADDRESS, space_id=1, key_id=3)
    log_refusal("key_expired", "203.0.113.78", space_id=2, key_id=2)
    first, other_key, other_address = refusal_lines
    assert first == {
        "event": "refused", "log_level": "warning", "reason": "key_expired", "space_id": 1, "key_id": 2,
        "client": first["client"],
    }  # fmt: skip
    assert other_key["client"] == first["client"] != other_address["client"]
    assert ADDRESS not in str(refusal_lines)
    refusal_lines.clear()
    log_repeated()
    assert refusal_lines == [{
        "event": "refused_again", "log_level": "warning", "reason": "key_expired", "space_id": 1, "key_id": 2,
        "count": 4,
    }]  # fmt: skip
    refusal_lines.clear()
    log_repeated()
    assert refusal_lines == []
    log_refusal("key_expired", ADDRESS, space_id=1, key_id=2)
    assert len(refusal_lines) == 1, "the next minute begins anew"


def test_an_attack_fills_no_disk(refusal_lines: list[Any]) -> None:
    for number in range(10_000):
        log_refusal("login_refused", f"10.0.{number % 250}.1", user_id=number)
    assert len(refusal_lines) == MOST_KINDS
    refusal_lines.clear()
    log_repeated()
    assert [(line["reason"], line["count"]) for line in refusal_lines] == [("others", 10_000 - MOST_KINDS)]


@pytest.fixture(scope="module")
def small_client(database_url: str) -> Iterator[Running]:
    running = run_application(Settings(), database_url)
    yield running
    running.stop()


def test_keys_and_limits(
    small_client: Running,
    refusal_lines: list[Any],
    space_id: int,
    make_key: Callable[..., str],
    connection: psycopg.Connection,
) -> None:
    key, reader = make_key(space_id), make_key(space_id, ["contacts:read"])
    with client_for(small_client, "trk_sk_unknown") as client:
        assert client.get("/events").status_code == 401
        assert client.post("/events/track", json={}).status_code == 401
    with client_for(small_client, reader) as client:
        assert client.get("/events").status_code == 403
        assert client.post("/events/track", json={}).status_code == 403
    assert httpx.get(f"{small_client.base_url}/public-api/v1/events").status_code == 401
    connection.execute("INSERT INTO space_limits VALUES (%s, 'track', 0)", (space_id,))
    with client_for(small_client, key) as client:
        assert client.post("/events/track", json={"event_name": "lead"}).status_code == 429
    (unknown,) = select_lines(refusal_lines, "refused", "key_unknown")
    assert "space_id" not in unknown
    (missing,) = select_lines(refusal_lines, "refused", "key_missing")
    assert missing["client"] == unknown["client"]
    (scope,) = select_lines(refusal_lines, "refused", "scope_missing")
    (reader_id,) = (
        connection.execute("SELECT max(id) FROM api_keys WHERE space_id = %s", [space_id]).fetchone() or ()
    )
    assert (scope["space_id"], scope["key_id"]) == (space_id, reader_id)
    (limit,) = select_lines(refusal_lines, "refused", "rate_limit")
    assert (limit["space_id"], limit["bucket"]) == (space_id, "track")
    assert "127.0.0.1" not in str(refusal_lines)
    refusal_lines.clear()
    log_repeated()
    assert {(line["reason"], line["count"]) for line in refusal_lines} >= {
        ("key_unknown", 1),
        ("scope_missing", 1),
    }
