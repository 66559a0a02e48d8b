"""Access to the API: keys, scopes, subscriptions."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import psycopg
import pytest

from tests.conftest import Running, client_for
from tests.support.waiting import wait_until

EVENT = {"event_name": "purchase", "email": "ada@example.com"}


def notify(connection: psycopg.Connection) -> None:
    connection.execute("NOTIFY headwater_access")


def test_it_works(client: httpx.Client) -> None:
    assert client.post("/events/track", json=EVENT).status_code == 202


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Basic abc", "Bearer trk_sk_unknown", "trk_sk_x", "Bearer é"]
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/events/track"), ("POST", "/events/batch"), ("GET", "/receipts/1")]
)
def test_missing_and_unknown_keys_are_401(
    server: Running, method: str, path: str, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header.encode()}
    response = httpx.request(
        method, f"{server.base_url}/public-api/v1{path}", headers=headers, content="not json"
    )
    assert response.status_code == 401
    assert response.json() == {"message": "Missing or invalid API key."}
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_missing_scope_is_named(server: Running, space_id: int, make_key: Callable[..., str]) -> None:
    with client_for(server, make_key(space_id, ["events:read"])) as reader:
        response = reader.post("/events/track", json=EVENT)
        assert response.status_code == 403
        assert "events:write" in response.json()["message"]
        assert reader.get("/receipts/1").status_code == 403


@pytest.fixture
def _long_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep cached keys for an hour, unless a change is announced."""
    monkeypatch.setattr("headwater.spaces.credential_cache.FRESH_SECONDS", 3600.0)


@pytest.mark.usefixtures("_long_cache")
def test_an_inactive_subscription_is_403(
    client: httpx.Client, connection: psycopg.Connection, space_id: int
) -> None:
    assert client.post("/events/track", json=EVENT).status_code == 202
    connection.execute("UPDATE spaces SET subscription = 'inactive' WHERE id = %s", (space_id,))
    notify(connection)
    wait_until(lambda: client.post("/events/track", json=EVENT).status_code == 403)
    assert client.get("/receipts/1").status_code == 403


@pytest.mark.usefixtures("_long_cache")
def test_revocation_is_prompt(client: httpx.Client, connection: psycopg.Connection, space_id: int) -> None:
    assert client.post("/events/track", json=EVENT).status_code == 202
    connection.execute("UPDATE api_keys SET revoked_at = now() WHERE space_id = %s", (space_id,))
    notify(connection)
    wait_until(lambda: client.post("/events/track", json=EVENT).status_code == 401)


def test_revocation_works_when_the_notice_is_lost(
    client: httpx.Client, connection: psycopg.Connection, space_id: int
) -> None:
    assert client.post("/events/track", json=EVENT).status_code == 202
    connection.execute("UPDATE api_keys SET revoked_at = now() WHERE space_id = %s", (space_id,))
    wait_until(lambda: client.post("/events/track", json=EVENT).status_code == 401)


def test_keys_are_only_kept_hashed(
    connection: psycopg.Connection, space_id: int, make_key: Callable[..., str]
) -> None:
    key = make_key(space_id)
    row = connection.execute("SELECT api_keys::text FROM api_keys WHERE space_id = %s", (space_id,))
    assert key not in str(row.fetchall())
