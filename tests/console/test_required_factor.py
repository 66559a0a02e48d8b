"""Spaces, and installations, that require a second factor of their members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.spaces.accounts.members import add_member
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.sessions import ProviderSession, open_session
from headwater.spaces.sso.providers import add_provider, read_provider
from tests.conftest import Running, run_application
from tests.console.browsing import SESSION, Browser
from tests.console.conftest import Counting, Person
from tests.support.accounts import Accounts
from tests.support.factors import CONFIRM, FACTOR, PAGE, enrol, forget_used_codes

ACCOUNT = "/console/account"


@pytest.fixture
def required_page(connection: psycopg.Connection, space_id: int) -> str:
    """The page of a Space that requires a second factor."""
    connection.execute("UPDATE spaces SET require_second_factor = true WHERE id = %s", [space_id])
    return f"/console/spaces/{space_id}"


def sign_in(browser: Browser, accounts: Accounts, person: Person) -> None:
    """Start a session as single sign-on does."""
    settings = {"title": "Provider", "domains": ["example.com"]}
    name = f"p{person.user.id}"
    provider = read_provider(name, "https://id.example", "client", settings)
    accounts.run(lambda c: add_provider(c, provider))
    token, _ = accounts.run(lambda c: open_session(c, person.user.id, "", ProviderSession(name)))
    browser.client.cookies.set(SESSION, token, browser.client.base_url.host)


def test_it_works(owner: Person, space_id: int, connection: psycopg.Connection) -> None:
    """An owner who requires it is the first to be sent to the set-up."""
    settings = f"/console/spaces/{space_id}/settings"
    answer = owner.browser.fill(settings, settings, require_second_factor="true")
    assert answer.url.path == PAGE
    assert answer.url.params["next"] == settings
    enrol(owner.browser)
    assert 'value="true" selected' in owner.browser.get(settings).text
    owner.browser.fill(settings, settings, require_second_factor="false")
    query = "SELECT require_second_factor FROM spaces WHERE id = %s"
    assert connection.execute(query, [space_id]).fetchone() == (False,)


@pytest.mark.parametrize("role", list(Role))
def test_members_without_one_see_nothing(
    person: Callable[..., Person], required_page: str, role: Role
) -> None:
    member = person(role, name="Grace")
    for path in ("", "/events", "/live", "/live/latest", "/keys", "/settings", "/setup", "/contacts/1"):
        page = member.browser.get(required_page + path)
        assert (page.status_code, page.url.path) == (200, PAGE)
    assert member.browser.get(ACCOUNT).url.path == ACCOUNT
    enrol(member.browser)
    assert member.browser.get(f"{required_page}/events").url.path == f"{required_page}/events"


def test_forms_are_refused(owner: Person, required_page: str, connection: psycopg.Connection) -> None:
    connection.execute("UPDATE spaces SET require_second_factor = false")
    form = owner.browser.form(f"{required_page}/settings", f"{required_page}/settings")
    space_id = int(required_page.rpartition("/")[2])
    connection.execute("UPDATE spaces SET require_second_factor = true WHERE id = %s", [space_id])
    answer = owner.browser.send(form, name="Changed", follow=False)
    assert answer.headers["location"] == f"{PAGE}?next={required_page}/settings%3Fagain"
    row = connection.execute("SELECT name FROM spaces WHERE id = %s", [space_id]).fetchone()
    assert row is not None
    assert row[0] != "Changed"


def test_the_list_of_spaces_hides_figures(
    owner: Person, required_page: str, make_space: Callable[..., int], accounts: Accounts
) -> None:
    other_space_id = make_space()
    accounts.run(lambda c: add_member(c, other_space_id, owner.user.id, Role.OWNER))
    page = owner.browser.get("/console?all")
    assert page.text.count("Requires a second factor.") == 1
    assert f'href="{required_page}/events' not in page.text
    assert f'href="/console/spaces/{other_space_id}/events' in page.text
    enrol(owner.browser)
    assert "Requires a second factor." not in owner.browser.get("/console?all").text


def test_no_session_with_a_password_alone(
    owner: Person, browser: Browser, accounts: Accounts, connection: psycopg.Connection
) -> None:
    """This holds even if the factor was set up during a login. Once the factor is removed, the session is
    valid again.
    """
    enrol(owner.browser)
    token, _ = accounts.run(lambda c: open_session(c, owner.user.id))
    browser.client.cookies.set(SESSION, token, browser.client.base_url.host)
    assert browser.get(ACCOUNT).url.path == "/login"
    connection.execute("DELETE FROM totp_factors WHERE user_id = %s", [owner.user.id])
    assert browser.get(ACCOUNT).url.path == ACCOUNT


def test_a_provider_session_of_a_user_with_a_factor(
    owner: Person, required_page: str, browser: Browser, accounts: Accounts, connection: psycopg.Connection
) -> None:
    """The session is asked for the factor only before dangerous actions."""
    app = enrol(owner.browser)
    forget_used_codes(connection, owner.user.id)
    sign_in(browser, accounts, owner)
    assert browser.get(f"{required_page}/events").url.path == f"{required_page}/events"
    page = f"{required_page}/keys"
    assert browser.fill(page, f"{page}/create", name="Shop").url.path == CONFIRM
    assert browser.fill(CONFIRM, CONFIRM, code=app.code()).status_code == 200
    assert "Your new key" in browser.fill(page, f"{page}/create", name="Shop").text


def test_a_removed_factor_no_longer_counts(owner: Person, required_page: str) -> None:
    enrol(owner.browser)
    assert owner.browser.get(f"{required_page}/events").url.path == f"{required_page}/events"
    owner.browser.fill(ACCOUNT, f"{PAGE}/remove")
    assert owner.browser.get(f"{required_page}/events").url.path == PAGE


def test_single_sign_on_counts(
    owner: Person, required_page: str, browser: Browser, accounts: Accounts
) -> None:
    sign_in(browser, accounts, owner)
    assert browser.get(f"{required_page}/events").url.path == f"{required_page}/events"


@pytest.fixture
def strict_console(database_url: str, tmp_path: Path, passwords: Counting) -> Iterator[Running]:
    """An installation that requires a second factor in every Space."""
    proxies = (ip_network("127.0.0.1"),)
    settings = Settings(data_dir=tmp_path, trusted_proxies=proxies, require_second_factor=True)
    application = run_application(settings, database_url, passwords)
    yield application
    application.stop()


def test_a_whole_installation(strict_console: Running, accounts: Accounts, space_id: int) -> None:
    user, browser = accounts.member(space_id), Browser(strict_console.base_url)
    home = f"/console/spaces/{space_id}"
    assert browser.log_in(user).url.path == PAGE
    enrol(browser)
    assert browser.get(f"{home}/events").url.path == f"{home}/events"
    browser.fill(ACCOUNT, "/logout")
    assert browser.log_in(user).url.path == FACTOR
    browser.client.close()
