"""An installation where only one owner still has a password, and the commands for setting this up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from headwater.spaces.accounts.invitations import invite
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.sessions import open_session
from headwater.spaces.accounts.users import User, create_user
from headwater.spaces.sso.documents import WELL_KNOWN
from headwater.spaces.sso.refusals import SsoReason
from tests.sso.conftest import INSTALLATION_SECRET
from tests.sso.fake_provider import DOMAIN, SECRET, Desk, FakeProvider
from tests.sso.test_hostile_provider import check_refusal
from tests.support.accounts import unique_email
from tests.support.commands import run_command
from tests.support.fake_platform import Answer


class Terminal:
    """The operator's commands."""

    def __init__(self, url: str) -> None:
        self._variables = {
            "HEADWATER_DATABASE_URL": url, "HEADWATER_SECRET_KEY": INSTALLATION_SECRET,
            "HEADWATER_SSO_HOSTS": "127.0.0.1",
        }  # fmt: skip

    def run(self, *arguments: str, stdin: str = "") -> Any:
        process = run_command("sso", *arguments, "--json", stdin=stdin, **self._variables)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    def fail(self, *arguments: str, stdin: str = "") -> str:
        process = run_command("sso", *arguments, "--json", stdin=stdin, **self._variables)
        assert process.returncode == 2, process.stdout
        return process.stderr


@pytest.fixture
def terminal(database_url: str) -> Terminal:
    return Terminal(database_url)


def add(terminal: Terminal, fake: FakeProvider, *arguments: str) -> Any:
    options = ("--issuer", fake.issuer, "--client-id", "client", "--secret", "client_secret=@-")
    return terminal.run("add", fake.name, *options, "--domain", DOMAIN.upper(), *arguments, stdin=SECRET)


@pytest.fixture
def chief(desk: Desk, space_id: int) -> User:
    """The owner who keeps a password."""
    return desk.accounts.member(space_id, name="Chief")


@pytest.fixture
def required_provider(
    desk: Desk, terminal: Terminal, chief: User, connection: psycopg.Connection
) -> Iterator[FakeProvider]:
    """The only way to log in, apart from the chief's password."""
    fake = desk.make()
    terminal.run("require", "--email", chief.email)
    yield fake
    connection.execute("DELETE FROM sso_password_users")


def test_it_works(desk: Desk, terminal: Terminal, connection: psycopg.Connection, space_id: int) -> None:
    """Add a provider, test it, change it, log in, remove it."""
    fake = desk.providers.make()
    role = f"{space_id}:admin:ads: all"
    added_provider = add(
        terminal, fake, "--role", role, "--role", f"{space_id}:viewer", "--require", "hd=acme.example"
    )
    assert added_provider == {
        "name": fake.name, "title": fake.name, "issuer": fake.issuer, "client_id": "client",
        "has_secret": True, "domains": DOMAIN,
        "roles": f"{role}, {space_id}:viewer", "require": "hd=acme.example",
    }  # fmt: skip
    row = connection.execute(
        "SELECT client_secret FROM sso_providers WHERE name = %s", (fake.name,)
    ).fetchone()
    assert row is not None
    assert SECRET.encode() not in row[0]
    assert terminal.run("test", fake.name) == {
        "name": fake.name, "token_endpoint": f"{fake.issuer}/token", "keys": 1,
    }  # fmt: skip
    check_refusal(desk.sign_in(fake), SsoReason.REQUIRED_CLAIM)
    new_version = terminal.run(
        "set", fake.name, "--title", "Acme ID", "--require", "name=Ada", "--scope", "groups"
    )
    assert new_version == {**added_provider, "title": "Acme ID", "require": "name=Ada"}
    query = desk.begin(desk.browser(), fake)
    assert query["scope"] == "openid email profile groups"
    assert desk.sign_in(fake).status_code == 303  # with the unchanged secret
    rows = terminal.run("list")
    assert {"passwords": "all", **new_version} in rows
    email = fake.account["email"]
    assert terminal.run("unlink", fake.name, "--email", email) == {"provider": fake.name, "email": email}
    fake.account["sub"] = "a new account"
    browser = desk.browser()
    assert desk.sign_in(fake, browser).status_code == 303
    terminal.run("remove", fake.name)
    assert browser.get("/console/account").status_code == 303  # the removed provider's sessions have ended
    assert browser.get(f"/login/sso/{fake.name}").status_code == 404


def test_a_test_names_the_cause(desk: Desk, terminal: Terminal) -> None:
    fake = desk.make({"steps": {WELL_KNOWN: Answer(404)}})
    assert f"The status of {fake.issuer}{WELL_KNOWN} is 404." in terminal.fail("test", fake.name)
    options = ("--client-id", "client", "--domain", DOMAIN)
    terminal.run("add", "plain", "--issuer", "http://id.example", *options)
    assert "id.example is only called by https on port 443." in terminal.fail("test", "plain")
    terminal.run("remove", "plain")


def test_an_issuer_is_not_the_address_of_its_settings(terminal: Terminal) -> None:
    options = ("--client-id", "client", "--domain", DOMAIN)
    error = terminal.fail("add", "long", "--issuer", f"https://id.example{WELL_KNOWN}", *options)
    assert f"must be without {WELL_KNOWN}" in error


def test_bad_options_are_refused(desk: Desk, terminal: Terminal, space_id: int) -> None:
    fake = desk.providers.make()
    arguments = ["--issuer", fake.issuer, "--client-id", "client"]
    domain = ["--domain", DOMAIN]
    for name, options, words in (
        ("Acme", [*arguments, *domain], "The name must be up to 32 lower-case letters"),
        ("acme", arguments, "The domain must be given at least once"),
        ("acme", [*arguments, "--domain", "acme"], "'acme' is not a domain"),
        ("acme", ["--issuer", "ftp://x", "--client-id", "c", *domain], "must be an https:// URL"),
        ("acme", ["--issuer", "https://x/?a", "--client-id", "c", *domain], "must be an https:// URL"),
        ("acme", ["--issuer", "https://x", "--client-id", "", *domain], "The client_id must be"),
        ("acme", [*arguments, *domain, "--role", "x"], "must be SPACE:ROLE"),
        ("acme", [*arguments, *domain, "--role", f"{space_id}:chief"], "must be SPACE:ROLE"),
        ("acme", [*arguments, *domain, "--role", "999999999:viewer"], "Space"),
        ("acme", [*arguments, *domain, "--scope", "a b"], "'a b' must be a word"),
        ("acme", [*arguments, *domain, "--title", ""], "The title must not be empty"),
        ("acme", [*arguments, *domain, "--secret", "password=@-"], "client_secret=@FILE"),
        ("acme", [*arguments, *domain, "--require", "hd"], "must be KEY=VALUE"),
    ):  # fmt: skip
        assert words in terminal.fail("add", name, *options), options
    add(terminal, fake)
    assert "There is a provider named" in terminal.fail("add", fake.name, *arguments, *domain)
    fake.metadata["issuer"] = "https://evil.example"
    assert "issuer" in terminal.fail("test", fake.name)
    for command in (["set", "none"], ["remove", "none"], ["test", "none"]):
        assert "Provider not found" in terminal.fail(*command)
    viewer = desk.accounts.member(space_id, Role.VIEWER)
    user_without_space = desk.accounts.run(lambda connection: create_user(connection, unique_email(), None))
    for user in (viewer, user_without_space):
        assert "must be an owner of a Space and have a password" in terminal.fail(
            "require", "--email", user.email
        )
    assert "no account linked" in terminal.fail("unlink", fake.name, "--email", viewer.email)


def test_passwords_are_off_except_one(
    desk: Desk, required_provider: FakeProvider, chief: User, space_id: int
) -> None:
    other_user = desk.accounts.member(space_id)
    browser = desk.console()
    page = browser.log_in(other_user)
    assert page.status_code == 422
    words = "The password is wrong, or this account must log in with single sign-on."
    assert words in page.text
    assert "Emergency login with a password" in page.text
    assert words in browser.fill("/login", "/login", email="nobody@example.com", password="wrong").text
    assert browser.log_in(chief).status_code == 200
    assert "Change password" in browser.get("/console/account").text
    required_provider.account["email"] = f"only-{space_id}@{DOMAIN}"
    assert desk.sign_in(required_provider).status_code == 303


def test_earlier_sessions_end(desk: Desk, terminal: Terminal, chief: User, space_id: int) -> None:
    fake = desk.make()
    by_password, kept_browser, by_provider = desk.browser(), desk.browser(), desk.browser()
    other_user = desk.accounts.member(space_id)
    for browser, user in ((by_password, other_user), (kept_browser, chief)):
        token, _ = desk.accounts.run(lambda c, user=user: open_session(c, user.id))
        browser.cookies.set("headwater_session", token)
    desk.sign_in(fake, by_provider)
    try:
        assert terminal.run("require", "--email", chief.email) == {"password_for": chief.email}
        statuses = [
            browser.get("/console/account").status_code
            for browser in (by_password, kept_browser, by_provider)
        ]
        assert statuses == [303, 200, 200]
        rows = terminal.run("list")
        assert {row["passwords"] for row in rows} == {chief.email}
    finally:
        assert terminal.run("optional") == {"password_for": "all"}
    assert by_password.get("/console/account").status_code == 303, "an ended session stays ended"
    assert desk.console().log_in(other_user).status_code == 200


@pytest.mark.usefixtures("required_provider")
def test_a_login_that_was_under_way(desk: Desk, chief: User, space_id: int) -> None:
    """A password that was checked before gives no session afterwards."""
    for user, status in ((desk.accounts.member(space_id), 303), (chief, 200)):
        token, _ = desk.accounts.run(lambda c, user=user: open_session(c, user.id))
        browser = desk.browser()
        browser.cookies.set("headwater_session", token)
        assert browser.get("/console/account").status_code == status


def test_no_password_is_chosen_elsewhere(desk: Desk, required_provider: FakeProvider, space_id: int) -> None:
    """Passwords can't be set by an invitation or on the account page."""
    link, _ = desk.accounts.run(lambda c: invite(c, space_id, f"new@{DOMAIN}", Role.ADMIN, None))
    browser = desk.browser()
    answer = browser.get(link)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={link}")
    assert desk.sign_in(required_provider, browser, next_path=link).headers["location"] == link
    console = desk.console()
    console.client.cookies.set("headwater_session", browser.cookies["headwater_session"])
    page = console.fill(link, link)
    assert page.url.path.startswith(f"/console/spaces/{space_id}")
    assert "Change password" not in console.get("/console/account").text
    form = console.form("/console/account", "/console/account/name")
    form.action = "/console/account/password"
    assert console.send(form, current="x", password="a long enough one").status_code == 403


def test_an_account_by_invitation_needs_no_provider_otherwise(desk: Desk, space_id: int) -> None:
    link, email = desk.accounts.run(lambda c: invite(c, space_id, unique_email(), Role.ADMIN, None))
    assert f'value="{email}"' in desk.browser().get(link).text


def test_providers_before_the_first_account_are_shown(desk: Desk) -> None:
    fake = desk.make(title="<b>First</b>")
    page = desk.browser().get("/login").text
    assert f"/login/sso/{fake.name}?next=/console" in page
    assert "Log in with <bdi>&lt;b&gt;First&lt;/b&gt;</bdi>" in page
