"""Dangerous actions require a fresh second factor or, without one, the password. test_roles_and_spaces.py
lists them.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from headwater.spaces.accounts.roles import Role
from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.support.accounts import PASSWORD
from tests.support.factors import CONFIRM, PAGE, App, age_factor, age_login, enrol, forget_used_codes

ACCOUNT = "/console/account"


@pytest.fixture
def app(owner: Person, connection: psycopg.Connection) -> App:
    """The owner's app, last used eleven minutes ago."""
    new_app = enrol(owner.browser)
    forget_used_codes(connection, owner.user.id)
    age_factor(connection, owner.user.id)
    return new_app


def count_keys(connection: psycopg.Connection, space_id: int) -> int:
    row = connection.execute("SELECT count(*) FROM api_keys WHERE space_id = %s", [space_id]).fetchone()
    assert row is not None
    return row[0]


def test_it_works(owner: Person, app: App, connection: psycopg.Connection, space_id: int) -> None:
    page = f"/console/spaces/{space_id}/keys"
    answer = owner.browser.fill(page, f"{page}/create", name="Shop")
    assert (answer.url.path, answer.url.params["next"]) == (CONFIRM, f"{page}?again")
    assert count_keys(connection, space_id) == 0
    confirm_path = f"{answer.url.path}?{answer.url.query.decode()}"
    assert owner.browser.fill(confirm_path, CONFIRM, code=app.wrong_code()).status_code == 422
    back = owner.browser.fill(confirm_path, CONFIRM, code=app.code())
    assert (back.url.path, back.url.query) == (page, b"again")
    assert "Your new key" in owner.browser.fill(page, f"{page}/create", name="Shop").text
    assert count_keys(connection, space_id) == 1


def test_a_forged_form_is_refused_first(owner: Person, app: App, space_id: int) -> None:
    page = f"/console/spaces/{space_id}/keys"
    form = owner.browser.form(page, f"{page}/create")
    assert owner.browser.send(form, form_token="x", name="Shop").status_code == 403
    assert owner.browser.fill(CONFIRM, CONFIRM, code=app.code()).status_code == 200, "nothing was used up"


@pytest.mark.usefixtures("app")
def test_only_the_dangerous_setting_asks(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    page = f"/console/spaces/{space_id}/settings"
    assert owner.browser.fill(page, page, name="Renamed").url.path == page
    answer = owner.browser.fill(page, page, require_second_factor="true")
    assert answer.url.path == CONFIRM
    query = "SELECT name, require_second_factor FROM spaces WHERE id = %s"
    assert connection.execute(query, [space_id]).fetchone() == ("Renamed", False)


def test_another_members_factor_does_not_count(
    owner: Person, app: App, person: Callable[..., Person], space_id: int
) -> None:
    admin = person(Role.ADMIN)
    enrol(admin.browser)
    assert owner.browser.fill(CONFIRM, CONFIRM, code=app.code()).status_code == 200
    page = f"/console/spaces/{space_id}/keys"
    assert "Your new key" in owner.browser.fill(page, f"{page}/create", name="Shop").text
    assert "Your new key" in admin.browser.fill(page, f"{page}/create", name="Shop").text


@pytest.mark.parametrize("path", [PAGE, f"{ACCOUNT}/passkeys"])
def test_a_first_factor_needs_the_password(owner: Person, connection: psycopg.Connection, path: str) -> None:
    age_login(connection, owner.user.id)
    answer = owner.browser.get(path)
    assert (answer.url.path, answer.url.params["next"]) == (CONFIRM, path)
    confirm_path = f"{CONFIRM}?next={path}"
    assert owner.browser.fill(confirm_path, CONFIRM, code="wrong password").status_code == 422
    assert owner.browser.get(path).url.path == CONFIRM
    assert owner.browser.fill(confirm_path, CONFIRM, code=PASSWORD).url.path == path
    age_login(connection, owner.user.id)
    assert owner.browser.get(path).url.path == CONFIRM


def test_a_code_typed_too_late_adds_no_factor(owner: Person, connection: psycopg.Connection) -> None:
    form = owner.browser.form(PAGE, PAGE)
    age_login(connection, owner.user.id)
    assert owner.browser.send(form, code="000000").url.path == CONFIRM


def test_the_password_for_a_dangerous_action(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    page = f"/console/spaces/{space_id}/keys"
    age_login(connection, owner.user.id)
    answer = owner.browser.fill(page, f"{page}/create", name="Shop")
    assert (answer.url.path, answer.url.params["next"]) == (CONFIRM, f"{page}?again")
    assert count_keys(connection, space_id) == 0
    confirm_path = f"{answer.url.path}?{answer.url.query.decode()}"
    assert owner.browser.fill(confirm_path, CONFIRM, code=PASSWORD).url.path == page
    assert "Your new key" in owner.browser.fill(page, f"{page}/create", name="Shop").text


@pytest.mark.parametrize("action", ["close", "close-all"])
def test_ending_sessions_needs_the_password(
    owner: Person, connection: psycopg.Connection, new_browser: Callable[[], Browser], action: str
) -> None:
    other_browser = new_browser()
    other_browser.log_in(owner.user)
    age_login(connection, owner.user.id)
    answer = owner.browser.fill(ACCOUNT, f"{ACCOUNT}/sessions/{action}")
    assert answer.url.path == CONFIRM
    assert other_browser.get(ACCOUNT).url.path == ACCOUNT
    owner.browser.fill(CONFIRM, CONFIRM, code=PASSWORD)
    owner.browser.fill(ACCOUNT, f"{ACCOUNT}/sessions/{action}")
    assert other_browser.get(ACCOUNT).url.path == "/login"


def test_the_password_cannot_be_guessed(owner: Person, connection: psycopg.Connection) -> None:
    age_login(connection, owner.user.id)
    form = owner.browser.form(CONFIRM, CONFIRM)
    answers = [owner.browser.send(form, code="wrong password") for _ in range(12)]
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"]


def test_a_provider_session_without_a_factor_is_not_asked(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    connection.execute(
        "INSERT INTO sso_providers (name, issuer, client_id, settings) VALUES ('p', 'i', 'c', '{}')"
    )
    connection.execute("UPDATE sessions SET provider = 'p' WHERE user_id = %s", [owner.user.id])
    age_login(connection, owner.user.id)
    page = f"/console/spaces/{space_id}/keys"
    answer = owner.browser.fill(page, f"{page}/create", name="Shop")
    connection.execute("DELETE FROM sso_providers WHERE name = 'p'")
    assert "Your new key" in answer.text
