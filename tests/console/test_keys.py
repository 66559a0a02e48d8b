"""The page of API keys: created with the selected scopes, shown once, revoked immediately."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import psycopg
import pytest

from headwater.console import forms
from headwater.console.forms import form_token
from headwater.console.keys import SCOPE_DESCRIPTIONS
from headwater.spaces.accounts.roles import Role
from headwater.spaces.keys import SCOPES, list_keys
from tests.conftest import API, Running
from tests.console.conftest import Person
from tests.support.accounts import Accounts
from tests.support.waiting import wait_until


def make_page(space_id: int) -> str:
    return f"/console/spaces/{space_id}/keys"


def key_on(html: str) -> str:
    (key,) = re.findall(r"trk_sk_[\w-]{43}", html)
    return key


def status(console: Running, key: str, address: str = "127.0.0.1") -> int:
    headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": address}
    return httpx.get(f"{console.base_url}{API}/companies?per_page=1", headers=headers).status_code


def test_it_works(owner: Person, console: Running, space_id: int) -> None:
    page = make_page(space_id)
    answer = owner.browser.fill(page, f"{page}/create", name="Shop", scope=["companies:read"])
    key = key_on(answer.text)
    assert "cannot be shown again" in answer.text
    wait_until(lambda: status(console, key) not in {401, 429})
    assert status(console, key) in {200, 422}
    assert "trk_sk_" not in owner.browser.get(page).text
    assert key[-4:] in owner.browser.get(page).text
    revocation = owner.browser.fill(page, f"{page}/revoke")
    assert "The API key is revoked" in revocation.text
    wait_until(lambda: status(console, key) == 401)


def test_a_key_is_rotated_and_bound_to_addresses(
    owner: Person, console: Running, accounts: Accounts, space_id: int
) -> None:
    page = make_page(space_id)
    answer = owner.browser.fill(page, f"{page}/create", name="Shop", expires="90d")
    old = key_on(answer.text)
    (first,) = accounts.run(lambda c: list_keys(c, space_id))
    form = owner.browser.form(page, f"{page}/rotate")
    rotation = owner.browser.send(form, key=str(first.id), overlap="7d")
    new = key_on(rotation.text)
    assert "Your new key: Shop" in rotation.text
    assert "The old key works until" in rotation.text
    assert "never used" in rotation.text
    wait_until(lambda: {status(console, old), status(console, new)} <= {200, 429})
    retry = owner.browser.send(form, key=str(first.id), overlap="7d")
    assert retry.status_code == 409
    assert "already replaced" in retry.text
    (successor,) = accounts.run(lambda c: list_keys(c, space_id))[1:]
    values = {"key": str(successor.id)}
    refusal = owner.browser.fill(page, f"{page}/restrict", **values, addresses="10.1.1.1/8")
    assert (refusal.status_code, "host bits" in refusal.text) == (422, True)
    assert f'<option value="{successor.id}" selected>' in refusal.text
    assert 'value="10.1.1.1/8"' in refusal.text
    owner.browser.fill(page, f"{page}/restrict", **values, addresses="203.0.113.0/24")
    wait_until(lambda: status(console, new, "198.51.100.7") == 403)
    assert status(console, new, "203.0.113.5") == 200
    assert status(console, new, "203.0.113.5, 198.51.100.7") == 403, "the proxy appended the last"


def test_what_ended_is_listed_apart(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    page = make_page(space_id)
    owner.browser.fill(page, f"{page}/create", name="Shop", expires="30d")
    connection.execute(
        "UPDATE api_keys SET expires_at = now() + interval '6 days' WHERE space_id = %s", (space_id,)
    )
    assert "rotate it soon" in owner.browser.get(page).text
    connection.execute("UPDATE api_keys SET expires_at = now() WHERE space_id = %s", (space_id,))
    text = owner.browser.get(page).text
    assert re.search(r"expired <time[^>]*>[^<]*</time>, never used", text)
    assert f"{page}/rotate" not in text


def test_whoever_created_a_key_is_named(owner: Person, person: Callable[..., Person], space_id: int) -> None:
    page = make_page(space_id)
    admin = person(Role.ADMIN)
    admin.browser.fill(page, f"{page}/create", name="Shop", scope=["companies:read"])
    assert f"by <bdi>{admin.user.name}</bdi>" in owner.browser.get(page).text


def test_a_form_sent_twice_makes_one(owner: Person, space_id: int) -> None:
    page = make_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    assert owner.browser.send(form, name="First").status_code == 200
    retry = owner.browser.send(form, name="Second")
    assert retry.status_code == 403
    assert "was sent before" in retry.text
    assert "submit it again" not in retry.text
    assert "Second" not in owner.browser.get(page).text


def test_an_expired_form_leads_to_its_page(
    owner: Person, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reloading the answer would only send the expired form again."""
    page = make_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    with monkeypatch.context() as patch:
        patch.setattr(forms, "ONCE_SECONDS", -1)
        refusal = owner.browser.send(form, name="Late")
    assert refusal.status_code == 403
    assert f'<a class="button" href="{page}">' in refusal.text
    assert owner.browser.fill(page, f"{page}/create", name="Fresh").status_code == 200
    text = owner.browser.get(page).text
    assert ("Late" in text, "Fresh" in text) == (False, True)


def test_a_form_that_was_refused_may_be_sent_again(owner: Person, space_id: int) -> None:
    page = make_page(space_id)
    for values, message in (
        ({"name": " "}, ">Must not be empty.<"), ({"name": "x" * 256}, "255"),
        ({"expires": "soon"}, "hours or days"), ({"addresses": "office"}, "IPv4 or IPv6"),
        ({"scope": []}, "The scope"), ({"scope": ["all"]}, "none of"),
    ):  # fmt: skip
        answer = owner.browser.fill(page, f"{page}/create", **{"name": "Shop", **values})
        assert answer.status_code == 422
        assert message in answer.text
        assert "trk_sk_" not in answer.text


@pytest.mark.parametrize("role", list(Role))
def test_who_may(person: Callable[..., Person], space_id: int, role: Role) -> None:
    owner, visitor = person(Role.OWNER), person(role)
    page = make_page(space_id)
    owner.browser.fill(page, f"{page}/create", name="Shop")
    page_text = visitor.browser.get(page).text
    is_allowed = role is not Role.VIEWER
    assert (f"{page}/create" in page_text) == (f"{page}/revoke" in page_text) == is_allowed
    form = owner.browser.form(page, f"{page}/revoke")
    token = {"form_token": form_token(visitor.form_key, "revoke key")}
    answer = visitor.browser.send(form, follow=False, **token)
    assert answer.status_code == (303 if is_allowed else 403)


def test_another_spaces_key(
    owner: Person, person: Callable[..., Person], make_space: Callable[..., int], space_id: int
) -> None:
    other_space_id = make_space()
    stranger = person(Role.OWNER, other_space_id)
    page = make_page(space_id)
    owner.browser.fill(page, f"{page}/create", name="Shop")
    form = owner.browser.form(page, f"{page}/revoke")
    token = {"form_token": form_token(stranger.form_key, "revoke key")}
    assert stranger.browser.send(form, **token).status_code == 404
    form.action = f"{make_page(other_space_id)}/revoke"
    assert stranger.browser.send(form, **token).status_code == 404
    assert "No API keys yet." not in owner.browser.get(page).text


def test_every_scope_is_told() -> None:
    assert tuple(SCOPE_DESCRIPTIONS) == SCOPES
