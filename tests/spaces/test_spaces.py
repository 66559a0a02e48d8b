"""Spaces and API keys: domain functions on a real database."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg
import pytest

from headwater.api.operations import RATE_LIMITS
from headwater.http.errors import Invalid, NotFound
from headwater.spaces import keys, spaces
from headwater.spaces.models import Space
from headwater.spaces.settings_input import KEYS, SpaceChanges, read_changes
from tests.support.waiting import PATIENCE_SECONDS

T = TypeVar("T")
Act = Callable[[psycopg.AsyncConnection], Awaitable[T]]


def run(url: str, work: Act[T]) -> T:
    async def run_in_connection() -> T:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            return await work(connection)

    return asyncio.run(run_in_connection())


def create(url: str, **columns: str) -> Space:
    changes = read_changes({"name": "Alice", **columns})
    return run(url, lambda connection: spaces.create_space(connection, changes))


def change(url: str, space_id: int, **columns: str) -> Space:
    settings = {key.replace("__", "."): value for key, value in columns.items()}
    changes = read_changes(settings, RATE_LIMITS)
    return run(url, lambda connection: spaces.change_space(connection, space_id, changes))


def test_it_works(database_url: str) -> None:
    space = create(database_url, timezone="Europe/Berlin", currency="eur")
    assert (space.name, space.timezone, space.currency) == ("Alice", "Europe/Berlin", "EUR")
    assert (space.company_identity_mode, space.subscription) == ("auto", "active")
    assert space == run(database_url, lambda connection: spaces.fetch_space(connection, space.id))


def test_change_leaves_the_rest(database_url: str) -> None:
    space = create(database_url, timezone="Asia/Tokyo")
    bob = create(database_url, name="Bob")
    changed_space = change(
        database_url, space.id, subscription="inactive", phone_region="jp",
        ignored_identifiers=" b, a,, ", event_label__custom_event_1="Demo",
        field_label__profile_field_30="Since",
    )  # fmt: skip
    assert changed_space.timezone == "Asia/Tokyo"
    assert (changed_space.subscription, changed_space.phone_region) == ("inactive", "JP")
    assert changed_space.ignored_identifiers == ["a", "b"]
    assert changed_space.event_labels == {"custom_event_1": "Demo"}
    assert changed_space.field_labels == {"profile_field_30": "Since"}
    assert bob == run(database_url, lambda connection: spaces.fetch_space(connection, bob.id))


def test_empty_value_removes(database_url: str) -> None:
    space = create(database_url)
    values = {
        "phone_region": "DE", "event_label__custom_event_2": "A",
        "field_label__profile_field_2": "B", "limit__track": "5", "ignored_identifiers": "x",
    }  # fmt: skip
    change(database_url, space.id, **values)
    cleared_space = change(database_url, space.id, **dict.fromkeys(values, ""))
    assert cleared_space == space
    limits = run(database_url, lambda connection: spaces.fetch_limits(connection, space.id))
    assert limits == {}


@pytest.mark.parametrize("bucket", RATE_LIMITS)
def test_every_bucket_can_be_limited(database_url: str, bucket: str) -> None:
    space = create(database_url)
    change(database_url, space.id, **{f"limit__{bucket}": "7"})
    limits = run(database_url, lambda connection: spaces.fetch_limits(connection, space.id))
    assert limits == {bucket: 7}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("timezone", "Mars/Olympus"), ("timezone", "europe/berlin"), ("timezone", ""),
        ("timezone", "../../etc/passwd"), ("currency", "EURO"), ("currency", "ÄÖÜ"),
        ("company_identity_mode", "manual"), ("subscription", "on"), ("phone_region", "DEU"),
        ("name", " "), ("name", "a\nb"), ("name", "x" * 256), ("name", "\ud800"),
        ("event_label.custom_event_51", "x"), ("event_label.custom_event_0", "x"),
        ("event_label.purchase", "x"), ("field_label.profile_field_31", "x"),
        ("field_label.profile_field_1", "a\x00b"), ("limit.nothing", "5"),
        ("limit.track", "-1"), ("limit.track", "1.5"), ("limit.track", "١٢"),
        ("half_life_days", "0"), ("half_life_days", "366"), ("half_life_days", "7.5"),
        ("require_second_factor", "yes"),
        ("page_view_days", "29"), ("page_view_days", "3651"), ("page_view_days", "1e3"),
        ("inactive_contact_days", "99"), ("delivery_days", "29"), ("log_days", "3651"),
        ("ignored_identifiers", ",".join(map(str, range(1001)))),
        ("own_domains", ",".join(f"h{n}.example" for n in range(1001))),
        ("half_life_days", ""), ("source_name.x", "facebook"), ("source_name. ", "sms"),
        ("limit.track", "9" * 10), ("colour", "red"), ("id", "1"), ("", ""),
    ],
)  # fmt: skip
def test_bad_value_is_named(key: str, value: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_changes({"subscription": "active", key: value}, RATE_LIMITS)
    assert list(caught.value.errors) == [key]
    assert caught.value.errors[key][0].startswith(f"{key}: ")


def test_every_bad_value_is_told() -> None:
    with pytest.raises(Invalid) as caught:
        read_changes({"timezone": "x", "colour": "red", "name": "fine"})
    assert list(caught.value.errors) == ["timezone", "colour"]
    assert all(key in caught.value.errors["colour"][0] for key in KEYS)


def test_names_of_sources(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space = create(database_url)
    changed_space = change(database_url, space.id, **{"source_name. FB.Paid ": "facebook_ads"})
    assert changed_space.source_names == {"fb.paid": "facebook_ads"}
    monkeypatch.setattr(spaces, "MAX_SOURCE_NAMES", 1)
    with pytest.raises(Invalid):
        change(database_url, space.id, **{"source_name.b": "sms"})
    changed_space = change(database_url, space.id, **{"source_name.fb.paid": "facebook_organic"})
    assert changed_space.source_names == {"fb.paid": "facebook_organic"}
    assert change(database_url, space.id, **{"source_name.fb.paid": ""}).source_names == {}


def test_unknown_space(database_url: str) -> None:
    with pytest.raises(NotFound):
        change(database_url, 2**40, name="x")
    with pytest.raises(NotFound):
        run(database_url, lambda connection: keys.create_key(connection, 2**40, "x"))
    with pytest.raises(NotFound):
        run(database_url, lambda connection: keys.list_keys(connection, 2**40))


def test_key_is_stored_as_its_hash(database_url: str, connection: psycopg.Connection) -> None:
    space = create(database_url)
    key, stored_key = run(database_url, lambda c: keys.create_key(c, space.id, "app"))
    assert key.startswith("trk_sk_")
    assert len(key) == 50
    row = connection.execute(
        "SELECT key_hash, api_keys::text FROM api_keys WHERE space_id = %s", (space.id,)
    ).fetchone()
    assert row is not None
    assert row[0] == hashlib.sha256(key.encode()).digest()
    assert key not in row[1]
    assert (stored_key.hint, stored_key.scopes) == (key[-4:], list(keys.SCOPES))


def test_key_scopes(database_url: str) -> None:
    space = create(database_url)
    scopes = ["events:write", "events:read", "events:read"]
    _, stored_key = run(database_url, lambda c: keys.create_key(c, space.id, "app", scopes))
    assert stored_key.scopes == ["events:read", "events:write"]
    with pytest.raises(Invalid, match="events:delete"):
        run(database_url, lambda c: keys.create_key(c, space.id, "app", ["events:delete"]))


def test_revoked_key_stays_revoked_and_listed(database_url: str) -> None:
    space, bob = create(database_url), create(database_url, name="Bob")
    _, stored_key = run(database_url, lambda c: keys.create_key(c, space.id, "app"))
    with pytest.raises(NotFound):
        run(database_url, lambda c: keys.revoke_key(c, bob.id, stored_key.id))
    first = run(database_url, lambda c: keys.revoke_key(c, space.id, stored_key.id))
    second = run(database_url, lambda c: keys.revoke_key(c, space.id, stored_key.id))
    assert first.revoked_at is not None
    assert first == second
    assert run(database_url, lambda c: keys.list_keys(c, space.id)) == [first]
    assert run(database_url, lambda c: keys.list_keys(c, bob.id)) == []


def test_api_processes_are_told(database_url: str, connection: psycopg.Connection) -> None:
    space = create(database_url)
    _, stored_key = run(database_url, lambda c: keys.create_key(c, space.id, "app"))
    connection.execute("LISTEN headwater_access")
    tells = [
        lambda c: keys.create_key(c, space.id, "app"),
        lambda c: keys.revoke_key(c, space.id, stored_key.id),
        lambda c: spaces.change_space(c, space.id, SpaceChanges({"subscription": "inactive"})),
        lambda c: spaces.change_space(c, space.id, SpaceChanges(limits={"track": 3})),
    ]
    for act in tells:
        run(database_url, act)
        notice = next(connection.notifies(timeout=PATIENCE_SECONDS))
        assert (notice.channel, notice.payload) == ("headwater_access", str(space.id))
    change(database_url, space.id, currency="EUR")
    assert list(connection.notifies(timeout=0)) == []
