"""Each action on an account adds one entry to the audit log of the installation, or of the Space it concerns.
No entry has a password, a secret, a code, a link or an address. A route missing from both tables fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.spaces.accounts import invitations, links
from headwater.spaces.accounts.roles import Role
from tests.conftest import run_application
from tests.console.browsing import Browser
from tests.console.conftest import Counting, Person
from tests.console.test_passkeys import Owner, named_host, user, visit  # noqa: F401 # fixtures
from tests.console.test_passkeys import log_in as use_passkey
from tests.console.test_roles_and_spaces import ELSEWHERE
from tests.oauth.staging import AUTHORIZE, Installation
from tests.support.accounts import PASSWORD, Accounts, unique_email
from tests.support.audited import CANARY, EMAIL, last_entry, list_entries
from tests.support.factors import CONFIRM, FACTOR, PAGE, enrol, forget_used_codes

ACCOUNT = "/console/account"
NEW = f"{CANARY} password of another kind"
OF_INSTALLATION = 0

WALKED = {
    "/login", "/logout", "/login/factor", "/login/passkey", "/console/set-up/{token}",
    "/console/reset/{token}", "/console/join/{token}", "/mail/{token}", f"{ACCOUNT}/name",
    f"{ACCOUNT}/password",
    f"{ACCOUNT}/sessions/close", f"{ACCOUNT}/sessions/close-all", f"{ACCOUNT}/confirm",
    f"{ACCOUNT}/authenticator", f"{ACCOUNT}/authenticator/codes", f"{ACCOUNT}/authenticator/remove",
    f"{ACCOUNT}/passkeys", f"{ACCOUNT}/passkeys/remove",
}  # fmt: skip
OTHERS = {"/login/sso/{provider}/logout": "tests/sso/test_provisioning.py"}


@dataclass
class Log:
    """Reads new entries of the audit log."""

    connection: psycopg.Connection
    last_id: int

    def read(self) -> list[dict[str, Any]]:
        """Return the entries since the last call, and check that they contain no secret or personal data."""
        entries = list_entries(self.connection, self.last_id)
        self.last_id = max([self.last_id, *(entry["id"] for entry in entries)])
        entries_text = json.dumps(entries).lower()
        assert not [word for word in (CANARY, "@", PASSWORD, "$argon2") if word in entries_text]
        return entries

    def read_entry(
        self, action: str, user_id: int | None, *kinds: str, space_id: int = OF_INSTALLATION
    ) -> Any:
        """Return the only entry since the last call, and check its action and the kinds of its rows."""
        (entry,) = self.read()
        assert (entry["way"], entry["action"], entry["user_id"]) == ("console", action, user_id)
        assert entry["space_id"] == space_id
        assert entry["address"]
        assert {change["kind"] for change in entry["changes"]} == set(kinds)
        return entry


@pytest.fixture
def log(connection: psycopg.Connection) -> Log:
    return Log(connection, last_entry(connection))


def test_it_works() -> None:
    """Every account route is tested here or in another file."""
    assert {path for method, path in ELSEWHERE if method == "POST"} == WALKED | OTHERS.keys()


def test_login_and_logout(owner: Person, browser: Browser, log: Log) -> None:
    assert browser.log_in(owner.user, "wrong password").status_code == 422
    assert log.read_entry("login", owner.user.id, "session")["changes"][0]["after"] == {"refused": "password"}
    browser.log_in(owner.user)
    log.read_entry("login", owner.user.id, "session")
    browser.fill(ACCOUNT, "/logout")
    (change,) = log.read_entry("logout", owner.user.id, "session")["changes"]
    assert "after" not in change
    browser.fill("/login", "/login", email=EMAIL, password="nobody knows it")
    log.read_entry("login", None, "session")  # an unknown account costs the same


def test_name_and_password(owner: Person, browser: Browser, log: Log) -> None:
    owner.browser.fill(ACCOUNT, f"{ACCOUNT}/name", name=f"{CANARY} Ash")
    log.read_entry("account/name", owner.user.id, "user")
    owner.browser.fill(ACCOUNT, f"{ACCOUNT}/name", name=f"{CANARY} Ash")
    assert log.read() == []
    owner.browser.fill(ACCOUNT, f"{ACCOUNT}/password", current="wrong", password=NEW)
    assert log.read() == []
    browser.log_in(owner.user)
    log.read()
    owner.browser.fill(ACCOUNT, f"{ACCOUNT}/password", current=PASSWORD, password=NEW)
    entry = log.read_entry("account/password", owner.user.id, "user", "session")
    ended_sessions = [change for change in entry["changes"] if "after" not in change]
    assert len(ended_sessions) == 2, "every session before"


def test_sessions(owner: Person, new_browser: Callable[[], Browser], log: Log) -> None:
    for _ in range(2):
        new_browser().log_in(owner.user)
    assert len(log.read()) == 2
    owner.browser.send(owner.browser.form(ACCOUNT, f"{ACCOUNT}/sessions/close"))
    assert len(log.read_entry("account/sessions/close", owner.user.id, "session")["changes"]) == 1
    owner.browser.fill(ACCOUNT, f"{ACCOUNT}/sessions/close-all")
    assert len(log.read_entry("account/sessions/close-all", owner.user.id, "session")["changes"]) == 2


def test_an_authenticator(owner: Person, browser: Browser, connection: psycopg.Connection, log: Log) -> None:
    browser.log_in(owner.user)
    log.read()
    app = enrol(owner.browser)
    entry = log.read_entry(
        "account/authenticator", owner.user.id, "authenticator", "recovery_codes", "session"
    )
    secrets = [app.secret, *app.recovery_codes]
    assert not [secret for secret in secrets if secret in json.dumps(entry)]
    forget_used_codes(connection, owner.user.id)
    browser.log_in(owner.user)
    assert log.read() == [], "the second factor is missing yet"
    assert browser.fill(FACTOR, FACTOR, code=app.wrong_code()).status_code == 422
    log.read_entry("login/factor", owner.user.id, "session")
    assert browser.fill(FACTOR, FACTOR, code=app.code()).status_code == 200
    log.read_entry("login/factor", owner.user.id, "session")
    assert browser.fill(CONFIRM, CONFIRM, code=app.wrong_code()).status_code == 422
    log.read_entry("account/confirm", owner.user.id, "session")
    owner.browser.fill(ACCOUNT, f"{PAGE}/codes")
    log.read_entry("account/authenticator/codes", owner.user.id, "recovery_codes")
    owner.browser.fill(ACCOUNT, f"{PAGE}/remove")
    log.read_entry("account/authenticator/remove", owner.user.id, "authenticator", "recovery_codes")


def test_a_passkey(user: Owner, visit: Callable[[], Browser], log: Log) -> None:  # noqa: F811
    log.read()
    user.add(name="Phone")
    log.read_entry("account/passkeys", user.user.id, "passkey", "recovery_codes")
    use_passkey(visit(), user.device)
    log.read_entry("login/passkey", user.user.id, "session")
    user.browser.fill(ACCOUNT, f"{ACCOUNT}/passkeys/remove")
    log.read_entry("account/passkeys/remove", user.user.id, "passkey", "recovery_codes")


def test_a_reset_link(owner: Person, accounts: Accounts, browser: Browser, log: Log) -> None:
    link = accounts.run(lambda c: links.make_reset_link(c, owner.user.id))
    browser.fill(link, link, password=NEW)
    entry = log.read_entry("reset/{token}", owner.user.id, "user", "session")
    assert link.rpartition("/")[2] not in json.dumps(entry)


@pytest.fixture
def invitation(accounts: Accounts, space_id: int) -> str:
    return accounts.run(lambda c: invitations.invite(c, space_id, unique_email(), Role.VIEWER, None))[0]


def test_joining_with_a_new_account(browser: Browser, invitation: str, space_id: int, log: Log) -> None:
    browser.fill(invitation, invitation, name=CANARY, email=f"{CANARY}-{unique_email()}", password=NEW)
    member, account = log.read()
    assert (member["space_id"], account["space_id"]) == (space_id, OF_INSTALLATION)
    assert [change["kind"] for change in member["changes"]] == ["member", "invitation"]
    assert member["changes"][1]["after"]["accepted_at"]
    assert [change["kind"] for change in account["changes"]] == ["user", "session"]
    assert {entry["action"] for entry in (member, account)} == {"join/{token}"}


def test_joining_as_a_user(
    person: Callable[..., Person], make_space: Callable[..., int], invitation: str, space_id: int, log: Log
) -> None:
    guest = person(Role.OWNER, make_space(name="Elsewhere"))
    guest.browser.fill(invitation, invitation)
    log.read_entry("join/{token}", guest.user.id, "member", "invitation", space_id=space_id)


def test_the_first_account(young_url: str, passwords: Counting) -> None:
    """The account gets every existing Space: each has an entry, and so has the installation."""
    with psycopg.connect(young_url, autocommit=True) as connection:
        connection.execute("INSERT INTO spaces (name) VALUES ('One'), ('Two')")
        link = links.make_set_up_link(connection) or ""
        application = run_application(Settings(), young_url, passwords)
        browser, log = Browser(application.base_url), Log(connection, 0)
        browser.fill(link, link, email=EMAIL, password=NEW)
        entries = log.read()
        browser.client.close()
        application.stop()
    assert sorted(entry["space_id"] for entry in entries) == [OF_INSTALLATION, 1, 2]
    kinds = {entry["space_id"]: [change["kind"] for change in entry["changes"]] for entry in entries}
    assert kinds == {OF_INSTALLATION: ["user", "session"], 1: ["member"], 2: ["member"]}
    assert {entry["action"] for entry in entries} == {"set-up/{token}"}


def test_an_assistant(installation: Installation, space_id: int, log: Log) -> None:
    member, assistant = installation.person(space_id), installation.assistant()
    log.read()
    member.answer(assistant.request(), "deny")
    assert log.read() == []
    for answers in ({}, {"read_only": "1"}):
        member.answer(assistant.request(), "approve", **answers)
        entry = log.read_entry("mcp/oauth/authorize", member.user.id, "assistant_token", space_id=space_id)
        assert entry["changes"][0]["after"]["read_only"] == bool(answers)
    page = member.open_authorization(assistant.request())
    member.submit(page, AUTHORIZE, decision="switch")
    log.read_entry("mcp/oauth/authorize", member.user.id, "session")


def test_an_answer_to_a_mail(
    owner: Person, browser: Browser, connection: psycopg.Connection, space_id: int, log: Log
) -> None:
    page = f"/console/spaces/{space_id}/alerts"
    owner.browser.fill(
        f"{page}/rules", f"{page}/channels/create", kind="email", name=CANARY, address=EMAIL
    )  # fmt: skip
    log.read_entry("alerts/channels/create", owner.user.id, "alert_channel", space_id=space_id)
    ((link,),) = connection.execute(
        "SELECT content ->> 'link' FROM messages WHERE space_id = %s", (space_id,)
    ).fetchall()
    browser.fill(link, link, answer=f"{CANARY}, and any text")
    assert log.read() == []
    for answer in ("agree", "refuse"):
        browser.fill(link, link, answer=answer)
        log.read_entry("mail/{token}", None, "alert_channel", space_id=space_id)
