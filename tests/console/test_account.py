"""The account page: name, password and sessions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headwater.console.forms import form_token
from headwater.console.login import FAILURES
from headwater.spaces.accounts import tokens
from headwater.spaces.accounts.roles import Role
from tests.console.browsing import Browser
from tests.console.conftest import Counting, Person
from tests.support.accounts import PASSWORD, Accounts

PAGE = "/console/account"
NEW = "a password of another kind"


def test_it_works(owner: Person, new_browser: Callable[[], Browser]) -> None:
    other_browser, stolen = new_browser(), owner.browser.session()
    other_browser.log_in(owner.user)
    page = owner.browser.fill(PAGE, f"{PAGE}/password", current=PASSWORD, password=NEW)
    assert "Your password is changed. Other browsers are logged out." in page.text
    assert owner.browser.session() not in {stolen, None}
    assert other_browser.get(PAGE).url.path == "/login"
    assert other_browser.log_in(owner.user).status_code == 422
    assert other_browser.log_in(owner.user, NEW).status_code == 200


def test_bad_input_is_refused(owner: Person) -> None:
    for values, message in (
        ({"current": "wrong password"}, "Wrong password."),
        ({"password": "short"}, "at least 10 characters"),
        ({"password": "x" * 257}, "at most 256 characters"),
        ({"password": "Password123"}, "known from data breaches"),
        ({"password": f"{owner.user.email}!"}, "besides your name, your address"),
    ):
        form_values = {"current": PASSWORD, "password": NEW, **values}
        page = owner.browser.fill(PAGE, f"{PAGE}/password", **form_values)
        assert page.status_code == 422
        assert message in page.text
        assert NEW not in page.text
    owner.browser.get(PAGE).raise_for_status()


def test_a_stolen_session_cannot_guess_the_password(owner: Person, passwords: Counting) -> None:
    form = owner.browser.form(PAGE, f"{PAGE}/password")
    before = passwords.verified
    answers = [owner.browser.send(form, current="wrong password", password=NEW) for _ in range(30)]
    assert passwords.verified - before <= FAILURES
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"]


def test_a_name(owner: Person) -> None:
    page = owner.browser.fill(PAGE, f"{PAGE}/name", name=" Grace ")
    assert "Your name is changed." in page.text
    assert 'value="Grace"' in page.text
    refusal = owner.browser.fill(PAGE, f"{PAGE}/name", name="x" * 121)
    assert refusal.status_code == 422
    assert owner.user.email in owner.browser.fill(PAGE, f"{PAGE}/name", name="").text


def test_another_browser_is_logged_out(
    owner: Person, person: Callable[..., Person], new_browser: Callable[[], Browser]
) -> None:
    other_browser, stranger = new_browser(), person(Role.ADMIN)
    other_browser.log_in(owner.user)
    form = owner.browser.form(PAGE, f"{PAGE}/sessions/close")
    token = {"form_token": form_token(stranger.form_key, "close session")}
    stranger.browser.send(form, **token)
    assert other_browser.get(PAGE).url.path == PAGE, "it is not the stranger's to close"
    assert "That browser is logged out." in owner.browser.send(form).text
    assert other_browser.get(PAGE).url.path == "/login"


def test_a_user_can_log_out_everywhere(owner: Person, new_browser: Callable[[], Browser]) -> None:
    other_browser = new_browser()
    other_browser.log_in(owner.user)
    page = owner.browser.fill(PAGE, f"{PAGE}/sessions/close-all")
    assert "You are logged out everywhere." in page.text
    assert other_browser.get(PAGE).url.path == owner.browser.get(PAGE).url.path == "/login"


@pytest.mark.parametrize("revoke", [True, False])
def test_a_change_asks_whether_tokens_end(
    owner: Person, accounts: Accounts, space_id: int, revoke: bool
) -> None:
    new = tokens.NewToken(owner.user.id, "personal", "t")
    token, _ = accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    form_values = {"current": PASSWORD, "password": NEW, **({"revoke": "yes"} if revoke else {})}
    owner.browser.fill(PAGE, f"{PAGE}/password", **form_values)
    assert (accounts.run(lambda c: tokens.find_token(c, token)) is None) is revoke


def test_own_tokens_are_listed(
    owner: Person, person: Callable[..., Person], accounts: Accounts, space_id: int
) -> None:
    admin = person(Role.ADMIN)
    for whose, name in ((owner, "nightly report"), (admin, "somebody else's")):
        new = tokens.NewToken(whose.user.id, "personal", name)
        accounts.run(lambda c, new=new: tokens.issue_token(c, space_id, new))
    page = owner.browser.get(PAGE).text
    assert "nightly report" in page
    assert f'href="/console/spaces/{space_id}/mcp"' in page
    assert "somebody else" not in page
