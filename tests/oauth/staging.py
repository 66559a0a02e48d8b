"""Assistants and the people who authorize them, both over HTTP."""

from __future__ import annotations

import base64
import hashlib
import itertools
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import psycopg
from psycopg.sql import SQL, Identifier

from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import User
from tests.oauth.internet import DOMAIN, Internet, page
from tests.oauth.pages import PageForm, read_form_to
from tests.support.accounts import PASSWORD, Accounts
from tests.support.lock_waits import is_waited_for
from tests.support.waiting import PATIENCE_SECONDS, wait_until

AUTHORIZE, TOKEN, REGISTER = "/mcp/oauth/authorize", "/mcp/oauth/token", "/mcp/oauth/register"
LOOPBACK = "http://127.0.0.1:33418/callback"

_addresses = itertools.count(1)


def new_address() -> str:
    """Return an address without registrations."""
    number = next(_addresses)
    return f"11.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def make_challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def make_query(location: str) -> dict[str, str]:
    """Return the parameters of a URL, each given once."""
    parameters = parse_qs(urlsplit(location).query, keep_blank_values=True, strict_parsing=True)
    assert all(len(values) == 1 for values in parameters.values())
    return {name: values[0] for name, values in parameters.items()}


@dataclass
class Person:
    """A user with a browser."""

    browser: httpx.Client
    user: User

    def log_in(self, next_path: str = "/console") -> httpx.Response:
        answer = self.browser.get("/login", params={"next": next_path})
        return self.submit(answer, "/login", email=self.user.email, password=PASSWORD)

    def submit(self, page: httpx.Response, path: str, **fields: str) -> httpx.Response:
        """Submit a page's form."""
        form = read_form_to(page.text, path)
        return self.browser.post(form.action, data=form.fields | fields)

    def open_authorization(self, request: Mapping[str, str] | str) -> httpx.Response:
        """Open the address that a client redirects the user to."""
        query = request if isinstance(request, str) else urlencode(request)
        return self.browser.get(f"{AUTHORIZE}?{query}")

    def form(self, request: Mapping[str, str] | str) -> PageForm:
        answer = self.open_authorization(request)
        assert answer.status_code == 200, answer.text
        return read_form_to(answer.text, AUTHORIZE)

    def answer(
        self, request: Mapping[str, str] | str, decision: str = "approve", **fields: str
    ) -> httpx.Response:
        """Open a request and answer it."""
        form = self.form(request)
        return self.browser.post(form.action, data=form.fields | fields | {"decision": decision})


@dataclass
class Assistant:
    """A client with its own verifier."""

    id: str
    redirect_uri: str = LOOPBACK
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def request(self, **changes: str | None) -> dict[str, str]:
        """Return the parameters of an authorization request; None leaves one out."""
        parameters = {
            "response_type": "code", "client_id": self.id, "redirect_uri": self.redirect_uri,
            "code_challenge": make_challenge(self.verifier), "code_challenge_method": "S256",
            "state": "st", "scope": "mcp:use",
        } | changes  # fmt: skip
        return {name: value for name, value in parameters.items() if value is not None}

    def form(self, code: str, /, **changes: str | None) -> dict[str, str]:
        """Return the parameters of a token request; None leaves one out."""
        parameters = {
            "grant_type": "authorization_code", "code": code, "client_id": self.id,
            "redirect_uri": self.redirect_uri, "code_verifier": self.verifier,
        } | changes  # fmt: skip
        return {name: value for name, value in parameters.items() if value is not None}


@dataclass
class Installation:
    """A running Headwater with users and assistants."""

    base_url: str
    accounts: Accounts
    connection: psycopg.Connection
    internet: Internet
    make_space: Callable[..., int]
    http: httpx.Client
    people: list[Person] = field(default_factory=list[Person])

    def close(self) -> None:
        for person in self.people:
            person.browser.close()

    def person(self, *space_ids: int, role: Role = Role.OWNER, logged_in: bool = True) -> Person:
        """Make a new user who is a member of these Spaces."""
        user = self.accounts.user()
        for space_id in space_ids:
            self.connection.execute(
                "INSERT INTO memberships (space_id, user_id, role) VALUES (%s, %s, %s)",
                (space_id, user.id, role),
            )
        person = Person(httpx.Client(base_url=self.base_url, timeout=PATIENCE_SECONDS), user)
        self.people.append(person)
        if logged_in:
            assert person.log_in().status_code == 303
        return person

    def register(self, body: Any = None, address: str | None = None, **extra_metadata: Any) -> httpx.Response:
        metadata = {"client_name": "Test", "redirect_uris": [LOOPBACK]} | extra_metadata
        headers = {"X-Forwarded-For": address or new_address()}
        return self.http.post(REGISTER, json=metadata if body is None else body, headers=headers)

    def assistant(self, redirect_uri: str = LOOPBACK, name: str = "Test") -> Assistant:
        """Make a client that registers itself."""
        answer = self.register(client_name=name, redirect_uris=[redirect_uri])
        assert answer.status_code == 201, answer.text
        return Assistant(answer.json()["client_id"], redirect_uri)

    def host(self, document: Mapping[str, Any] | None = None, **headers: str) -> Assistant:
        """Make a client with a metadata document on its own host."""
        host = f"h{secrets.token_hex(6)}.{DOMAIN}"
        url = f"https://{host}/client.json"
        metadata = {
            "client_id": url, "client_name": "Hosted", "redirect_uris": [LOOPBACK],
            "token_endpoint_auth_method": "none", **(document or {}),
        }  # fmt: skip
        self.internet.pages[url.removeprefix("https://")] = page(metadata, **headers)
        return Assistant(url)

    def code(self, person: Person, assistant: Assistant, **changes: str | None) -> str:
        """Return an authorization code that the client receives."""
        answer = person.answer(assistant.request(**changes))
        assert answer.status_code == 303, answer.text
        return make_query(answer.headers["location"])["code"]

    def exchange(self, assistant: Assistant, code: str, /, **changes: str | None) -> httpx.Response:
        return self.http.post(TOKEN, data=assistant.form(code, **changes))

    def token(self, person: Person, assistant: Assistant) -> str:
        answer = self.exchange(assistant, self.code(person, assistant))
        assert answer.status_code == 200, answer.text
        return answer.json()["access_token"]

    def knock(self, space_id: int, token: str | None) -> httpx.Response:
        """Request the list of tools from a Space's MCP resource."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.http.post(
            f"/mcp/{space_id}/public-api",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
            headers={"Accept": "application/json, text/event-stream",
                     "MCP-Protocol-Version": "2025-11-25", **headers},
        )  # fmt: skip

    def run_together(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run all functions at the same time, and return their results."""
        with ThreadPoolExecutor(len(works)) as pool:
            return [future.result() for future in [pool.submit(act) for act in works]]

    def fill(self, space_id: int, person: Person, leaving: int = 0) -> None:
        """Create tokens for the Space until it has room for `leaving` more."""
        self.connection.execute(
            "INSERT INTO mcp_tokens (space_id, user_id, kind, name, token_hash, hint)"
            " SELECT %s, %s, 'personal', 'test', sha256(gen_random_uuid()::text::bytea), 'abcd'"
            " FROM generate_series(1, %s)",
            (space_id, person.user.id, 25 - leaving),
        )

    def wait_for_a_lock(self, holder: psycopg.Connection) -> None:
        """Wait until a session waits for a lock that `holder` has."""
        wait_until(lambda: is_waited_for(self.connection, holder))

    def dump(self, *tables: str) -> str:
        """Return the contents of these tables as text."""
        rows = [
            row
            for table in tables
            for row in self.connection.execute(SQL("SELECT t::text FROM {} t").format(Identifier(table)))
        ]
        return "\n".join(row[0] for row in rows)
