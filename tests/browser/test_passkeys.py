"""Passkeys in a real browser, with its virtual authenticator: adding, login, second factor, and a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

from headwater.base.settings import Settings
from tests.conftest import Running, run_application
from tests.console.conftest import Counting, accounts, passwords  # noqa: F401 # fixtures
from tests.support.accounts import PASSWORD, Accounts
from tests.support.waiting import PATIENCE_SECONDS

AUTHENTICATOR = {
    "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
    "isUserVerified": True, "automaticPresenceSimulation": True,
}  # fmt: skip
ACCOUNT = "/console/account"


@pytest.fixture
def named_host(database_url: str, tmp_path: Path, passwords: Counting) -> Iterator[Running]:  # noqa: F811
    application = run_application(Settings(data_dir=tmp_path), database_url, passwords, host="localhost")
    yield application
    application.stop()


def log_in(page: Page, base_url: str, email: str) -> None:
    page.goto(f"{base_url}/login?next={ACCOUNT}")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_it_works(
    named_host: Running, make_page: Callable[..., Page], accounts: Accounts, space_id: int,  # noqa: F811
    connection: psycopg.Connection,
) -> None:  # fmt: skip
    user, page = accounts.member(space_id), make_page()
    page.set_default_timeout(1000 * PATIENCE_SECONDS)
    reports: list[str] = []
    page.on("console", lambda message: reports.append(message.text))
    page.on("pageerror", lambda error: reports.append(str(error)))
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    device = session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})["authenticatorId"]

    log_in(page, named_host.base_url, user.email)
    page.get_by_role("link", name="Add passkey").click()
    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Add passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes", exact=True)).to_be_visible()
    page.get_by_role("link", name="Continue").click()
    expect(page.get_by_role("button", name="Remove Laptop")).to_be_visible()

    page.context.clear_cookies()
    page.goto(f"{named_host.base_url}/login?next={ACCOUNT}")
    page.get_by_role("link", name="Log in with a passkey").click()
    page.get_by_role("button", name="Use passkey").click()
    expect(page).to_have_url(f"{named_host.base_url}{ACCOUNT}")

    page.context.clear_cookies()
    log_in(page, named_host.base_url, user.email)
    page.get_by_role("button", name="Use passkey").click()
    expect(page).to_have_url(f"{named_host.base_url}{ACCOUNT}")

    connection.execute("UPDATE passkeys SET sign_count = 1000 WHERE user_id = %s", [user.id])
    page.context.clear_cookies()
    page.goto(f"{named_host.base_url}/login/passkey")
    page.get_by_role("button", name="Use passkey").click()
    expect(page.get_by_role("alert").filter(has_text="a copy of it was used before")).to_be_visible()
    reports[:] = [text for text in reports if "422" not in text]

    session.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    page.goto(f"{named_host.base_url}/login/passkey")
    page.get_by_role("button", name="Use passkey").click()
    expect(page.get_by_role("alert").filter(has_text="No passkey was used")).to_be_visible()
    assert reports == []
