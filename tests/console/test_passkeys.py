"""Passkeys: adding, login, second factor, and every refused answer. tests/browser uses real passkeys."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from structlog.testing import capture_logs

from headwater.base.settings import Settings
from headwater.spaces.factors.passkeys import RelyingParty, find_relying_party
from tests.conftest import Running, run_application
from tests.console.browsing import Browser, Forms
from tests.console.conftest import Counting
from tests.support.accounts import Accounts
from tests.support.authenticator import PRESENT, SoftAuthenticator
from tests.support.factors import CONFIRM, FACTOR, PAGE, age_factor, enrol, read_recovery_codes

ACCOUNT, LOGIN = "/console/account", "/login/passkey"
ADD = f"{ACCOUNT}/passkeys"


@pytest.fixture(scope="module")
def named_host(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Counting
) -> Iterator[Running]:
    """The application at a host name, which passkeys need."""
    proxies = (ip_network("127.0.0.1"),)
    settings = Settings(data_dir=tmp_path_factory.mktemp("passkeys"), trusted_proxies=proxies)
    application = run_application(settings, database_url, passwords, host="localhost")
    yield application
    application.stop()


@pytest.fixture
def visit(named_host: Running) -> Iterator[Callable[[], Browser]]:
    """A function that makes browsers that open the service by its name."""
    browsers: list[Browser] = []

    def make() -> Browser:
        browsers.append(Browser(named_host.base_url))
        return browsers[-1]

    yield make
    for browser in browsers:
        browser.client.close()


class Owner:
    """A user with a browser and an authenticator."""

    def __init__(self, accounts: Accounts, space_id: int, browser: Browser) -> None:
        self.user, self.browser = accounts.member(space_id), browser
        self.browser.log_in(self.user)
        self.device = SoftAuthenticator(str(browser.client.base_url).rstrip("/"), "localhost")

    def add(self, device: SoftAuthenticator | None = None, name: str = "Phone") -> httpx.Response:
        device = device or self.device
        return answer(self.browser, self.browser.get(ADD), ADD, device.create, name=name)


@pytest.fixture
def user(accounts: Accounts, space_id: int, visit: Callable[[], Browser]) -> Owner:
    return Owner(accounts, space_id, visit())


def answer(
    browser: Browser, page: httpx.Response, action: str,
    respond: Callable[[dict[str, Any]], dict[str, Any]], **fields: str,
) -> httpx.Response:  # fmt: skip
    """Answer the passkey request in a page like the page's script."""
    assert page.status_code == 200, page.text
    (options,) = re.findall(r'data-options="([^"]+)"', page.text)
    credential = json.dumps(respond(json.loads(html.unescape(options))))
    form = next(
        candidate
        for candidate in Forms(page.text).forms
        if candidate.action == action and "state" in dict(candidate.fields)
    )
    return browser.send(form, credential=credential, **fields)


def log_in(browser: Browser, device: SoftAuthenticator, path: str = LOGIN) -> httpx.Response:
    device.count += device.count > 0
    return answer(browser, browser.get(path), LOGIN, device.get)


def test_it_works(user: Owner, visit: Callable[[], Browser]) -> None:
    """The first passkey comes with recovery codes, logs in without a password, and counts as a second
    factor.
    """
    codes_page = user.add()
    assert len(read_recovery_codes(codes_page.text)) == 10
    assert "Phone" in user.browser.get(ACCOUNT).text
    browser = visit()
    assert f'href="{LOGIN}?next=' in browser.get("/login").text
    page = log_in(browser, user.device, f"{LOGIN}?next={ACCOUNT}")
    assert page.url.path == ACCOUNT
    assert user.user.email in page.text
    assert browser.fill(ACCOUNT, f"{PAGE}/codes").status_code == 200, "it is fresh"


def test_after_a_password(user: Owner, visit: Callable[[], Browser]) -> None:
    codes = read_recovery_codes(user.add().text)
    browser, other_browser = visit(), visit()
    assert browser.log_in(user.user).url.path == FACTOR
    page = answer(browser, browser.get(FACTOR), FACTOR, user.device.get)
    assert page.url.path.startswith("/console/spaces/")
    other_browser.log_in(user.user)
    assert other_browser.fill(FACTOR, FACTOR, code=codes[0]).status_code == 200


def test_to_confirm(user: Owner, connection: psycopg.Connection) -> None:
    user.add()
    age_factor(connection, user.user.id)
    assert user.browser.get(ADD).url.path == CONFIRM
    page = answer(user.browser, user.browser.get(f"{CONFIRM}?next={ADD}"), CONFIRM, user.device.get)
    assert page.url.path == ADD


def test_several_with_names(user: Owner) -> None:
    user.add()
    second = SoftAuthenticator(user.device.origin, "localhost")
    assert "The passkey is added." in user.add(second, "<b>Key</b>").text
    assert user.add(second, "Again").status_code == 422
    assert user.add(SoftAuthenticator(user.device.origin, "localhost"), " ").status_code == 422
    enrol(user.browser)
    for _ in range(2):
        page = user.browser.fill(ACCOUNT, f"{ADD}/remove")
        assert "The passkey is removed." in page.text
    assert "recovery codes left" in page.text, "the app stays"
    page = user.browser.fill(ACCOUNT, f"{PAGE}/remove")
    assert "recovery codes left" not in page.text


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "https://evil.example"}, {"origin": "http://localhost"}, {"rp_id": "evil.example"},
        {"flags": PRESENT}, {"flags": 0},
    ],
)  # fmt: skip
def test_bad_answers_are_refused(user: Owner, visit: Callable[[], Browser], change: dict[str, Any]) -> None:
    """For a new passkey, and at a login."""
    good = dict(vars(user.device))
    vars(user.device).update(change)
    assert user.add().status_code == 422
    assert "Phone" not in user.browser.get(ACCOUNT).text
    vars(user.device).update(good)
    user.add()
    vars(user.device).update(change)
    browser = visit()
    refusal = log_in(browser, user.device)
    assert refusal.status_code == 422
    assert "The passkey was refused" in refusal.text
    assert browser.session() is None


def test_a_copy_is_refused(user: Owner, visit: Callable[[], Browser]) -> None:
    """Its signature counter is behind."""
    user.device.count = 5
    user.add()
    assert log_in(visit(), user.device).url.path != LOGIN
    user.device.count = 2
    with capture_logs() as lines:
        refusal = log_in(visit(), user.device)
    assert refusal.status_code == 422
    assert "a copy of it was used before" in refusal.text
    assert "passkey_cloned" in [line.get("reason") for line in lines]
    user.device.count = 9
    assert log_in(visit(), user.device).url.path != LOGIN


def test_a_request_is_answered_once_in_its_browser(user: Owner, visit: Callable[[], Browser]) -> None:
    user.add()
    browser, thief = visit(), visit()
    page = browser.get(LOGIN)
    form = Forms(page.text).forms[0]
    (options,) = re.findall(r'data-options="([^"]+)"', page.text)
    credential = json.dumps(user.device.get(json.loads(html.unescape(options))))
    stolen = dict(form.fields)["state"]
    thief_answer = thief.fill(LOGIN, LOGIN, state=stolen, credential=credential)
    assert thief_answer.status_code == 422
    cookies = dict(browser.client.cookies)
    assert browser.send(form, credential=credential).url.path != LOGIN
    copy = visit()
    copy.client.cookies.update(cookies)
    assert "was sent before" in copy.send(form, credential=credential).text
    browser.client.cookies.delete("headwater_session")
    retry = browser.fill(LOGIN, LOGIN, state=stolen, credential=credential)
    assert retry.status_code in {403, 422}
    assert browser.session() is None


def test_another_users_passkey(
    user: Owner, accounts: Accounts, space_id: int, visit: Callable[[], Browser]
) -> None:
    """It is no second factor, and is refused at login, even with the user's handle."""
    other_owner = Owner(accounts, space_id, visit())
    user.add()
    other_owner.add()
    browser = visit()
    browser.log_in(user.user)
    assert answer(browser, browser.get(FACTOR), FACTOR, other_owner.device.get).status_code == 422
    other_owner.device.user_handle = user.device.user_handle
    assert log_in(visit(), other_owner.device).status_code == 422


@pytest.mark.parametrize(
    "credential",
    ["x", "{}", "[" * 9000, "x" * 20_000,
     '{"rawId": "ü", "response": {}}', '{"rawId": "AA", "response": {}}'],
)  # fmt: skip
def test_malformed_answers(user: Owner, visit: Callable[[], Browser], credential: str) -> None:
    assert user.browser.fill(ADD, ADD, name="Phone", credential=credential).status_code == 422
    user.add()
    assert visit().fill(LOGIN, LOGIN, credential=credential).status_code == 422


def test_failed_answers_of_an_address_are_limited(
    user: Owner, visit: Callable[[], Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After too many, the right passkey is refused there too, but not at another address."""
    user.add()
    monkeypatch.setattr("headwater.console.factor_pages.passkey_check.ATTEMPTS", 2)
    browsers = visit(), visit()
    for number, browser in enumerate(browsers):
        browser.client.headers["X-Forwarded-For"] = f"10.7.{uuid4().int % 250}.{number}"
    statuses = [browsers[0].fill(LOGIN, LOGIN, credential="{}").status_code for _ in range(2)]
    refusal = log_in(browsers[0], user.device)
    assert [*statuses, refusal.status_code] == [422, 422, 429]
    assert int(refusal.headers["Retry-After"]) > 0
    assert log_in(browsers[1], user.device).url.path.startswith("/console")


def test_an_expired_request_adds_no_passkey(user: Owner) -> None:
    page = user.browser.fill(ADD, ADD, name="Phone", credential="{}", state="x")
    assert page.status_code == 422
    assert "Phone" not in user.browser.get(ACCOUNT).text


def test_whom_a_passkey_does_not_let_in(
    user: Owner, visit: Callable[[], Browser], connection: psycopg.Connection
) -> None:
    user.add()
    connection.execute("UPDATE users SET disabled_at = now() WHERE id = %s", [user.user.id])
    assert log_in(visit(), user.device).status_code == 422


def test_addresses_without_host_name_offer_none(browser: Browser) -> None:
    """At an address without a host name no passkeys are offered."""
    assert browser.get(LOGIN).status_code == 404
    assert LOGIN not in browser.get("/login").text


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://h.example", RelyingParty("h.example", "https://h.example")),
        ("https://h.example:443", RelyingParty("h.example", "https://h.example")),
        ("https://h.example:8443", RelyingParty("h.example", "https://h.example:8443")),
        ("http://localhost:8080", RelyingParty("localhost", "http://localhost:8080")),
        ("http://h.example", None), ("https://127.0.0.1", None), ("https://[::1]:8443", None),
    ],
)  # fmt: skip
def test_the_relying_party(base_url: str, expected: RelyingParty | None) -> None:
    assert find_relying_party(base_url) == expected
