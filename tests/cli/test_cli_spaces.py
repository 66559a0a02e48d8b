"""`headwater space …`, `key …`, `queue …` and `migrate`: options, output and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.cli import main
from headwater.database.embedded import Embedded
from headwater.database.jobs.connection import connect
from headwater.database.migrator import migrate
from headwater.spaces.keys import SCOPES
from tests.support.pipeline import drain


@pytest.fixture(autouse=True)
def on_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


class Cli:
    """Run commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object, code: int = 0) -> str:
        assert main([str(argument) for argument in arguments]) == code
        out, err = self._capsys.readouterr()
        assert bool(err) == (code == 2)
        return err if code == 2 else out

    def json(self, *arguments: object) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture
def space(cli: Cli) -> Any:
    return cli.json("space", "create", "--name", "Alice")


def test_it_works(cli: Cli) -> None:
    space = cli.json(
        "space", "create", "--name", "Café 東京", "--timezone", "America/New_York",
        "--currency", "EUR", "--company-identity-mode", "external_id",
    )  # fmt: skip
    assert space == {
        "id": space["id"], "name": "Café 東京", "timezone": "America/New_York",
        "currency": "EUR", "company_identity_mode": "external_id", "subscription": "active",
        "phone_region": None, "ignored_identifiers": [], "own_domains": [],
        "excluded_referrers": [], "heeded_referrers": [], "ad_consent": "unknown",
        "half_life_days": 7, "cost_rate": None, "page_view_days": None,
        "inactive_contact_days": None, "delivery_days": None, "log_days": None,
        "require_second_factor": False,
        "event_labels": {}, "field_labels": {}, "source_names": {}, "networks": [],
        "answer_phrases": {},
        "limits": {},
    }  # fmt: skip
    assert cli.json("space", "show", "--space", space["id"]) == space
    assert space["id"] in [row["id"] for row in cli.json("space", "list")]
    assert "Café 東京" in cli("space", "list")


def test_set(cli: Cli, space: Any) -> None:
    new_version = cli.json(
        "space",
        "set",
        "--space",
        space["id"],
        "limit.track=9",
        "event_label.custom_event_7=a=b",
        "half_life_days=14",
        "page_view_days=400",
        "inactive_contact_days=100",
        "delivery_days=30",
        "log_days=3650",
        "require_second_factor=true",
    )
    labels = {"custom_event_7": "a=b"}
    assert new_version == space | {
        "limits": {"track": 9}, "event_labels": labels, "half_life_days": 14,
        "page_view_days": 400, "inactive_contact_days": 100, "delivery_days": 30, "log_days": 3650,
        "require_second_factor": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["currency=EUR", "colour=red"], "colour: no such setting"),
        (["currency=EUR", "timezone=x"], "timezone: must be an IANA time zone"),
        (["currency=EUR", "timezone"], "timezone: must be KEY=VALUE"),
        (["currency=EUR", "currency=USD"], "currency: given twice"),
    ],
)
def test_set_is_all_or_nothing(cli: Cli, space: Any, arguments: list[str], message: str) -> None:
    assert message in cli("space", "set", "--space", space["id"], *arguments, code=2)
    assert cli.json("space", "show", "--space", space["id"]) == space


def test_unknown_space(cli: Cli) -> None:
    assert cli("space", "show", "--space", 10**12, code=2) == "headwater: Space not found.\n"
    assert cli("space", "show", "--space", 10**30, code=2) == "headwater: Space not found.\n"


def test_key(cli: Cli, space: Any) -> None:
    key = cli.json("key", "create", "--space", space["id"], "--name", "app", "--scope",
                   "events:write", "--scope", "events:read")  # fmt: skip
    assert list(key) == ["key", "id", "name", "scopes", "expires_at", "addresses"]
    assert key["scopes"] == ["events:read", "events:write"]
    assert (key["expires_at"], key["addresses"]) == (None, [])
    listing = cli("key", "list", "--space", space["id"], "--json")
    assert key["key"] not in listing
    assert cli.json("key", "revoke", "--space", space["id"], key["id"])["revoked_at"]
    error = cli("key", "create", "--space", space["id"], "--name", "app", "--scope", "x", code=2)
    assert error.startswith("headwater: scope: x is none of events:read, ")


def test_a_key_with_limits(cli: Cli, space: Any) -> None:
    space_options = ("--space", space["id"])
    key = cli.json("key", "create", *space_options, "--name", "app", "--expires", "90d",
                   "--addresses", "10.0.0.0/8, ::1")  # fmt: skip
    assert key["addresses"] == ["10.0.0.0/8", "::1/128"]
    new_key = cli.json("key", "rotate", *space_options, "--key", key["id"], "--overlap", "0h")
    assert new_key["key"] != key["key"]
    assert (new_key["scopes"], new_key["addresses"]) == (key["scopes"], key["addresses"])
    assert new_key["expires_at"] > new_key["old_key_ends_at"]
    assert cli.json("key", "restrict", *space_options, new_key["id"])["addresses"] == []
    listing = cli("key", "list", *space_options)
    for text in (" 2 networks ", " all ", " never used ", " expired "):
        assert text in listing
    assert "Create a new one" in cli("key", "rotate", *space_options, "--key", key["id"], code=2)
    assert "expires must be hours" in cli(
        "key", "create", *space_options, "--name", "x", "--expires", "9", code=2
    )
    assert "host bits" in cli(
        "key", "restrict", *space_options, key["id"], "--addresses", "10.1.1.1/8", code=2
    )


def test_queue(cli: Cli, space: Any, connection: psycopg.Connection, database_url: str) -> None:
    with connect(database_url) as worker:  # other tests leave rows and erasures behind
        drain(worker)
    connection.execute("UPDATE erasures SET erased_at = now() WHERE erased_at IS NULL")
    assert cli("queue", "wait") == ""
    connection.execute(
        "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
        " VALUES (%s, 'event', 'api_key', now(), '{}')",
        (space["id"],),
    )
    try:
        assert cli("queue", "wait", "--timeout", "0", code=1) == ""
    finally:
        connection.execute("DELETE FROM inbox WHERE space_id = %s", (space["id"],))
    assert isinstance(cli.json("queue", "rejected"), list)
    assert list(cli.json("queue", "replay")) == ["replayed"]


def test_migrate_twice_does_nothing(cli: Cli) -> None:
    assert cli.json("migrate") == {"applied": []}


def test_terminal_is_not_driven_by_a_name(cli: Cli, connection: psycopg.Connection) -> None:
    connection.execute("INSERT INTO spaces (name) VALUES (E'\\x1b[2Jx\\u202e')")
    listing = cli("space", "list")
    assert "\x1b" not in listing
    assert "\u202e" not in listing


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["fly"], ["space"], ["space", "create"], ["key", "create", "--space", "1"],
        ["space", "set", "--space", "1"], ["serve", "--port", "70000"],
        ["serve", "--workers", "0"], ["queue", "wait", "--timeout", "-1"],
        ["key", "revoke", "--space", "x", "1"],
    ],
)  # fmt: skip
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error_info:
        main(arguments)
    assert error_info.value.code == 2
    assert capsys.readouterr().err.startswith("usage: headwater")


def test_nothing_runs(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWATER_DATABASE_URL")
    error = cli("space", "list", "--data-dir", tmp_path / "none", code=2)
    assert "no Headwater data in" in error
    assert "headwater serve" in error
    (tmp_path / "postgresql.password").write_text("x")
    (tmp_path / "postgresql").mkdir()
    error = cli("space", "list", "--data-dir", tmp_path, code=2)
    assert "is `headwater serve` running on it?" in error
    refusal = PermissionError(13, "Permission denied", "postgresql.password")
    monkeypatch.setattr(Embedded, "read_password", Mock(side_effect=refusal))
    error = cli("space", "list", "--data-dir", tmp_path, code=2)
    assert "Permission denied; use the account of `headwater serve`" in error


def test_a_new_space_needs_an_owner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["space", "create", "--name", "Bob"]) == 0
    assert "headwater user create --email E --space" in capsys.readouterr().err


def test_bad_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_RATE_LIMIT_FACTOR", "fast")
    assert "HEADWATER_RATE_LIMIT_FACTOR: must be a number above 0" in cli("space", "list", code=2)


def test_unreachable_database(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "postgresql://me:hunter2@127.0.0.1:1/x"
    monkeypatch.setenv("HEADWATER_DATABASE_URL", secret)
    error = cli("space", "list", code=2)
    assert "cannot reach the database of HEADWATER_DATABASE_URL" in error
    assert "hunter2" not in error


def test_keys_fit_a_terminal(cli: Cli, space: Any) -> None:
    space_options = ("--space", space["id"])
    cli("key", "create", *space_options, "--name", "the shop's server " * 5)
    cli("key", "create", *space_options, "--name", "x" * 200, "--scope", "events:write")
    scopes = [scope for scope in SCOPES if scope != "contacts:delete"]
    cli("key", "create", *space_options, "--name", "y", *(f"--scope={scope}" for scope in scopes))
    listing = cli("key", "list", *space_options)
    assert max(map(len, listing.splitlines())) <= 100
    for text in (" all ", "events:write", "all but contacts:delete"):
        assert text in listing


def test_a_database_of_another_version(cli: Cli, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "of_another_version"
    url = urlsplit(database_url)._replace(path=f"/{name}").geturl()
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        monkeypatch.setenv("HEADWATER_DATABASE_URL", url)
        assert "headwater migrate" in cli("space", "list", code=2)
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER TABLE spaces DROP COLUMN name")
        assert "headwater migrate" in cli("space", "show", "--space", 1, code=2)
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def test_a_new_space_trains_its_model_at_night(cli: Cli) -> None:
    new = str(cli.json("space", "create", "--name", "New", "--timezone", "Asia/Tokyo")["id"])
    [training] = cli.json("model", "automatic", "--space", new)
    assert (training["event_name"], training["is_on"]) == ("purchase", True)
    [training] = cli.json("model", "automatic", "--space", new, "--off")
    assert not training["is_on"]
