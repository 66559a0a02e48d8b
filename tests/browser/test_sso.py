"""Single sign-on in a real browser, with its rules about redirects and cookies, which no HTTP client has: to
a provider on another site and back, and both logouts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from headwater.spaces.sso.refusals import SsoReason
from tests.sso.conftest import desk, fake_providers, sso_server  # noqa: F401 # fixtures
from tests.sso.fake_provider import Desk, FakeProvider, parameters
from tests.support.fake_platform import Answer, Redirect, Step
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.wire import ReceivedRequest

SIGN_IN = b"<!doctype html><title>Acme</title><form method=post><button>Continue</button></form>"


@pytest.fixture
def fake(desk: Desk) -> FakeProvider:  # noqa: F811
    """A provider with its own page, on another host than the console."""

    def show(request: ReceivedRequest) -> Step:
        if request.method == "GET":
            return Answer(body=SIGN_IN, headers={"Content-Type": "text/html"})
        query = parameters(request.target)
        return Redirect(f"{query['redirect_uri']}?{urlencode(desk.answer(provider, query))}", 303)

    provider = desk.make({"steps": {
        "/auth": show,
        "/end": lambda request: Redirect(parameters(request.target)["post_logout_redirect_uri"], 303),
    }})  # fmt: skip
    other_origin = provider.issuer.replace("127.0.0.1", "id.example")
    provider.metadata["authorization_endpoint"] = f"{other_origin}/auth"
    provider.metadata["end_session_endpoint"] = f"{other_origin}/end"
    return provider


def test_it_works(desk: Desk, fake: FakeProvider, make_page: Callable[..., Page]) -> None:  # noqa: F811
    page = make_page()
    page.set_default_timeout(1000 * PATIENCE_SECONDS)
    broken: list[str] = []
    page.on("console", lambda message: broken.append(message.text) if message.type == "error" else None)
    page.goto(f"{desk.running.base_url}/console/account")
    link = page.locator(f'a[href^="/login/sso/{fake.name}?"]')
    expect(link).to_have_text("Log in with Acme ID")
    link.click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/console/account")
    expect(page.locator("main")).to_contain_text(fake.account["email"])
    page.get_by_role("button", name="Log out", exact=True).click()
    expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
    page.get_by_role("link", name="Log out there, too").click()
    page.wait_for_url(re.compile("/login$"))
    page.goto(f"{desk.running.base_url}/console/account")
    page.wait_for_url(re.compile(r"/login\?next="))
    fake.claims["email_verified"] = False
    page.locator(f'a[href^="/login/sso/{fake.name}?"]').click()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("main")).to_contain_text(SsoReason.EMAIL_NOT_VERIFIED)
    page.get_by_role("link", name="Use another account of Acme ID").click()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    assert "prompt=select_account" in page.url
    assert [text for text in broken if "403" not in text] == []
