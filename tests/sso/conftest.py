"""The application with identity providers on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import psycopg
import pytest
from argon2 import PasswordHasher

from headwater.base.settings import Settings
from headwater.spaces.accounts.passwords import Passwords
from tests.conftest import Running, run_application
from tests.sso.fake_provider import Desk, FakeProviders
from tests.support.accounts import CHEAP, Accounts

INSTALLATION_SECRET = "s" * 32


@pytest.fixture(scope="session")
def sso_server(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = Settings(
        rate_limit_factor=1000,
        data_dir=Path(tmp_path_factory.mktemp("sso")),
        secret_key=INSTALLATION_SECRET,
        trusted_proxies=(ip_network("127.0.0.0/8"),),
        sso_hosts=("127.0.0.1",),
    )
    running = run_application(settings, database_url, Passwords(PasswordHasher(**CHEAP)))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def fake_providers() -> Iterator[FakeProviders]:
    providers = FakeProviders()
    with providers.platform:
        yield providers


@pytest.fixture
def desk(
    sso_server: Running, database_url: str, fake_providers: FakeProviders, connection: psycopg.Connection
) -> Iterator[Desk]:
    new_desk = Desk(sso_server, Accounts(database_url), INSTALLATION_SECRET, fake_providers)
    yield new_desk
    for browser in new_desk.browsers:
        browser.close()
    connection.execute(
        "DELETE FROM sso_providers WHERE issuer LIKE %s", (f"{fake_providers.platform.url}/%",)
    )
