"""Assistants of users with a second factor, and of Spaces that require one."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

import psycopg

from headwater.assistants.oauth.metadata import AUTHORIZE
from headwater.spaces.factors.factors import add_authenticator
from tests.oauth.staging import Assistant, Installation, Person, make_query
from tests.oauth.test_consent import codes
from tests.support.accounts import PASSWORD
from tests.support.factors import CONFIRM, FACTOR, PAGE, App, age_login, forget_used_codes, read_secret


def set_up(person: Person) -> App:
    page = person.browser.get(PAGE)
    app = App(read_secret(page.text), [])
    assert person.submit(page, PAGE, code=app.code()).status_code == 200
    return app


def test_it_works(
    installation: Installation, assistant: Assistant, space_id: int, connection: psycopg.Connection
) -> None:
    """The code is requested before consent."""
    person = installation.person(space_id)
    app = set_up(person)
    forget_used_codes(connection, person.user.id)
    person.browser.cookies.clear()
    address = f"{AUTHORIZE}?{urlencode(assistant.request())}"
    redirect = person.log_in(address)
    assert redirect.headers["location"] == f"{FACTOR}?next={quote(address, safe='/')}"
    assert person.open_authorization(assistant.request()).headers["location"].startswith("/login?next=")
    page = person.browser.get(redirect.headers["location"])
    assert page.headers["cross-origin-opener-policy"] == "unsafe-none"
    answer = person.submit(page, FACTOR, code=app.code())
    assert answer.headers["location"] == address
    answer = person.submit(person.browser.get(address), AUTHORIZE, decision="approve")
    assert make_query(answer.headers["location"])["code"].startswith("trk_code_")


def test_a_space_that_requires_one(
    installation: Installation, assistant: Assistant, space_id: int, connection: psycopg.Connection
) -> None:
    connection.execute("UPDATE spaces SET require_second_factor = true WHERE id = %s", [space_id])
    person = installation.person(space_id)
    answer = person.answer(assistant.request())
    assert re.match(rf"{PAGE}\?next={AUTHORIZE}%3F", answer.headers["location"])
    query = "SELECT count(*) FROM oauth_codes WHERE user_id = %s"
    assert connection.execute(query, [person.user.id]).fetchone() == (0,)
    set_up(person)
    answer = person.answer(assistant.request())
    assert make_query(answer.headers["location"])["code"].startswith("trk_code_")


def test_a_token_made_before_still_works(
    installation: Installation, assistant: Assistant, person: Person, space_id: int
) -> None:
    code = make_query(person.answer(assistant.request()).headers["location"])["code"]
    token = installation.exchange(assistant, code).json()["access_token"]
    installation.accounts.run(lambda c: add_authenticator(c, bytes(32), person.user.id, "A" * 32, 1))
    assert installation.knock(space_id, token).status_code == 200


def test_the_password_is_requested_again(
    installation: Installation, person: Person, assistant: Assistant, space_id: int,
    connection: psycopg.Connection,
) -> None:  # fmt: skip
    """An assistant can erase people and keeps its permissions for a year, so that an open browser is not
    enough to connect one.
    """
    age_login(connection, person.user.id)
    answer = person.answer(assistant.request())
    confirm_page = person.browser.get(answer.headers["location"])
    assert confirm_page.headers["cross-origin-opener-policy"] == "unsafe-none"
    assert codes(installation, space_id) == 0
    answer = person.submit(confirm_page, CONFIRM, code=PASSWORD)
    assert answer.headers["location"] == f"{AUTHORIZE}?{urlencode(assistant.request())}"
    assert make_query(person.answer(assistant.request()).headers["location"])["code"]
    age_login(connection, person.user.id)
    answer = person.answer(assistant.request(), "deny")
    assert make_query(answer.headers["location"])["error"] == "access_denied", "refusing needs nothing"
