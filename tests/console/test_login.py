"""Logging in and out: sessions, forms of other sites, brute force, and where `next` may lead."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from urllib.parse import quote

import httpx
import psycopg
import pytest
from argon2 import PasswordHasher

from headwater.base.settings import Settings
from headwater.console.login import FAILURES, address_subject, describe_device
from headwater.console.visitor import HOME, local_path
from headwater.spaces.accounts.passwords import Verdict
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import User, change_password
from headwater.spaces.secret_hash import hash_secret
from tests.conftest import Running, run_application
from tests.console.browsing import Browser, Forms
from tests.console.conftest import Counting, Person
from tests.support.accounts import CHEAP, PASSWORD, Accounts, unique_email
from tests.support.campaigns import campaign_size
from tests.support.waiting import PATIENCE_SECONDS

TRIES = campaign_size("HEADWATER_LOGIN_TRIES", 200, 1000)
WRONG = "The e-mail address or the password is wrong."


def test_it_works(browser: Browser, accounts: Accounts, space_id: int) -> None:
    user = accounts.member(space_id, name="Ada")
    form = browser.form("/login", "/login")
    answer = browser.send(form, follow=False, email=f" {user.email.upper()}", password=PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, HOME)
    cookies = answer.headers.get_list("set-cookie")
    cookie = next(line for line in cookies if line.startswith("headwater_session"))
    assert re.fullmatch(
        r"headwater_session=[\w-]{43}; HttpOnly; Max-Age=2592000; Path=/; SameSite=lax", cookie
    )
    home = browser.get("/")
    assert home.url.path == f"/console/spaces/{space_id}/setup"
    assert "Ada" in home.text
    assert browser.get("/login", follow=False).headers["location"] == HOME


def test_logging_out_ends_the_session(owner: Person) -> None:
    stolen = owner.browser.session()
    page = owner.browser.fill("/console/account", "/logout")
    assert page.url.path == "/login"
    assert "You are logged out." in page.text
    assert "You are logged out." not in owner.browser.get("/login").text
    assert owner.browser.session() is None
    owner.browser.client.cookies.set("headwater_session", stolen or "", "127.0.0.1")
    assert owner.browser.get("/console/account").url.path == "/login"


def test_a_login_makes_a_new_session(owner: Person, browser: Browser) -> None:
    """A login never continues a session planted by an attacker."""
    browser.client.cookies.set("headwater_session", "planted" * 6, "127.0.0.1")
    browser.log_in(owner.user)
    assert browser.session() != "planted" * 6
    before = owner.browser.session()
    owner.browser.client.cookies.delete("headwater_session")
    owner.browser.log_in(owner.user)
    assert owner.browser.session() not in {before, None}


def test_secure_cookies_behind_https(database_url: str) -> None:
    settings = Settings(base_url="https://console.example.com")
    application = run_application(settings, database_url)
    try:
        page = httpx.get(f"{application.base_url}/login")
        cookie = page.headers["set-cookie"]
        assert cookie.startswith("__Host-headwater_guest=")
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))
        assert "domain" not in cookie.lower()
        for origin, site, expected in (
            ("https://console.example.com", "same-origin", 403),  # the token is still missing
            ("http://console.example.com", None, 403),
            ("null", None, 403),
        ):
            headers = {"Origin": origin} | ({"Sec-Fetch-Site": site} if site else {})
            answer = httpx.post(f"{application.base_url}/login", data={"a": "b"}, headers=headers)
            assert answer.status_code == expected
            has_expired = "form has expired" in answer.text
            assert has_expired == (origin == "https://console.example.com")
            names_the_address = "Open the console at https://console.example.com." in answer.text
            assert names_the_address == (origin == "null")
    finally:
        application.stop()


@pytest.mark.parametrize(
    ("headers", "is_allowed"),
    [
        ({}, True),
        ({"Origin": "null"}, True),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Origin": "http://127.0.0.1:1"}, False),
        ({"Origin": "http://[x]"}, False),
    ],
)
def test_where_a_form_was_sent_from(owner: Person, headers: dict[str, str], is_allowed: bool) -> None:
    form = owner.browser.form("/console/account", "/console/account/name")
    answer = owner.browser.send(form, headers=headers, name="Ada")
    assert answer.status_code == (200 if is_allowed else 403)
    assert ("another site" in answer.text) != is_allowed


def test_where_the_host_is_ours(owner: Person, console: Running) -> None:
    form = owner.browser.form("/console/account", "/console/account/name")
    origin = console.base_url
    assert owner.browser.send(form, headers={"Origin": origin}, name="Ada").status_code == 200


@pytest.mark.parametrize("token", ["", "x", "0" * 64, "ü"])
def test_a_form_without_its_token(browser: Browser, accounts: Accounts, token: str) -> None:
    user = accounts.user()
    form = browser.form("/login", "/login")
    answer = browser.send(form, email=user.email, password=PASSWORD, form_token=token)
    assert answer.status_code == 403
    assert browser.session() is None


def test_a_token_of_another_form_or_visitor(owner: Person, person: Callable[..., Person]) -> None:
    other_owner = person(Role.OWNER)
    other_form = other_owner.browser.form("/console/account", "/console/account/name")
    assert owner.browser.send(other_form, name="x").status_code == 403
    logout = dict(owner.browser.form("/console/account", "/logout").fields)
    own_form = owner.browser.form("/console/account", "/console/account/name")
    assert owner.browser.send(own_form, form_token=logout["form_token"]).status_code == 403


def test_a_login_that_another_site_began(browser: Browser, new_browser: Callable[[], Browser],
                                         accounts: Accounts) -> None:  # fmt: skip
    """The victim's browser sends the attacker's own form, without the attacker's cookie."""
    form = new_browser().form("/login", "/login")
    user = accounts.user()
    assert browser.send(form, email=user.email, password=PASSWORD).status_code == 403


def test_a_form_left_open_while_logging_in_elsewhere(owner: Person, accounts: Accounts) -> None:
    other_user = accounts.user()
    session = owner.browser.session() or ""
    owner.browser.client.cookies.clear()
    form = owner.browser.form("/login", "/login")
    owner.browser.client.cookies.set("headwater_session", session, "127.0.0.1")
    refusal = owner.browser.send(form, email=other_user.email, password="wrong password")
    assert refusal.status_code == 422
    (login_form,) = [candidate for candidate in Forms(refusal.text).forms if candidate.action == "/login"]
    assert owner.browser.send(login_form, email=other_user.email, password=PASSWORD).status_code == 200
    assert other_user.email in owner.browser.get("/console/account").text
    late_answer = httpx.get(f"{owner.browser.client.base_url}/console/account",
                            headers={"Cookie": f"headwater_session={session}"})  # fmt: skip
    assert late_answer.status_code == 303, "the session before has ended"


@pytest.mark.parametrize("has_account", [True, False])
def test_what_is_wrong_is_not_told(browser: Browser, accounts: Accounts, has_account: bool) -> None:
    email = accounts.user().email if has_account else unique_email()
    page = browser.fill("/login", "/login", email=email, password="wrong password")
    assert page.status_code == 422
    assert WRONG in page.text
    assert page.text.replace(email, "") == re.sub("user-[0-9a-f]{32}@example.com", "", page.text)


def test_who_is_disabled_or_has_no_password(
    browser: Browser, accounts: Accounts, connection: psycopg.Connection
) -> None:
    for change in ("disabled_at = now()", "password_hash = NULL"):
        user = accounts.user()
        connection.execute(f"UPDATE users SET {change} WHERE id = %s", (user.id,))
        page = browser.log_in(user)
        assert page.status_code == 422
        assert WRONG in page.text


def test_of_all_tries_ten_are_looked_at(
    new_browser: Callable[[], Browser],
    accounts: Accounts,
    passwords: Counting,
    console: Running,
    connection: psycopg.Connection,
) -> None:
    """Many attempts at the same time on one account, each from another address."""
    user, browser = accounts.user(), new_browser()
    form = browser.form("/login", "/login")
    data = dict(form.fields) | {"email": user.email, "password": "wrong password"}
    before = passwords.verified

    def attack(number: int) -> int:
        headers = {"X-Forwarded-For": f"10.99.{number // 250}.{number % 250}"}
        return client.post("/login", data=data, headers=headers).status_code

    cookies = dict(browser.client.cookies)
    with (
        httpx.Client(base_url=console.base_url, cookies=cookies, timeout=PATIENCE_SECONDS) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        statuses = list(pool.map(attack, range(TRIES)))
    assert 1 <= passwords.verified - before <= FAILURES
    assert set(statuses) == {422, 429}
    # The attack continues through the growing waits between attempts, until all attempts are used.
    cursor = connection.execute(
        "UPDATE attempts SET taken_at = %s WHERE subject = %s",
        ([datetime.now(UTC)] * FAILURES, hash_secret(f"login to\0{user.email}")),
    )
    assert cursor.rowcount == 1
    page = browser.send(form, email=user.email, password=PASSWORD)
    assert page.status_code == 429
    assert 1 <= int(page.headers["retry-after"]) <= 900
    assert "Too many attempts to log in. Try again in" in page.text
    other_user = accounts.user()
    assert browser.log_in(other_user).status_code == 200, "others log in as before"


def test_an_address_that_tries_many_accounts(
    browser: Browser, passwords: Counting, accounts: Accounts
) -> None:
    form = browser.form("/login", "/login")
    before = passwords.verified
    for _ in range(FAILURES + 5):
        browser.send(form, email=unique_email(), password="wrong password")
    assert passwords.verified - before == FAILURES
    assert browser.log_in(accounts.user()).status_code == 429
    browser.client.headers["X-Forwarded-For"] = "10.98.0.1, 127.0.0.1"
    assert browser.log_in(accounts.user()).status_code == 200
    browser.client.cookies.clear()
    browser.client.headers["X-Forwarded-For"] = f"10.98.0.2, {browser.address}"
    assert browser.log_in(accounts.user()).status_code == 429, "what a client claims counts nothing"


def test_logins_that_succeed_are_not_counted(browser: Browser, accounts: Accounts) -> None:
    user = accounts.user()
    for _ in range(FAILURES + 5):
        assert browser.log_in(user).status_code == 200
        browser.client.cookies.clear()


def test_the_unknown_cost_the_same(browser: Browser, accounts: Accounts) -> None:
    """A known and an unknown e-mail each cost one verification; a busy machine gets three tries to show
    it.
    """
    form = browser.form("/login", "/login")

    def difference(attempt: int) -> float:
        took: dict[bool, list[float]] = {True: [], False: []}
        for number in range(40):
            is_known = number % 2 == 0
            email = accounts.user().email if is_known else unique_email()
            browser.client.headers["X-Forwarded-For"] = f"10.97.{attempt}.{number}"
            start = time.perf_counter()
            browser.send(form, email=email, password="wrong password")
            took[is_known].append(time.perf_counter() - start)
        return abs(statistics.median(took[True]) - statistics.median(took[False]))

    assert any(difference(attempt) < 0.005 for attempt in range(3))


LOCAL = ["/console", "/console/spaces/1?a=b&c=%2F", "/mcp/oauth/authorize?x=https://a.b/c", "/ü"]
FOREIGN = [
    "", "console", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
    "https://evil.example", "https:evil.example", "http:///evil.example", "javascript:alert(1)",
    "/\t/evil.example", "/\n/evil.example", " //evil.example", "/ /evil.example", "\x00//e",
    "/\r\nSet-Cookie: a=b", "//evil.example@127.0.0.1", "/\u2028/", "data:text/html,x",
    "/\\/evil.example", "/x\\..\\evil", "/" + "a" * 20_000, "/\x7f", "/\x85", "/\xa0",
]  # fmt: skip


@pytest.mark.parametrize("path", LOCAL)
def test_next_leads_back(browser: Browser, accounts: Accounts, path: str) -> None:
    assert local_path(path) == path
    user = accounts.user()
    form = browser.form(f"/login?next={quote(path)}", "/login")
    answer = browser.send(form, follow=False, email=user.email, password=PASSWORD)
    assert httpx.URL(answer.headers["location"]) == httpx.URL(path)


@pytest.mark.parametrize("path", FOREIGN)
def test_next_leads_nowhere_else(browser: Browser, accounts: Accounts, path: str) -> None:
    user = accounts.user()
    assert local_path(path) == HOME
    for page in (f"/login?next={quote(path)}", "/login"):
        form = browser.form(page, "/login")
        form_values = {"email": user.email, "password": PASSWORD, "next": path.replace("\x00", "")}
        answer = browser.send(form, follow=False, **form_values)
        assert answer.headers["location"] == HOME
        redirect = browser.get(f"/login?next={quote(path)}", follow=False)
        assert redirect.headers["location"] == HOME
        browser.client.cookies.clear()


def test_a_guest_comes_back_to_the_page(browser: Browser, owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/members?a=b"
    page = browser.get(path)
    assert page.url.path == "/login"
    assert page.url.params["next"] == path
    form = browser.form(str(page.url.raw_path, "ascii"), "/login")
    answer = browser.send(form, email=owner.user.email, password=PASSWORD)
    assert answer.url.raw_path.decode() == path


def test_how_addresses_are_counted() -> None:
    assert address_subject(None) == "unknown"
    assert address_subject("192.0.2.7") == "192.0.2.7"
    assert address_subject("2001:db8::1") == address_subject("2001:db8::ffff:1")
    assert address_subject("2001:db8::1") != address_subject("2001:db8:0:1::1")


def test_browsers_are_told_apart() -> None:
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    assert describe_device(firefox) == "Firefox on Linux"
    assert describe_device("") == "A browser"


def test_a_known_browser_is_not_locked_out_by_others(
    new_browser: Callable[[], Browser], accounts: Accounts
) -> None:
    """Its own failures are still counted, and another account's known browser doesn't count as known here."""
    user, browser, other_browser = accounts.user(), new_browser(), new_browser()
    browser.log_in(user)
    other_browser.log_in(accounts.user())
    for _ in range(4):
        new_browser().log_in(user, "wrong password")
    browser.client.cookies.delete("headwater_session")
    other_browser.client.cookies.delete("headwater_session")
    assert new_browser().log_in(user).status_code == 429
    assert other_browser.log_in(user).status_code == 429
    assert browser.log_in(user).status_code == 200
    browser.client.cookies.delete("headwater_session")
    answers = [browser.log_in(user, "wrong password").status_code for _ in range(FAILURES + 1)]
    assert answers[-1] == 429


def change_while_verifying(
    passwords: Counting, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]
) -> None:
    """Let `change` happen between the comparison of a password and the end of its request."""
    verify = passwords.verify

    async def verify_and_change(stored: str | None, password: str) -> Verdict:
        verdict = await verify(stored, password)
        await asyncio.to_thread(change)
        return verdict

    monkeypatch.setattr(passwords, "verify", verify_and_change)


def choose_another_password(accounts: Accounts, user: User) -> None:
    password_hash = PasswordHasher(**CHEAP).hash("another correct horse")
    accounts.run(lambda c: change_password(c, user.id, password_hash))


def test_a_login_ends_with_its_password(
    browser: Browser, accounts: Accounts, passwords: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone who knows the old password and logs in at the moment of the change gets no session."""
    user = accounts.user()
    change_while_verifying(passwords, monkeypatch, partial(choose_another_password, accounts, user))
    browser.log_in(user)
    assert browser.get("/console/account").url.path == "/login"


def test_a_new_password_is_refused_after_another_one(
    owner: Person, accounts: Accounts, passwords: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that was begun with the old password does not replace one made meanwhile."""
    form = owner.browser.form("/console/account", "/console/account/password")
    change_while_verifying(passwords, monkeypatch, partial(choose_another_password, accounts, owner.user))
    answer = owner.browser.send(form, current=PASSWORD, password="a thief's new password")
    assert answer.status_code == 409
    monkeypatch.undo()
    assert owner.browser.log_in(owner.user, "another correct horse").url.path != "/login"
