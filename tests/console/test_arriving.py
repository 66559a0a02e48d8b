"""One-time links: for an installation's first account, and to reset a password. The first account needs a new
installation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.database.migrator import migrate
from headwater.spaces.accounts import links, members, tokens
from headwater.spaces.accounts.roles import Role
from headwater.spaces.spaces import list_spaces
from tests.conftest import run_application
from tests.console.browsing import Browser
from tests.console.conftest import Counting, Person
from tests.support.accounts import PASSWORD, Accounts

NEW = "a password of another kind"


@pytest.fixture
def empty_url(connection: psycopg.Connection, database_url: str) -> Iterator[str]:
    """A database without accounts."""
    connection.execute("DROP DATABASE IF EXISTS set_up WITH (FORCE)")
    connection.execute("CREATE DATABASE set_up")
    url = database_url.replace("/headwater?", "/set_up?")
    if url == database_url:
        url = psycopg.conninfo.make_conninfo(database_url, dbname="set_up")
    migrate(url)
    yield url
    connection.execute("DROP DATABASE set_up WITH (FORCE)")


@pytest.fixture
def first_browser(empty_url: str, passwords: Counting) -> Iterator[Browser]:
    """A browser at a console without accounts."""
    application = run_application(Settings(), empty_url, passwords)
    browser = Browser(application.base_url)
    yield browser
    browser.client.close()
    application.stop()


def make_link(url: str) -> str | None:
    with psycopg.connect(url) as connection:
        return links.make_set_up_link(connection)


def test_it_works(first_browser: Browser, empty_url: str) -> None:
    older, link = make_link(empty_url), make_link(empty_url)
    assert older is not None
    assert link is not None
    assert first_browser.get(older).status_code == 404
    assert first_browser.get(link).status_code == first_browser.get(link).status_code == 200
    form_values = {"email": "ada@example.com", "password": PASSWORD, "space_name": "Shop",
                   "timezone": "Europe/Berlin", "currency": "EUR"}  # fmt: skip
    for bad, message in (({"email": "ada"}, "valid e-mail"), ({"password": "short"}, "at least 10"),
                         ({"password": "password123"}, "data breaches"),
                         ({"password": "Shop-example!"}, "besides"),
                         ({"space_name": ""}, "Must not be empty"), ({"currency": "?"}, "Must be"),
                         ({"name": "x" * 121}, "at most 120")):  # fmt: skip
        answer = first_browser.fill(link, link, **{**form_values, **bad})
        assert answer.status_code == 422
        assert message in answer.text
        assert re.search(r"<option selected>Europe/Berlin<", answer.text)
        assert "data-zone" not in answer.text, "a zone that was chosen stays"
        ((focused_id,),) = [re.findall(r'<(?:input|select) id="(\w+)"[^>]* autofocus', answer.text)]
        assert focused_id == next(iter(bad)), "the first wrong field has the focus"
    home = first_browser.fill(link, link, **form_values)
    assert home.url.path == "/console/spaces/1/setup"
    assert "your account and your Space are ready" in home.text
    assert first_browser.get(link).status_code == 404
    assert make_link(empty_url) is None
    accounts = Accounts(empty_url)
    (space,) = accounts.run(list_spaces)
    assert (space.name, space.timezone, space.currency) == ("Shop", "Europe/Berlin", "EUR")
    (member,) = accounts.run(lambda c: members.list_members(c, space.id))
    assert member.role is Role.OWNER


def test_spaces_that_are_there_already(first_browser: Browser, empty_url: str) -> None:
    with psycopg.connect(empty_url) as connection:
        connection.execute("INSERT INTO spaces (name) VALUES ('One'), ('Two')")
    link = make_link(empty_url) or ""
    page = first_browser.fill(link, link, email="ada@example.com", password=PASSWORD)
    assert "One" in page.text
    assert "Two" in page.text


def test_a_password_chosen_anew(
    owner: Person, accounts: Accounts, space_id: int, new_browser: Callable[[], Browser]
) -> None:
    link = accounts.run(lambda c: links.make_reset_link(c, owner.user.id))
    new = tokens.NewToken(owner.user.id, "personal", "t")
    token, _ = accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    browser = new_browser()
    for bad in ("short", "password123", f"{owner.user.email}!"):
        assert browser.fill(link, link, password=bad).status_code == 422
    form = browser.form(link, link)
    page = browser.send(form, password=NEW)
    assert page.url.path == "/login"
    assert "Log in with the new password." in page.text
    assert browser.send(form, password=PASSWORD).status_code == 404, "it works once"
    assert owner.browser.get("/console/account").url.path == "/login"
    assert accounts.run(lambda c: tokens.find_token(c, token)) is None, "made with the old one"
    assert browser.log_in(owner.user, NEW).status_code == 200


@pytest.mark.parametrize("path", [links.SET_UP_PATH, links.RESET_PATH, "/console/join"])
def test_links_that_never_were(browser: Browser, path: str) -> None:
    for token in ("x", "x" * 43, "%00", "%ff"):
        page = browser.get(f"{path}/{token}")
        assert page.status_code == 404
        assert "This link doesn" in page.text
