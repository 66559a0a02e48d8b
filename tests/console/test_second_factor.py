"""Authenticator apps: set-up, login with a code, recovery codes, removal, and which pages a password alone
opens.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg
import pytest

from headwater.console.factor_pages.code_check import FAILURES
from headwater.spaces.factors.factors import RECOVERY_CODES, reset_factors
from headwater.spaces.factors.sealed_state import PENDING_SECONDS
from headwater.spaces.secret_hash import hash_secret
from tests.console.browsing import SESSION, Browser
from tests.console.conftest import Person
from tests.support.accounts import PASSWORD, Accounts
from tests.support.factors import (
    CONFIRM,
    FACTOR,
    PAGE,
    App,
    age_factor,
    enrol,
    forget_used_codes,
    read_recovery_codes,
)

ACCOUNT = "/console/account"
PENDING = "headwater_login"


@pytest.fixture
def app(owner: Person, connection: psycopg.Connection) -> App:
    """The owner's app, with an unused current code."""
    new_app = enrol(owner.browser)
    forget_used_codes(connection, owner.user.id)
    return new_app


def test_it_works(owner: Person, app: App, browser: Browser) -> None:
    answer = browser.log_in(owner.user)
    assert (answer.status_code, answer.url.path) == (200, FACTOR)
    assert browser.session() is None
    home = browser.fill(FACTOR, FACTOR, code=app.code())
    assert home.url.path.startswith("/console/spaces/")
    assert browser.client.cookies.get(PENDING) is None
    assert "10 recovery codes left" in browser.get(ACCOUNT).text


def test_set_up_logs_other_browsers_out(owner: Person, browser: Browser) -> None:
    browser.log_in(owner.user)
    app = enrol(owner.browser)
    assert len(set(app.recovery_codes)) == RECOVERY_CODES
    assert browser.get(ACCOUNT).url.path == "/login"
    assert owner.browser.get(ACCOUNT).url.path == ACCOUNT
    assert owner.browser.get(f"{PAGE}?next={ACCOUNT}").url.path == ACCOUNT, "it is set up already"


def test_set_up_needs_a_right_code(owner: Person, person: Callable[..., Person], browser: Browser) -> None:
    refusal = owner.browser.fill(PAGE, PAGE, code="12345")
    assert refusal.status_code == 422
    assert "Set up authenticator app" in owner.browser.get(ACCOUNT).text
    other_state = dict(person().browser.form(PAGE, PAGE).fields)["state"]
    stale = owner.browser.fill(PAGE, PAGE, state=other_state, code="123456")
    assert "Scan the new QR code" in stale.text
    assert browser.log_in(owner.user).url.path != FACTOR


def test_a_code_works_once(owner: Person, app: App, new_browser: Callable[[], Browser]) -> None:
    """It works once even if several browsers send it at the same moment, and earlier codes stop working after
    it.
    """
    browsers = [new_browser() for _ in range(4)]
    for browser in browsers:
        browser.log_in(owner.user)
    forms = [browser.form(FACTOR, FACTOR) for browser in browsers]
    with ThreadPoolExecutor(4) as pool:
        code = app.code()
        answers = list(
            pool.map(lambda pair: pair[0].send(pair[1], code=code), zip(browsers, forms, strict=True))
        )
    assert sorted(answer.status_code for answer in answers) in ([200, 422, 422, 422], [200, 422, 422, 429])
    assert sum(browser.session() is not None for browser in browsers) == 1
    earlier = owner.browser.fill(f"{CONFIRM}", CONFIRM, code=app.code(-1))
    assert earlier.status_code == 422


def test_a_recovery_code_works_once(owner: Person, app: App, new_browser: Callable[[], Browser]) -> None:
    code, other_code, *_ = app.recovery_codes
    for browser, typed_code, expected in (
        (new_browser(), code, 200),
        (new_browser(), code, 422),
        (new_browser(), f" {other_code.upper().replace('-', ' ')} ", 200),
    ):
        browser.log_in(owner.user)
        assert browser.fill(FACTOR, FACTOR, code=typed_code).status_code == expected
    assert "8 recovery codes left" in owner.browser.get(ACCOUNT).text


def test_new_recovery_codes_replace_old_ones(owner: Person, app: App, browser: Browser) -> None:
    page = owner.browser.fill(ACCOUNT, f"{PAGE}/codes")
    new = read_recovery_codes(page.text)
    assert len(new) == RECOVERY_CODES
    assert not set(new) & set(app.recovery_codes)
    assert new[0] not in owner.browser.get(ACCOUNT).text
    browser.log_in(owner.user)
    assert browser.fill(FACTOR, FACTOR, code=app.recovery_codes[0]).status_code == 422
    assert browser.fill(FACTOR, FACTOR, code=new[0]).status_code == 200


def test_another_users_codes(
    owner: Person, app: App, person: Callable[..., Person], browser: Browser
) -> None:
    other_app = enrol(person().browser)
    browser.log_in(owner.user)
    for code in (other_app.code(), other_app.recovery_codes[0], app.wrong_code(), "", "x" * 40):
        assert browser.fill(FACTOR, FACTOR, code=code).status_code in {422, 429}
    assert browser.session() is None


def test_codes_cannot_be_guessed(
    owner: Person, app: App, new_browser: Callable[[], Browser], connection: psycopg.Connection
) -> None:
    """Wrong codes count for the user, from any browser or address; the owner's browser can still log in."""
    answers = []
    for _ in range(3):
        browser = new_browser()
        browser.log_in(owner.user)
        form = browser.form(FACTOR, FACTOR)
        answers += [browser.send(form, code=app.wrong_code()) for _ in range(FAILURES)]
    assert sum(answer.status_code == 422 for answer in answers) <= FAILURES
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"]
    assert new_browser().log_in(owner.user).url.path == FACTOR
    cursor = connection.execute(  # none of them expires on a busy machine
        "UPDATE attempts SET taken_at = %s WHERE subject = %s",
        ([datetime.now(UTC)] * FAILURES, hash_secret(f"factor of\0{owner.user.id}")),
    )
    assert cursor.rowcount == 1
    right = browser.fill(FACTOR, FACTOR, code=app.code())
    assert right.status_code == 429, "a right code does not tell itself from wrong ones"


def test_earlier_logins_with_the_password_give_no_more_guesses(
    owner: Person, new_browser: Callable[[], Browser]
) -> None:
    """Someone who stole the password before there was a factor has as many known browsers as they like."""
    thieves = [new_browser() for _ in range(4)]
    for thief in thieves:
        thief.log_in(owner.user)
    app = enrol(owner.browser)
    statuses: list[int] = []
    for thief in thieves:
        thief.log_in(owner.user)
        form = thief.form(FACTOR, FACTOR)
        statuses += [thief.send(form, code=app.wrong_code()).status_code for _ in range(4)]
    assert statuses.count(422) <= FAILURES
    assert statuses[-1] == 429


def test_strangers_do_not_lock_a_known_browser_out(
    owner: Person, app: App, new_browser: Callable[[], Browser]
) -> None:
    known_browser, stranger = new_browser(), new_browser()
    known_browser.log_in(owner.user)
    known_browser.fill(FACTOR, FACTOR, code=app.code())
    stranger.log_in(owner.user)
    form = stranger.form(FACTOR, FACTOR)
    for _ in range(FAILURES + 5):
        stranger.send(form, code=app.wrong_code())
    known_browser.fill(ACCOUNT, "/logout")
    known_browser.log_in(owner.user)
    assert known_browser.fill(FACTOR, FACTOR, code=app.recovery_codes[0]).status_code == 200


@pytest.mark.usefixtures("app")
def test_a_pending_login_is_no_session(owner: Person, browser: Browser) -> None:
    browser.log_in(owner.user)
    pending = browser.client.cookies.get(PENDING) or ""
    browser.client.cookies.set(SESSION, pending, "127.0.0.1")
    for path in (ACCOUNT, PAGE, CONFIRM, "/console"):
        assert browser.get(path).url.path == "/login"


@pytest.mark.usefixtures("app")
def test_a_pending_login_belongs_to_its_browser(
    owner: Person, browser: Browser, new_browser: Callable[[], Browser]
) -> None:
    browser.log_in(owner.user)
    thief = new_browser()
    thief.get("/login")
    thief.client.cookies.set(PENDING, browser.client.cookies.get(PENDING) or "", "127.0.0.1")
    page = thief.get(FACTOR)
    assert page.url.path == "/login"
    assert "Your login took too long" in page.text
    for cookie in ("", "x", "A" * 100):
        thief.client.cookies.set(PENDING, cookie, "127.0.0.1")
        assert thief.get(FACTOR).url.path == "/login"


@pytest.mark.parametrize("change", ["password_hash = 'x'", "disabled_at = now()"])
def test_what_ends_a_pending_login(
    owner: Person, app: App, browser: Browser, connection: psycopg.Connection, change: str
) -> None:
    browser.log_in(owner.user)
    form = browser.form(FACTOR, FACTOR)
    connection.execute(f"UPDATE users SET {change} WHERE id = %s", [owner.user.id])  # type: ignore[arg-type]
    assert browser.send(form, code=app.code()).url.path == "/login"
    assert browser.session() is None


def test_a_pending_login_is_short(
    owner: Person, app: App, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.log_in(owner.user)
    form = browser.form(FACTOR, FACTOR)
    monkeypatch.setattr("headwater.spaces.factors.sealed_state.PENDING_SECONDS", -1)
    assert browser.send(form, code=app.code()).url.path == "/login"
    assert PENDING_SECONDS == 600


def test_where_the_login_leads(owner: Person, app: App, browser: Browser) -> None:
    login_page = browser.get("/console/account?x=1")
    form = browser.form(f"{login_page.url.path}?{login_page.url.query.decode()}", "/login")
    page = browser.send(form, email=owner.user.email, password=PASSWORD)
    assert page.url.path == FACTOR
    factor_path = f"{page.url.path}?{page.url.query.decode()}"
    assert browser.fill(factor_path, FACTOR, code=app.code()).url.path == ACCOUNT
    foreign = browser.get(f"{CONFIRM}?next=//evil.example/")
    assert "evil.example" not in foreign.text


def test_a_form_of_another_site(owner: Person, app: App, browser: Browser) -> None:
    browser.log_in(owner.user)
    form = browser.form(FACTOR, FACTOR)
    assert browser.send(form, form_token="0" * 128, code=app.code()).status_code == 403
    foreign = browser.send(form, headers={"Origin": "https://evil.example"}, code=app.code())
    assert foreign.status_code == 403


@pytest.mark.parametrize("action", ["remove", "codes"])
def test_changes_need_a_fresh_factor(
    owner: Person, app: App, connection: psycopg.Connection, action: str
) -> None:
    age_factor(connection, owner.user.id)
    answer = owner.browser.fill(ACCOUNT, f"{PAGE}/{action}")
    assert answer.url.path == CONFIRM
    assert "10 recovery codes left" in owner.browser.get(ACCOUNT).text
    wrong = owner.browser.fill(CONFIRM, CONFIRM, code=app.wrong_code())
    assert wrong.status_code == 422
    confirm_path = f"{CONFIRM}?next={ACCOUNT}"
    assert owner.browser.fill(confirm_path, CONFIRM, code=app.code()).url.path == ACCOUNT
    page = owner.browser.fill(ACCOUNT, f"{PAGE}/{action}")
    assert page.url.path != CONFIRM


@pytest.mark.usefixtures("app")
def test_removal(owner: Person, browser: Browser) -> None:
    page = owner.browser.fill(ACCOUNT, f"{PAGE}/remove")
    assert "Your authenticator app is removed." in page.text
    assert browser.log_in(owner.user).url.path != FACTOR
    assert browser.session() is not None
    assert owner.browser.get(CONFIRM).url.path != CONFIRM


@pytest.mark.usefixtures("app")
def test_a_new_password_keeps_the_factor(owner: Person, browser: Browser) -> None:
    new = "a password of another kind"
    owner.browser.fill(ACCOUNT, f"{ACCOUNT}/password", current=PASSWORD, password=new)
    assert owner.browser.fill(ACCOUNT, f"{PAGE}/codes").url.path == f"{PAGE}/codes", "still fresh"
    assert browser.log_in(owner.user, new).url.path == FACTOR


@pytest.mark.usefixtures("app")
def test_the_operators_way_out(owner: Person, accounts: Accounts, browser: Browser) -> None:
    assert accounts.run(lambda c: reset_factors(c, owner.user.id)) is True
    assert accounts.run(lambda c: reset_factors(c, owner.user.id)) is False
    assert owner.browser.get(ACCOUNT).url.path == "/login"
    assert browser.log_in(owner.user).url.path != FACTOR


def test_another_installation_secret(
    owner: Person, app: App, browser: Browser, connection: psycopg.Connection
) -> None:
    connection.execute("UPDATE totp_factors SET secret = %s WHERE user_id = %s", [b"x" * 60, owner.user.id])
    browser.log_in(owner.user)
    refusal = browser.fill(FACTOR, FACTOR, code=app.code())
    assert refusal.status_code == 422
    assert "Use a recovery code" in refusal.text
    assert browser.fill(FACTOR, FACTOR, code=app.recovery_codes[0]).status_code == 200


def test_secrets_are_not_in_the_database(owner: Person, app: App, connection: psycopg.Connection) -> None:
    rows = connection.execute(
        "SELECT t.secret, array_agg(r.code_hash) FROM totp_factors t JOIN recovery_codes r USING (user_id)"
        " WHERE user_id = %s GROUP BY t.secret", [owner.user.id],
    ).fetchall()  # fmt: skip
    stored_bytes = b"".join([rows[0][0], *rows[0][1]])
    assert app.secret.encode() not in stored_bytes
    assert not any(code.encode() in stored_bytes for code in app.recovery_codes)
