"""A console server with the cheapest Argon2 parameters, and logged-in users with browsers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from headwater.base.settings import Settings
from headwater.spaces.accounts.passwords import Passwords, Verdict
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.sessions import _csrf_key
from headwater.spaces.accounts.users import User
from tests.conftest import Running, run_application
from tests.console.browsing import SESSION, Browser
from tests.support.accounts import CHEAP, Accounts


class Counting(Passwords):
    """Counts how many passwords were verified."""

    def __init__(self) -> None:
        super().__init__(PasswordHasher(**CHEAP))
        self.verified = 0

    async def verify(self, stored: str | None, password: str) -> Verdict:
        self.verified += 1
        return await super().verify(stored, password)


@pytest.fixture(scope="session")
def passwords() -> Counting:
    return Counting()


@pytest.fixture(scope="session")
def console(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Counting
) -> Iterator[Running]:
    """The application behind a trusted proxy."""
    folder: Path = tmp_path_factory.mktemp("console")
    proxies = (ip_network("127.0.0.1"),)
    settings = Settings(rate_limit_factor=1000, data_dir=folder, trusted_proxies=proxies)
    application = run_application(settings, database_url, passwords)
    yield application
    application.stop()


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


@contextmanager
def open_browser(console: Running) -> Iterator[Browser]:
    """Yield a browser without a login."""
    browser = Browser(console.base_url)
    with browser.client:
        yield browser


@contextmanager
def log_in_member(console: Running, accounts: Accounts, space_id: int, role: Role) -> Iterator[Browser]:
    """Yield the browser of a new member of a Space, for use in several tests."""
    with open_browser(console) as browser:
        _, token = accounts.make_member(space_id, role, str(role))
        browser.client.cookies.set(SESSION, token, browser.client.base_url.host)
        yield browser


@pytest.fixture
def new_browser(console: Running) -> Iterator[Callable[[], Browser]]:
    """A function that makes browsers without a login."""
    browsers: list[Browser] = []

    def make() -> Browser:
        browsers.append(Browser(console.base_url))
        return browsers[-1]

    yield make
    for browser in browsers:
        browser.client.close()


@pytest.fixture
def browser(new_browser: Callable[[], Browser]) -> Browser:
    """A browser without a login."""
    return new_browser()


@dataclass
class Person:
    """A logged-in member of the Space."""

    user: User
    browser: Browser

    @property
    def form_key(self) -> bytes:
        """Return the key that signs the member's forms, to send forms that no page shows them."""
        return _csrf_key(self.browser.session() or "")


@pytest.fixture
def person(new_browser: Callable[[], Browser], accounts: Accounts, space_id: int) -> Callable[..., Person]:
    """A function that makes a logged-in member of the test's Space (test_login.py logs in through the
    page).
    """
    numbers = itertools.count(1)

    def make(role: Role = Role.OWNER, space: int = space_id, name: str | None = None) -> Person:
        user_name = f"{role} {next(numbers)}" if name is None else name
        user, token = accounts.make_member(space, role, user_name)
        browser = new_browser()
        browser.client.cookies.set(SESSION, token, browser.client.base_url.host)
        return Person(user, browser)

    return make


@pytest.fixture
def owner(person: Callable[..., Person]) -> Person:
    return person(Role.OWNER)
