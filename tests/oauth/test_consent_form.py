"""The form of the consent page: it can be used once, for the request, client and person it was made for."""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from headwater.console.forms import TOKEN
from tests.oauth.pages import read_form_to
from tests.oauth.staging import AUTHORIZE, Assistant, Installation, Person
from tests.oauth.test_consent import codes
from tests.support.lock_waits import is_waited_for
from tests.support.waiting import wait_until


def test_looking_never_agrees(installation: Installation, person: Person, space_id: int) -> None:
    """Opening the page again doesn't consent either, and neither does a client that was authorized before."""
    assistant = installation.assistant()
    installation.token(person, assistant)
    before = codes(installation, space_id)
    for extra in ({}, {"prompt": "none"}, {"decision": "approve"}, {"approval_prompt": "auto"}):
        assert person.open_authorization(assistant.request() | extra).status_code == 200
    assert codes(installation, space_id) == before


def test_a_page_agrees_once(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    form = person.form(assistant.request())
    data = form.fields | {"decision": "approve"}
    answers = installation.run_together([lambda: person.browser.post(form.action, data=data)] * 5)
    assert sorted(answer.status_code for answer in answers) == [303] + [403] * 4
    assert person.browser.post(form.action, data=data).status_code == 403
    assert codes(installation, space_id) == 1


def test_a_refused_form_leads_to_its_page(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    """The assistant waits for an answer to this request."""
    form = person.form(assistant.request())
    refusal = person.browser.post(form.action, data=form.fields | {"decision": "approve", TOKEN: "1.x.y"})
    (address,) = re.findall(r'<a class="button" href="([^"]+)">', refusal.text)
    fresh = read_form_to(person.browser.get(html.unescape(address)).text, AUTHORIZE)
    assert person.browser.post(fresh.action, data=fresh.fields | {"decision": "approve"}).status_code == 303
    assert codes(installation, space_id) == 1


@pytest.mark.parametrize("token", [None, "", "x", "1.x.y", "ä"])
def test_a_form_without_its_token(
    installation: Installation, person: Person, assistant: Assistant, space_id: int,
    token: str | None,
) -> None:  # fmt: skip
    form = person.form(assistant.request())
    data: dict[str, Any] = form.fields | {"decision": "approve", TOKEN: token}
    for decision in ("approve", "deny", "switch"):
        answer = person.browser.post(form.action, data=data | {"decision": decision})
        assert answer.status_code == 403
        assert "location" not in answer.headers
    assert codes(installation, space_id) == 0


def test_another_persons_page(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    """An attacker's page, submitted by another user's browser."""
    attacker = installation.person(space_id)
    form = attacker.form(assistant.request())
    answer = person.browser.post(form.action, data=form.fields | {"decision": "approve"})
    assert (answer.status_code, codes(installation, space_id)) == (403, 0)


@pytest.mark.parametrize(
    "change", [{"state": "other"}, {"code_challenge": "b" * 43}, {"scope": "mcp:use x"}, {"a": "b"}]
)
def test_a_page_agrees_to_its_own_request(
    installation: Installation, person: Person, assistant: Assistant, space_id: int,
    change: dict[str, str],
) -> None:  # fmt: skip
    form = person.form(assistant.request())
    request = assistant.request() | change
    answer = person.browser.post(AUTHORIZE, params=request, data=form.fields | {"decision": "approve"})
    assert (answer.status_code, codes(installation, space_id)) == (403, 0)
    assert person.browser.post(
        form.action + "&", data=form.fields | {"decision": "approve"}
    ).status_code == 403  # fmt: skip


def test_another_clients_page(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    form = person.form(assistant.request())
    other_assistant = installation.assistant()
    answer = person.browser.post(
        AUTHORIZE, params=other_assistant.request(), data=form.fields | {"decision": "approve"}
    )
    assert (answer.status_code, codes(installation, space_id)) == (403, 0)


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    ],
)  # fmt: skip
def test_a_form_on_another_site(
    installation: Installation, person: Person, assistant: Assistant, space_id: int,
    headers: dict[str, str],
) -> None:  # fmt: skip
    form = person.form(assistant.request())
    data = form.fields | {"decision": "approve"}
    answer = person.browser.post(form.action, data=data, headers=headers)
    assert (answer.status_code, codes(installation, space_id)) == (403, 0)
    good = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    assert person.browser.post(form.action, data=data, headers=good).status_code == 303


def test_who_was_removed_meanwhile(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    form = person.form(assistant.request())
    installation.connection.execute("DELETE FROM memberships WHERE space_id = %s", (space_id,))
    answer = person.browser.post(form.action, data=form.fields | {"decision": "approve"})
    assert (answer.status_code, codes(installation, space_id)) == (422, 0)


def test_a_session_that_ended_meanwhile(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    form = person.form(assistant.request())
    person.browser.cookies.clear()
    answer = person.browser.post(form.action, data=form.fields | {"decision": "approve"})
    assert (answer.status_code, answer.headers["location"]) == (303, form.action)
    assert codes(installation, space_id) == 0
    login_address = person.browser.get(answer.headers["location"]).headers["location"]
    assert login_address.startswith("/login?next=")


def test_a_session_that_ends_at_the_same_moment(
    installation: Installation, person: Person, assistant: Assistant, space_id: int, database_url: str
) -> None:
    """A new password that revokes all tokens finds no code made behind its back."""
    form = person.form(assistant.request())
    data = form.fields | {"decision": "approve"}
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database_url) as other_transaction:
        other_transaction.execute("DELETE FROM sessions WHERE user_id = %s", (person.user.id,))
        answer = pool.submit(person.browser.post, form.action, data=data)
        wait_until(lambda: answer.done() or is_waited_for(installation.connection, other_transaction))
        other_transaction.commit()
        assert answer.result().headers["location"] == form.action
    assert codes(installation, space_id) == 0


def test_another_account(installation: Installation, person: Person, assistant: Assistant) -> None:
    form = person.form(assistant.request())
    cookie = dict(person.browser.cookies)
    answer = person.browser.post(form.action, data=form.fields | {"decision": "switch"})
    assert answer.headers["location"].startswith("/login?next=")
    assert "headwater_session" not in person.browser.cookies
    page = person.browser.get(answer.headers["location"])
    assert read_form_to(page.text, "/login").fields["next"] == form.action
    old = httpx.get(installation.base_url + form.action, cookies=cookie)
    assert old.headers["location"].startswith("/login")


def test_a_new_session_begins_with_each_login(installation: Installation, space_id: int) -> None:
    person = installation.person(space_id, logged_in=False)
    person.browser.get("/login")
    before = dict(person.browser.cookies)
    person.log_in()
    first = person.browser.cookies["headwater_session"]
    assert first not in before.values()
    planted_cookie = "a" * 43
    person.browser.cookies.clear()
    person.browser.cookies.set("headwater_session", planted_cookie)
    person.log_in()
    values = [cookie.value for cookie in person.browser.cookies.jar]
    assert first not in values
    row = installation.connection.execute(
        "SELECT count(*) FROM sessions WHERE token_hash = sha256(%s)", (planted_cookie.encode(),)
    ).fetchone()
    assert row == (0,)
