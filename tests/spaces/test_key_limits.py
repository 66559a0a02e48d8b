"""Keys with an end, replaced keys, and keys that work only from some addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import httpx
import psycopg
import pytest

from headwater.database.pool import Database
from headwater.http.errors import Conflict, Invalid, NotFound, Unauthorized
from headwater.spaces import access
from headwater.spaces.access import Caller, KeyCache
from headwater.spaces.key_limits import read_addresses, read_lifetime, read_overlap
from headwater.spaces.keys import ApiKey, KeyLimits, create_key, list_keys, restrict_key, rotate_key
from tests.conftest import Running, client_for
from tests.support.accounts import Accounts
from tests.support.waiting import wait_until

EVENT = {"event_name": "purchase", "email": "ada@example.com"}
HOUR = timedelta(hours=1)


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


@pytest.fixture
def make(accounts: Accounts, space_id: int) -> Callable[..., tuple[str, ApiKey]]:
    """A function that makes a key with limits."""

    def make(**limits: Any) -> tuple[str, ApiKey]:
        return accounts.run(lambda c: create_key(c, space_id, "shop", limits=KeyLimits(**limits)))

    return make


def status(server: Running, key: str) -> int:
    with client_for(server, key) as client:
        return client.get("/receipts/1").status_code


def end_now(connection: psycopg.Connection, key: ApiKey) -> None:
    connection.execute("UPDATE api_keys SET expires_at = now() WHERE id = %s", (key.id,))


def ask(database_url: str, key: str, *requests: Any, trusted_proxies: str = "127.0.0.0/8") -> list[Caller]:
    """Return the callers of some requests, all answered by one cache."""

    async def main() -> list[Caller]:
        async with Database(database_url, size=1) as database:
            keys = KeyCache(database, 1.0, (ip_network(trusted_proxies),))
            callers = [await keys.caller(f"Bearer {key}".encode(), request) for request in requests]
            await keys.uses.stop()
            return callers

    return asyncio.run(main())


def request(client: str | None, forwarded: str | None = None) -> dict[str, Any]:
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    return {"client": client and (client, 1), "headers": headers}


def test_it_works(server: Running, accounts: Accounts, space_id: int, make: Callable[..., Any]) -> None:
    key, stored_key = make(lifetime=24 * HOUR, addresses=["127.0.0.0/8"])
    assert stored_key.expires_at - stored_key.created_at == 24 * HOUR
    assert status(server, key) == 404
    new, successor, ends_at = accounts.run(lambda c: rotate_key(c, space_id, stored_key.id, HOUR))
    assert (status(server, key), status(server, new)) == (404, 404)
    old, current = accounts.run(lambda c: list_keys(c, space_id))
    assert (old.expires_at, old.replaced_by) == (ends_at, current.id)
    assert timedelta(0) < ends_at - stored_key.created_at - HOUR < timedelta(minutes=1)
    assert replace(current, last_used_at=None) == successor
    assert (current.name, current.scopes, current.addresses) == (old.name, old.scopes, old.addresses)
    assert current.expires_at is not None
    assert current.expires_at - current.created_at == 24 * HOUR, "as long as the old one's"


class TestExpiry:
    def test_at_the_boundary(
        self, database_url: str, make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The key ends to the microsecond, even if the cache looked it up long before."""
        key, stored_key = make(lifetime=HOUR)
        end = stored_key.expires_at.timestamp()
        monkeypatch.setattr("headwater.spaces.credential_cache.FRESH_SECONDS", 10_000.0)
        moments = [end - 1e-6, end]
        monkeypatch.setattr(access, "time", SimpleNamespace(time=lambda: moments.pop(0)))
        (caller,) = ask(database_url, key, request("127.0.0.1"))
        assert caller.key_id == stored_key.id
        with pytest.raises(Unauthorized, match="has expired"):
            ask(database_url, key, request("127.0.0.1"))
        moments += [end - 1e-6, end]
        with pytest.raises(Unauthorized):
            ask(database_url, key, request("127.0.0.1"), request("127.0.0.1"))
        assert not moments, "the same cache accepted it once"

    def test_an_expired_key_is_401_everywhere(
        self, server: Running, connection: psycopg.Connection, make: Callable[..., Any]
    ) -> None:
        key, stored_key = make(lifetime=HOUR)
        end_now(connection, stored_key)
        with client_for(server, key) as client:
            for response in (client.get("/receipts/1"), client.post("/events/track", json=EVENT)):
                assert response.status_code == 401
                assert response.json() == {"message": "The API key has expired."}
                assert response.headers["www-authenticate"] == "Bearer"
        segment = httpx.post(f"{server.base_url}/segment/v1/track", json={"userId": "1"}, auth=(key, ""))
        assert segment.status_code == 401

    def test_a_refused_key_is_not_used(
        self, connection: psycopg.Connection, make: Callable[..., Any], database_url: str
    ) -> None:
        key, stored_key = make(lifetime=HOUR, addresses=["10.0.0.0/8"])
        ask(database_url, key, request("127.0.0.1"))
        end_now(connection, stored_key)
        with pytest.raises(Unauthorized):
            ask(database_url, key, request("10.0.0.1"))
        cursor = connection.execute("SELECT last_used_at FROM api_keys WHERE id = %s", (stored_key.id,))
        assert cursor.fetchone() == (None,)

    @pytest.mark.parametrize("text", ["0h", "90", "-1d", "3651d", "1w", "\uff19d", "1h1d", "1.5h", "never"])
    def test_bad_lifetimes_are_refused(self, text: str) -> None:
        with pytest.raises(Invalid, match="The expires must be hours or days"):
            read_lifetime(text)

    def test_valid_lifetimes_are_accepted(self) -> None:
        assert [read_lifetime(text) for text in ("", " ", "1h", " 3650d ")] == [
            None, None, HOUR, timedelta(days=3650),
        ]  # fmt: skip


class TestRotation:
    def test_the_old_key_ends_after_the_overlap(
        self, server: Running, connection: psycopg.Connection, accounts: Accounts, space_id: int,
        make: Callable[..., Any],
    ) -> None:  # fmt: skip
        key, stored_key = make()
        new, _, ends_at = accounts.run(lambda c: rotate_key(c, space_id, stored_key.id, HOUR))
        assert (status(server, key), status(server, new)) == (404, 404)
        connection.execute(
            "UPDATE api_keys SET expires_at = %s WHERE id = %s", (ends_at - HOUR, stored_key.id)
        )
        connection.execute("NOTIFY headwater_access")
        wait_until(lambda: status(server, key) == 401)
        assert status(server, new) == 404

    def test_without_an_overlap_it_ends_at_once(
        self, server: Running, accounts: Accounts, space_id: int, make: Callable[..., Any]
    ) -> None:
        key, stored_key = make()
        assert status(server, key) == 404
        new, successor, _ = accounts.run(lambda c: rotate_key(c, space_id, stored_key.id, timedelta(0)))
        wait_until(lambda: status(server, key) == 401)
        assert status(server, new) == 404
        assert successor.expires_at is None

    def test_an_overlap_does_not_prolong_a_key(
        self, accounts: Accounts, space_id: int, make: Callable[..., Any]
    ) -> None:
        _, stored_key = make(lifetime=HOUR)
        *_, ends_at = accounts.run(lambda c: rotate_key(c, space_id, stored_key.id, 5 * HOUR))
        assert ends_at == stored_key.expires_at

    def test_what_has_ended_or_was_rotated_is_not(
        self, connection: psycopg.Connection, accounts: Accounts, space_id: int, make: Callable[..., Any]
    ) -> None:
        _, stored_key = make()
        accounts.run(lambda c: rotate_key(c, space_id, stored_key.id, HOUR))
        with pytest.raises(Conflict, match="already replaced by the key"):
            accounts.run(lambda c: rotate_key(c, space_id, stored_key.id, HOUR))
        for column in ("expires_at", "revoked_at"):
            _, ended_key = make()
            connection.execute(f"UPDATE api_keys SET {column} = now() WHERE id = %s", (ended_key.id,))
            with pytest.raises(Conflict, match="Create a new one"):
                accounts.run(lambda c, ended=ended_key: rotate_key(c, space_id, ended.id, HOUR))

    def test_two_rotations_at_once_make_one_key(
        self, accounts: Accounts, space_id: int, make: Callable[..., Any]
    ) -> None:
        _, stored_key = make()
        rotations = [lambda c: rotate_key(c, space_id, stored_key.id, HOUR)] * 2
        results = accounts.run_together(rotations)
        assert [type(result) for result in results].count(Conflict) == 1
        assert len(accounts.run(lambda c: list_keys(c, space_id))) == 2

    def test_of_another_space(
        self, accounts: Accounts, make_space: Callable[..., int], make: Callable[..., Any]
    ) -> None:
        _, stored_key = make()
        other_space_id = make_space()
        for change in (rotate_key, restrict_key):
            with pytest.raises(NotFound, match="API key"):
                accounts.run(lambda c, change=change: change(c, other_space_id, stored_key.id, []))

    def test_bad_overlaps_are_refused(self) -> None:
        assert read_overlap("0h") == timedelta(0)
        with pytest.raises(Invalid, match="from 0h to 90d"):
            read_overlap("91d")


class TestAddresses:
    @pytest.mark.parametrize(
        ("client", "forwarded", "is_allowed"),
        [
            ("203.0.113.9", None, True),
            ("203.0.114.9", None, False),
            ("::ffff:203.0.113.9", None, True),
            ("203.0.114.9", "203.0.113.9", False),  # not a trusted proxy
            ("127.0.0.1", "203.0.113.9", True),
            ("127.0.0.1", "::ffff:203.0.113.9", True),
            ("127.0.0.1", "203.0.113.9, 198.51.100.1", False),  # the client itself sets the first address
            ("127.0.0.1", None, False),
            ("127.0.0.1", "nonsense", False),
            ("2001:db8::7", None, True),
            ("2001:db9::7", None, False),
            (None, None, False),
        ],
    )
    def test_the_client_address_decides(
        self, database_url: str, make: Callable[..., Any], client: str | None, forwarded: str | None,
        is_allowed: bool,
    ) -> None:  # fmt: skip
        key, _ = make(addresses=read_addresses("::ffff:203.0.113.0/120, 2001:db8::/32"))
        (caller,) = ask(database_url, key, request(client, forwarded))
        refusal = caller.refusal("events:read")
        assert (refusal is None) is is_allowed
        if refusal is not None:
            assert refusal.status == 403
            assert refusal.message.startswith("The API key is not allowed from ")

    def test_one_cache_answers_each_request_by_its_own(
        self, database_url: str, make: Callable[..., Any]
    ) -> None:
        key, _ = make(addresses=["10.0.0.0/8"])
        requests = [request("10.1.1.1"), request("11.1.1.1"), request("10.1.1.1")]
        callers = ask(database_url, key, *requests)
        assert [caller.elsewhere for caller in callers] == [None, "11.1.1.1", None]

    def test_elsewhere_is_403_with_the_limits(
        self, server: Running, accounts: Accounts, space_id: int, make: Callable[..., Any]
    ) -> None:
        key, stored_key = make()
        assert status(server, key) == 404
        accounts.run(lambda c: restrict_key(c, space_id, stored_key.id, ["10.0.0.0/8"]))
        wait_until(lambda: status(server, key) == 403)
        with client_for(server, key) as client:
            for response in (client.get("/receipts/1"), client.post("/events/track", json=EVENT)):
                assert response.status_code == 403
                assert response.json() == {"message": "The API key is not allowed from 127.0.0.1."}
                assert "x-ratelimit-limit" in response.headers
        segment = httpx.post(f"{server.base_url}/segment/v1/track", json={"userId": "1"}, auth=(key, ""))
        assert segment.status_code == 403
        accounts.run(lambda c: restrict_key(c, space_id, stored_key.id, []))
        wait_until(lambda: status(server, key) == 404)

    def test_valid_addresses_are_accepted(self) -> None:
        text = "10.0.0.1, 10.0.0.1/32\n 192.168.0.0/16 ::1 ::ffff:1.2.3.4"
        assert read_addresses(text) == ["10.0.0.1/32", "192.168.0.0/16", "::1/128", "1.2.3.4/32"]
        assert read_addresses(" , ") == []

    @pytest.mark.parametrize(
        ("text", "message"),
        [("10.0.0.1/8", "host bits"), ("shop.example", "IPv4 or IPv6"), ("1.2.3.4 " * 101, "more than 100")],
    )
    def test_bad_addresses_are_refused(self, text: str, message: str) -> None:
        with pytest.raises(Invalid, match=message):
            read_addresses(text)
