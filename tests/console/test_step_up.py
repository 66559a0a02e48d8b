"""Dangerous actions ask for a fresh second factor. test_roles_and_spaces.py lists them."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.support.factors import CONFIRM, App, age_factor, enrol, forget_used_codes


@pytest.fixture
def app(owner: Person, connection: psycopg.Connection) -> App:
    """The owner's, whose second factor was used eleven minutes ago."""
    made = enrol(owner.browser)
    forget_used_codes(connection, owner.user.id)
    age_factor(connection, owner.user.id)
    return made


def count_keys(connection: psycopg.Connection, space_id: int) -> int:
    row = connection.execute("SELECT count(*) FROM api_keys WHERE space_id = %s", [space_id]).fetchone()
    assert row is not None
    return row[0]


def test_it_works(owner: Person, app: App, connection: psycopg.Connection, space_id: int) -> None:
    page = f"/console/spaces/{space_id}/keys"
    asked = owner.browser.fill(page, f"{page}/create", name="Shop")
    assert (asked.url.path, asked.url.params["next"]) == (CONFIRM, f"{page}?again")
    assert count_keys(connection, space_id) == 0
    here = f"{asked.url.path}?{asked.url.query.decode()}"
    assert owner.browser.fill(here, CONFIRM, code=app.wrong_code()).status_code == 422
    back = owner.browser.fill(here, CONFIRM, code=app.code())
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
    asked = owner.browser.fill(page, page, require_second_factor="true")
    assert asked.url.path == CONFIRM
    query = "SELECT name, require_second_factor FROM spaces WHERE id = %s"
    assert connection.execute(query, [space_id]).fetchone() == ("Renamed", False)


def test_another_members_factor_does_not_count(
    owner: Person, app: App, person: Callable[..., Person], space_id: int
) -> None:
    other = person(Role.ADMIN)
    enrol(other.browser)
    assert owner.browser.fill(CONFIRM, CONFIRM, code=app.code()).status_code == 200
    page = f"/console/spaces/{space_id}/keys"
    assert "Your new key" in owner.browser.fill(page, f"{page}/create", name="Shop").text
    assert "Your new key" in other.browser.fill(page, f"{page}/create", name="Shop").text
