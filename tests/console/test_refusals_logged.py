"""Refused logins, forms and permissions are logged, without the submitted values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headwater.console.forms import TOKEN, form_token
from headwater.console.login import FAILURES
from headwater.spaces.accounts.roles import Role
from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.support.accounts import unique_email

WRONG = "a wrong password"


def refusals(refusal_lines: list[Any], reason: str) -> list[Any]:
    return [line for line in refusal_lines if line["event"] == "refused" and line["reason"] == reason]


def test_it_works(owner: Person, browser: Browser, refusal_lines: list[Any]) -> None:
    for email in (owner.user.email, unique_email()):
        form = browser.form("/login", "/login")
        assert browser.send(form, email=email, password=WRONG).status_code == 422
    known_refusal, unknown = refusals(refusal_lines, "login_refused")
    assert (known_refusal["user_id"], unknown["user_id"]) == (owner.user.id, 0)
    assert known_refusal["account"] != unknown["account"]
    assert known_refusal["client"] == unknown["client"]
    for _ in range(FAILURES + 1):
        browser.send(browser.form("/login", "/login"), email=owner.user.email, password=WRONG)
    (limit,) = refusals(refusal_lines, "login_limit")
    assert limit["client"] == known_refusal["client"]
    for secret in (WRONG, owner.user.email, browser.address):
        assert secret not in str(refusal_lines)


def test_forms_and_permissions(
    person: Callable[..., Person], space_id: int, refusal_lines: list[Any]
) -> None:
    viewer = person(Role.VIEWER)
    form = viewer.browser.form("/console/account", "/console/account/name")
    assert viewer.browser.send(form, form_token="0" * 128, name="x").status_code == 403
    assert viewer.browser.send(form, headers={"Sec-Fetch-Site": "cross-site"}, name="x").status_code == 403
    (line,) = refusals(refusal_lines, "form_refused")
    assert line["user_id"] == viewer.user.id
    assert line["client"]
    data = {TOKEN: form_token(viewer.form_key, "invite")}
    invite = f"/console/spaces/{space_id}/members/invite"
    assert viewer.browser.client.post(invite, data=data).status_code == 403
    (missing,) = refusals(refusal_lines, "permission_missing")
    assert (missing["user_id"], missing["space_id"]) == (viewer.user.id, space_id)
