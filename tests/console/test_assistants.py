"""The MCP page: the address, and personal tokens, which are shown once and can be revoked by permitted
members.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from headwater.console.forms import form_token
from headwater.spaces.accounts import tokens
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.tokens import MAX_TOKENS, NewToken
from tests.conftest import Running
from tests.console.conftest import Person
from tests.support.accounts import Accounts
from tests.support.lock_waits import is_waited_for
from tests.support.waiting import wait_until


def make_page(space_id: int) -> str:
    return f"/console/spaces/{space_id}/mcp"


def token_on(html: str) -> str:
    (token,) = re.findall(r"trk_mcp_[\w-]{43}", html)
    return token


def test_it_works(owner: Person, console: Running, accounts: Accounts, space_id: int) -> None:
    page = make_page(space_id)
    assert f"{console.base_url}/mcp/{space_id}/public-api" in owner.browser.get(page).text
    answer = owner.browser.fill(page, f"{page}/create", name="Laptop")
    token = token_on(answer.text)
    bearer = accounts.run(lambda c: tokens.find_token(c, token))
    assert bearer is not None
    assert (bearer.space_id, bearer.user_id, bearer.kind) == (space_id, owner.user.id, "personal")
    list_text = owner.browser.get(page).text
    assert "trk_mcp_" not in list_text
    assert f"1 of {MAX_TOKENS} tokens are in use" in list_text
    assert "Laptop" in list_text
    assert "The token is revoked" in owner.browser.fill(page, f"{page}/revoke").text
    assert accounts.run(lambda c: tokens.find_token(c, token)) is None


def test_what_oauth_issued_is_listed(owner: Person, accounts: Accounts, space_id: int) -> None:
    client = "https://assistant.example/client.json"
    new = NewToken(owner.user.id, "oauth", "Assistant", client, timedelta(days=365))
    accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    page = owner.browser.get(make_page(space_id)).text
    assert client in page
    assert "until" in page
    assert "never" in page


def test_no_more_than_twenty_five(owner: Person, accounts: Accounts, space_id: int) -> None:
    page = make_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    new = NewToken(owner.user.id, "personal", "t")
    for _ in range(MAX_TOKENS):
        accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    answer = owner.browser.send(form, name="One more")
    assert answer.status_code == 409
    assert "revoke one first" in answer.text
    assert "disabled" in owner.browser.get(page).text
    owner.browser.fill(page, f"{page}/revoke")
    assert owner.browser.send(form, name="One more").status_code == 200, "it was not used up"


def test_a_form_sent_twice_makes_one(owner: Person, space_id: int) -> None:
    page = make_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    assert owner.browser.send(form, name="First").status_code == 200
    assert owner.browser.send(form, name="Second").status_code == 403


@pytest.mark.parametrize("name", ["", " ", "x" * 121, "a\x07b"])
def test_a_name_is_a_label(owner: Person, space_id: int, name: str) -> None:
    page = make_page(space_id)
    answer = owner.browser.fill(page, f"{page}/create", name=name)
    assert answer.status_code == 422
    assert "The name must" in answer.text


@pytest.mark.parametrize("role", list(Role))
def test_who_may_revoke_whose(
    person: Callable[..., Person], accounts: Accounts, space_id: int, role: Role
) -> None:
    owner, visitor = person(Role.OWNER), person(role)
    page = make_page(space_id)
    for whose in (owner, visitor):
        new = NewToken(whose.user.id, "personal", "t")
        token, token_id = accounts.run(lambda c, new=new: tokens.issue_token(c, space_id, new))
        is_own = whose is visitor
        is_allowed = is_own or role is not Role.VIEWER
        is_offered = f'name="token" value="{token_id}"' in visitor.browser.get(page).text
        assert is_offered == is_allowed
        data = {"form_token": form_token(visitor.form_key, "revoke token"), "token": token_id}
        answer = visitor.browser.client.post(f"{page}/revoke", data=data)
        assert answer.status_code == (303 if is_allowed else 403)
        stored_token = accounts.run(lambda c, token=token: tokens.find_token(c, token))
        assert (stored_token is None) == is_allowed


def test_another_spaces_token(
    owner: Person, person: Callable[..., Person], make_space: Callable[..., int],
    accounts: Accounts, space_id: int,
) -> None:  # fmt: skip
    stranger = person(Role.OWNER, make_space())
    new = NewToken(owner.user.id, "personal", "t")
    token, token_id = accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    data = {"form_token": form_token(stranger.form_key, "revoke token"), "token": token_id}
    page = make_page(space_id)
    assert stranger.browser.client.post(f"{page}/revoke", data=data).status_code == 404
    assert accounts.run(lambda c: tokens.find_token(c, token)) is not None


def test_no_token_outlives_a_session_that_ends_meanwhile(
    owner: Person, connection: psycopg.Connection, database_url: str, space_id: int
) -> None:
    page = make_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database_url) as other_transaction:
        other_transaction.execute("DELETE FROM sessions WHERE user_id = %s", (owner.user.id,))
        answer = pool.submit(owner.browser.send, form, name="Laptop")
        wait_until(lambda: answer.done() or is_waited_for(connection, other_transaction))
        other_transaction.commit()
        assert answer.result().url.path == "/login"
    query = "SELECT count(*) FROM mcp_tokens WHERE space_id = %s"
    assert connection.execute(query, (space_id,)).fetchone() == (0,)
