"""A certified provider, with users of its pages and ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from headwater.spaces.accounts.roles import Role
from headwater.spaces.encryption import derive_key
from headwater.spaces.sso.providers import (
    ProviderSettings,
    RoleRule,
    SsoProvider,
    add_provider,
    change_provider,
    seal_secret,
)
from tests.conformance.node import Node
from tests.conftest import Running
from tests.oauth.pages import PageForm, read_forms, read_text
from tests.oauth.staging import Assistant, make_challenge, make_query
from tests.sso.conftest import INSTALLATION_SECRET
from tests.support.accounts import Accounts
from tests.support.waiting import PATIENCE_SECONDS

SCRIPT = Path(__file__).with_name("oidc_provider.mjs")
SECRET = "a client secret with: odd %+ characters"


@dataclass
class ProviderProcess:
    """The provider's process."""

    process: subprocess.Popen[str]
    issuer: str
    provider: SsoProvider

    def send_command(self, command: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline()

    def account(self, person: str, **claims: Any) -> None:
        all_claims = {
            "email": f"{person}@corp.example",
            "email_verified": True,
            "name": "Grace Hopper",
            **claims,
        }
        self.send_command({"account": {"id": person, "claims": all_claims}})


@pytest.fixture(scope="session")
def provider_process(node: Node, sso_server: Running, database_url: str) -> Iterator[ProviderProcess]:
    name = f"certified-{uuid4().hex[:8]}"
    base_url = f"{sso_server.base_url}/login/sso/{name}"
    process = node.start(
        SCRIPT, f"{base_url}/callback", f"{base_url}/logout", f"{sso_server.base_url}/login", SECRET
    )
    assert process.stdout is not None
    issuer = json.loads(process.stdout.readline())["issuer"]
    settings = ProviderSettings("Corp ID", ("corp.example",), scopes=("groups",))
    key = derive_key(INSTALLATION_SECRET)
    provider = seal_secret(SsoProvider(name, issuer, "headwater", None, settings), key, SECRET)
    Accounts(database_url).run(lambda connection: add_provider(connection, provider))
    yield ProviderProcess(process, issuer, provider)
    process.communicate(timeout=PATIENCE_SECONDS)


@dataclass
class Colleague:
    """A user with a browser and an account at the provider."""

    browser: httpx.Client
    name: str
    certified: ProviderProcess
    base_url: str

    def open(self, path: str) -> httpx.Response:
        return self.browser.get(f"{self.base_url}{path}")

    def submit(self, page: httpx.Response, form: PageForm, **fields: str) -> httpx.Response:
        return self.browser.post(page.url.join(form.action), data=form.fields | fields)

    def follow(self, page: httpx.Response, address_part: str) -> httpx.Response:
        """Follow the link whose address contains a word."""
        (link,) = {
            fragment.partition('"')[0]
            for fragment in page.text.split('href="')[1:]
            if address_part in fragment.partition('"')[0]
        }
        return self.browser.get(page.url.join(link.replace("&amp;", "&")))

    def pass_provider(self, page: httpx.Response) -> httpx.Response:
        """Fill in the provider's pages until they lead back."""
        while str(page.url).startswith(self.certified.issuer):
            (form,) = read_forms(page.text)
            page = self.submit(page, form, login=self.name, password="any")
        return page

    def sign_in(self, next_path: str = "/console/account") -> httpx.Response:
        login = self.browser.get(f"{self.base_url}/login", params={"next": next_path})
        return self.pass_provider(self.follow(login, self.certified.provider.path))

    def log_out(self) -> httpx.Response:
        page = self.open("/console/account")
        (form,) = [form for form in read_forms(page.text) if form.action == "/logout"]
        return self.submit(page, form)


@pytest.fixture
def colleague(sso_server: Running, provider_process: ProviderProcess) -> Iterator[Callable[[], Colleague]]:
    """A function that makes users with a browser and an account at the provider."""
    colleagues: list[Colleague] = []

    def make() -> Colleague:
        name = f"g{uuid4().hex[:12]}"
        provider_process.account(name)
        browser = httpx.Client(
            timeout=PATIENCE_SECONDS, follow_redirects=True, headers={"Accept": "text/html"}
        )
        colleagues.append(Colleague(browser, name, provider_process, sso_server.base_url))
        return colleagues[-1]

    yield make
    for person in colleagues:
        person.browser.close()


@pytest.fixture
def rules(provider_process: ProviderProcess, database_url: str) -> Callable[..., None]:
    """A function that sets the roles of the provider's users."""

    def set_rules(*rules: RoleRule) -> None:
        settings = ProviderSettings("Corp ID", ("corp.example",), rules=rules, scopes=("groups",))
        provider = SsoProvider(
            provider_process.provider.name,
            provider_process.issuer,
            "headwater",
            provider_process.provider.sealed_secret,
            settings,
        )
        Accounts(database_url).run(lambda connection: change_provider(connection, provider))

    return set_rules


def read_role(connection: psycopg.Connection, space_id: int, person: Colleague) -> str | None:
    row = connection.execute(
        "SELECT m.role FROM memberships m JOIN users u ON u.id = m.user_id"
        " WHERE m.space_id = %s AND u.email = %s",
        (space_id, f"{person.name}@corp.example"),
    ).fetchone()
    return row[0] if row else None


def test_it_works(
    colleague: Callable[[], Colleague],
    provider_process: ProviderProcess,
    rules: Callable[..., None],
    connection: psycopg.Connection,
    space_id: int,
) -> None:
    """Log in for the first time, get a role by group, log in again after a key rotation, and log out."""
    rules(RoleRule(space_id, Role.VIEWER), RoleRule(space_id, Role.ADMIN, "marketing"))
    person = colleague()
    provider_process.account(person.name, groups=["marketing", "other"])
    page = person.sign_in()
    assert page.url.path == "/console/account"
    assert "Grace Hopper" in page.text
    assert "Change password" not in page.text
    assert read_role(connection, space_id, person) == "admin"

    page = person.log_out()
    assert "still logged in at Corp ID" in read_text(page.text)
    assert person.open("/console/account").url.path == "/login"
    provider_process.send_command({"rotate": True})
    provider_process.account(person.name, groups=[])
    page = person.sign_in(f"/console/spaces/{space_id}/members")  # the provider still remembers the user
    assert page.url.path == f"/console/spaces/{space_id}/members"
    assert read_role(connection, space_id, person) == "viewer"
    count = connection.execute(
        "SELECT count(*) FROM users WHERE email = %s", (f"{person.name}@corp.example",)
    ).fetchone()
    assert count == (1,)

    page = person.follow(person.log_out(), "/session/end")
    assert page.url.path == "/session/end"
    (form,) = read_forms(page.text)
    page = person.submit(page, form, logout="yes")
    assert str(page.url) == f"{person.base_url}/login"
    login = person.follow(person.open("/login"), provider_process.provider.path)
    assert str(login.url).startswith(f"{provider_process.issuer}/interaction/")  # it asks for a login again


def test_the_provider_ends_the_session(
    colleague: Callable[[], Colleague], provider_process: ProviderProcess, connection: psycopg.Connection
) -> None:
    """The user is logged out at the provider, by another application."""
    person = colleague()
    person.sign_in()
    page = person.browser.get(f"{provider_process.issuer}/session/end")
    (form,) = read_forms(page.text)
    person.submit(page, form, logout="yes")
    assert person.open("/console/account").url.path == "/login"
    row = connection.execute(
        "SELECT count(*) FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.email = %s",
        (f"{person.name}@corp.example",),
    ).fetchone()
    assert row == (0,)


def test_a_person_who_says_no(colleague: Callable[[], Colleague], provider_process: ProviderProcess) -> None:
    person = colleague()
    page = person.follow(person.open("/login"), provider_process.provider.path)
    page = person.follow(page, "/abort")
    assert page.status_code == 403
    assert "provider_declined" in page.text


def test_another_account(colleague: Callable[[], Colleague], provider_process: ProviderProcess) -> None:
    """After a refusal, the user can choose another account at the provider."""
    person = colleague()
    provider_process.account(person.name, email_verified=False)
    page = person.sign_in()
    assert page.status_code == 403
    assert "email_not_verified" in page.text
    assert "Use another account of Corp ID" in read_text(page.text)
    provider_process.account(person.name)
    assert person.sign_in().url.path == "/console/account"


def test_assistants_are_admitted_after_a_sign_in(
    colleague: Callable[[], Colleague], rules: Callable[..., None], space_id: int, sso_server: Running
) -> None:
    rules(RoleRule(space_id, Role.VIEWER))
    person = colleague()
    redirect_uri = "http://127.0.0.1:33418/callback"
    registration = person.browser.post(
        f"{sso_server.base_url}/mcp/oauth/register",
        json={"client_name": "Test", "redirect_uris": [redirect_uri]},
        headers={"X-Forwarded-For": "13.0.0.1"},
    ).json()
    assistant = Assistant(registration["client_id"], redirect_uri)
    assert make_challenge(assistant.verifier)
    query = httpx.QueryParams(assistant.request(state="s" * 500))
    login = person.open(f"/mcp/oauth/authorize?{query}")
    assert login.url.path == "/login"
    at_provider = f"/login/sso/{person.certified.provider.name}"
    page = person.pass_provider(person.follow(login, at_provider))
    assert page.url.path == "/mcp/oauth/authorize"
    assert page.headers["cross-origin-opener-policy"] == "unsafe-none"
    (form,) = [form for form in read_forms(page.text) if form.action.startswith("/mcp/oauth/authorize")]
    answer = person.browser.post(
        page.url.join(form.action),
        data=form.fields | {"space_id": str(space_id), "decision": "approve"},
        follow_redirects=False,
    )
    code = make_query(answer.headers["location"])["code"]
    token = person.browser.post(f"{sso_server.base_url}/mcp/oauth/token", data=assistant.form(code))
    assert token.json()["access_token"].startswith("trk_mcp_")
