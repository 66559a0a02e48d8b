"""A Headwater that people reach at its own address, behind a proxy on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path

import httpx
import psycopg
import pytest
from argon2 import PasswordHasher

from headwater.base.settings import Settings
from headwater.spaces.accounts.passwords import Passwords
from tests.conftest import Running, run_application
from tests.oauth.internet import Internet
from tests.oauth.staging import Assistant, Installation, Person
from tests.support.accounts import CHEAP, Accounts
from tests.support.waiting import PATIENCE_SECONDS


@pytest.fixture(scope="session")
def internet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    """A fake internet."""
    fake_internet = Internet(tmp_path_factory.mktemp("internet"))
    yield fake_internet
    fake_internet.close()


@pytest.fixture(scope="session")
def assisted(database_url: str, data_dir: Path, internet: Internet) -> Iterator[Running]:
    """The application, with cheap password hashes and its outgoing requests sent to `internet`."""
    settings = Settings(
        rate_limit_factor=1000, data_dir=data_dir, trusted_proxies=(ip_network("127.0.0.0/8"),)
    )
    passwords = Passwords(PasswordHasher(**CHEAP))
    running = run_application(settings, database_url, passwords, internet.egress())
    yield running
    running.stop()


@pytest.fixture
def installation(
    assisted: Running,
    database_url: str,
    connection: psycopg.Connection,
    internet: Internet,
    make_space: Callable[..., int],
) -> Iterator[Installation]:
    """The application with users and assistants."""
    with httpx.Client(base_url=assisted.base_url, timeout=PATIENCE_SECONDS) as http:
        new_installation = Installation(
            assisted.base_url, Accounts(database_url), connection, internet, make_space, http
        )
        yield new_installation
        new_installation.close()


@pytest.fixture
def person(installation: Installation, space_id: int) -> Person:
    """The owner of the test's Space, logged in."""
    return installation.person(space_id)


@pytest.fixture
def assistant(installation: Installation) -> Assistant:
    """A client that registered itself."""
    return installation.assistant()


@pytest.fixture(scope="session")
def plain_installation(database_url: str, data_dir: Path) -> Iterator[Running]:
    """The application with a base URL other than its listening address, without a proxy and without hosted
    client documents.
    """
    settings = Settings(data_dir=data_dir, base_url="https://headwater.example", hosted_clients=False)
    running = run_application(settings, database_url, Passwords(PasswordHasher(**CHEAP)))
    yield running
    running.stop()
