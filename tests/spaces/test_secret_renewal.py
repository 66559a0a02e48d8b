"""A new secret key: while both keys are configured everything can be read, and afterwards also without the
old key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from headwater.alerts.notifications import channels
from headwater.alerts.notifications.channels import NewChannel
from headwater.base.settings import Settings
from headwater.cli import main
from headwater.intake.webhooks.models import WebhookSettings
from headwater.intake.webhooks.webhooks import NewWebhook, create_webhook
from headwater.operations.secrets.renewal import SEALED_COLUMNS
from headwater.spaces.accounts.sessions import ProviderSession, open_session
from headwater.spaces.encryption import Unsealable, derive_key, reseal, seal, unseal
from headwater.spaces.factors.factors import add_authenticator
from headwater.spaces.sites.sites import NewSite, create_site, rotate_secret
from headwater.spaces.sso.providers import ProviderSettings, SsoProvider, add_provider, seal_secret
from headwater.spaces.sso.sign_in import seal_id_token
from tests.conftest import client_for, run_application
from tests.support.accounts import Accounts

FORMER, CURRENT, OTHER = "former" * 6, "current" * 6, "other" * 8
KEYS = {"HEADWATER_SECRET_KEY": CURRENT, "HEADWATER_FORMER_SECRET_KEY": FORMER}
Sealed = dict[tuple[str, str], list[tuple[bytes, bytes]]]


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


@pytest.fixture
def old_secrets(
    accounts: Accounts,
    database_url: str,
    space_id: int,
    make_key: Callable[..., str],
    connection: psycopg.Connection,
) -> Iterator[None]:
    """A secret in each column, encrypted with the old key."""
    key, user = derive_key(FORMER), accounts.member(space_id)
    connection.execute("DELETE FROM sso_providers WHERE name = 'p'")
    provider = SsoProvider("p", "https://p.example", "c", None, ProviderSettings("P", ("example.com",)))
    accounts.run(lambda c: add_provider(c, seal_secret(provider, key, "client secret")))
    origin = ProviderSession("p", None, seal_id_token(key, "p", "id token"))
    accounts.run(lambda c: open_session(c, user.id, origin=origin))
    accounts.run(lambda c: add_authenticator(c, key, user.id, "A" * 32, 1))
    site, _ = accounts.run(lambda c: create_site(c, space_id, NewSite("Shop", ["https://shop.example"]), key))
    accounts.run(lambda c: rotate_secret(c, space_id, site.id, key, overlap=600))
    hook = NewWebhook("stripe", "Stripe", WebhookSettings(), "whsec_secret")
    accounts.run(lambda c: create_webhook(c, space_id, hook, key))
    channel = NewChannel("webhook", "Chat", "https://hooks.example/x", [], user.id)
    accounts.run(lambda c: channels.create_channel(c, space_id, channel, key))
    application = run_application(Settings(secret_key=FORMER), database_url)
    token = {"access_token": "EAAB-token"}
    with client_for(application, make_key(space_id)) as client:
        for path, body in (
            ("/destinations", {"platform": "meta", "settings": {"pixel_id": "1234567890"}, "secrets": token}),
            ("/spend/connections",
             {"platform": "meta", "settings": {"ad_account_id": "1234567890"}, "secrets": token}),
            ("/watched-files",
             {"address": "https://reports.example/x.csv", "settings": {"platform": "meta", "currency": "EUR"},
              "secrets": {"authorization": "Bearer x"}}),
        ):  # fmt: skip
            answer = client.post(path, json=body)
            assert answer.status_code in {200, 201}, answer.text
    application.stop()
    yield
    connection.execute("DELETE FROM sso_providers WHERE name = 'p'")


def read_sealed(connection: psycopg.Connection) -> Sealed:
    """Return every encrypted value with the row it is bound to, by table and column."""
    return {
        (column.table, column.column): sorted(
            (value, column.bind(*row))
            for value, *row in connection.execute(
                f"SELECT {column.column}, {', '.join(column.keys)} FROM {column.table}"  # type: ignore[arg-type]
                f" WHERE {column.column} IS NOT NULL"
            )
        )
        for column in SEALED_COLUMNS
    }


def can_read(key: bytes, ciphertext: bytes, context: bytes) -> bool:
    try:
        unseal(key, ciphertext, context)
    except Unsealable:
        return False
    return True


def renew(capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], tuple[int, int]]:
    assert main(["secret-key", "renew", "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return {(row["table"], row["column"]): (row["renewed"], row["unreadable"]) for row in rows}


@pytest.mark.usefixtures("old_secrets")
def test_it_works(
    connection: psycopg.Connection,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    former, current = derive_key(FORMER), derive_key(CURRENT)
    before = read_sealed(connection)
    own_values = {
        column: [pair for pair in values if can_read(former, *pair)] for column, values in before.items()
    }
    assert all(own_values.values()), "each column has a secret"
    for values in own_values.values():
        for pair in values:
            assert can_read(derive_key(CURRENT, FORMER), *pair)
            assert not can_read(current, *pair)
    for name, value in {**KEYS, "HEADWATER_DATABASE_URL": database_url}.items():
        monkeypatch.setenv(name, value)
    renewal = renew(capsys)
    assert {column: number for column, (number, _) in renewal.items()} == {
        column: len(values) for column, values in own_values.items()
    }
    after = read_sealed(connection)
    for column, values in own_values.items():
        texts = {unseal(current, *pair) for pair in after[column] if can_read(current, *pair)}
        assert texts == {unseal(former, *pair) for pair in values}
    assert {number for number, _ in renew(capsys).values()} == {0}, "nothing is left"


@pytest.mark.usefixtures("old_secrets")
def test_secrets_of_another_key_stay(
    connection: psycopg.Connection,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADWATER_SECRET_KEY", OTHER)
    before = read_sealed(connection)
    assert all(number == 0 and unreadable > 0 for number, unreadable in renew(capsys).values())
    assert read_sealed(connection) == before


def test_the_first_key_encrypts_and_every_key_decrypts() -> None:
    combined_key, former, current = derive_key(CURRENT, FORMER), derive_key(FORMER), derive_key(CURRENT)
    assert (combined_key[:32], combined_key[32:]) == (current, former)
    assert unseal(combined_key, seal(former, "x", b"row"), b"row") == b"x"
    assert unseal(current, seal(combined_key, "x", b"row"), b"row") == b"x"
    for sealed_value, bound_to in (
        (seal(derive_key(OTHER), "x", b"row"), b"row"),
        (seal(former, "x", b"row"), b"other"),
    ):
        with pytest.raises(Unsealable):
            unseal(combined_key, sealed_value, bound_to)
    assert reseal(combined_key, seal(current, "x", b"row"), b"row") is None


def test_every_encrypted_column_is_listed(connection: psycopg.Connection) -> None:
    """Secrets are binary columns with these names; hashes, keys of passkeys and packed columns are not."""
    query = """SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND data_type = 'bytea'
          AND column_name ~ '(^|_)(secrets?|id_token)$'"""
    assert set(connection.execute(query)) == {(column.table, column.column) for column in SEALED_COLUMNS}
