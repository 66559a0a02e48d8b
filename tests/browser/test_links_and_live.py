"""Sources, link builder and Live in a real browser: by mouse, by keyboard alone, under axe, and with names
that contain markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect
from psycopg import Connection

from headwater.spaces.accounts.users import User
from tests.browser.test_accessibility import check
from tests.browser.test_accessibility import open_console as open_console  # noqa: PLC0414 # a fixture
from tests.browser.test_console import PAYLOADS, Visit
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.factories import Stage
from tests.support.waiting import PATIENCE_SECONDS

PATIENCE = 1000 * PATIENCE_SECONDS
PAGE = "https://shop.example/tents"


@pytest.fixture
def stage(connection: Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_it_works(visit: Callable[..., Visit], user: User) -> None:
    """By mouse: build a link, see it change while typing, copy it, and test it."""
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    page = visitor.page
    visitor.log_in(user)
    visitor.goto("/console")
    page.get_by_role("link", name="Ads", exact=True).first.click()
    page.get_by_role("link", name="Build a link").click()
    page.get_by_label("Address of the page").fill(PAGE)
    page.get_by_label("Source", exact=True).select_option("facebook_ads")
    page.get_by_role("textbox", name=re.compile("^Campaign")).fill("Summer")
    preview = page.locator("#preview")
    expect(preview.locator("#link")).to_contain_text("utm_campaign=Summer")
    expect(preview.locator(".verdict")).to_contain_text("Facebook ads")
    expect(page.locator("#spoken")).to_have_text("Facebook ads")
    assert "campaign=Summer" in page.url, "the address follows, too"
    page.get_by_text("QR code").click()
    expect(preview.get_by_alt_text("The link as a QR code")).to_be_visible()
    page.wait_for_function("() => document.querySelector('.code img').naturalWidth > 0")
    page.get_by_role("textbox", name=re.compile("^Campaign")).fill("Autumn")
    expect(preview.locator("#link")).to_contain_text("utm_campaign=Autumn")
    expect(preview.get_by_alt_text("The link as a QR code")).to_be_visible()
    preview.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("status").first).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == (
        f"{PAGE}?utm_source=facebook&utm_medium=paid_social&utm_campaign=Autumn"
    )
    page.get_by_role("link", name="Rules").click()
    expect(page.get_by_role("heading", name="Sources and naming", exact=True)).to_be_visible()
    expect(page.locator(".tested .verdict")).to_contain_text("Facebook ads")
    page.get_by_label("Address of the page").fill(f"{PAGE}?fbclid=1")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator(".tested .verdict")).to_contain_text("Facebook organic")
    assert visitor.reports == []


def test_by_keyboard_alone(visit: Callable[..., Visit], user: User, space_id: int) -> None:
    visitor = visit()
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}/links")
    page = visitor.page
    page.get_by_label("Address of the page").focus()
    page.keyboard.type("shop.example/a")
    press(page, "Tab")
    page.keyboard.type("E-m")
    press(page, "Tab")
    page.keyboard.type("News")
    expect(page.locator("#link")).to_contain_text("utm_campaign=News")
    assert page.evaluate("document.activeElement.id") == "campaign", "typing goes on where it was"
    press(page, "Enter")
    expect(page.locator(".verdict")).to_contain_text("E-mail")
    visitor.goto(f"/console/spaces/{space_id}/live")
    page.get_by_role("button", name="Pause").focus()
    press(page, "Space")
    expect(page.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "true")
    assert visitor.reports == []


def test_live_follows(visit: Callable[..., Visit], user: User, space_id: int, stage: Stage) -> None:
    visitor = visit()
    visitor.page.clock.install()
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}/live")
    page, lines = visitor.page, visitor.page.locator("[data-line]")
    expect(page.get_by_role("heading", name="Nothing in the last 30 minutes")).to_be_visible()

    def buy(amount: str) -> None:
        now = datetime.now(UTC)
        stage.event(stage.contact(name="Ada"), event_time=now, received_at=now, amount=amount)

    buy("12.5")
    page.clock.run_for(10_000)
    expect(page.locator("[data-line].fresh")).to_have_count(1, timeout=PATIENCE)  # until the next refresh
    expect(lines).to_have_count(1)
    expect(lines.first).to_contain_text("12.50")
    page.get_by_role("button", name="Pause").click()
    buy("13.5")
    page.clock.run_for(20_000)
    expect(lines).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    expect(lines).to_have_count(2, timeout=PATIENCE)
    page.clock.run_for(30_000)
    page.get_by_text("13.50").wait_for()
    lines.first.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("/events/"))
    assert visitor.reports == []


def test_hostile_names_under_axe(
    open_console: Callable[..., Visit], user: User, space_id: int, stage: Stage
) -> None:
    """Every state missing from the list of all pages, with names that contain markup."""
    now = datetime.now(UTC)
    for payload in PAYLOADS[:12]:
        contact = stage.contact(name=payload, email="a@b.org")
        stage.hit(contact, stage.visit(contact), occurred_at=now, url=f"{PAGE}/{payload}")
        stage.event(contact, event_time=now, received_at=now, amount="1", event_name="purchase")
        stage.touchpoint(
            contact, "email", source_rule="utm_source", occurred_at=now, sent=True,
            campaign_name=payload, url=PAGE,
        )  # fmt: skip
    stage._insert("rejected", {
        "id": 10**9, "kind": "event", "received_at": now, "sender": "api_key", "payload": "{}",
        "reason": "processing_error", "detail": PAYLOADS[0],
    })  # fmt: skip
    visitor = open_console(390)
    visitor.log_in(user)
    base = f"/console/spaces/{space_id}"
    for end in ("/live", "/live?kind=problems", f"/links?address={PAGE}&source=direct"):
        visitor.goto(base + end)
        check(visitor.page, end)
    expect(visitor.page.locator("#source-refusal")).to_be_visible()
    visitor.goto(f"{base}/links/many")
    visitor.page.get_by_label("Rows", exact=True).fill(f"{PAGE},email,{PAYLOADS[0]}\n{PAYLOADS[1]}")
    visitor.page.get_by_role("button", name="Build links").click()
    expect(visitor.page.get_by_text("1 row to fix")).to_be_visible()
    check(visitor.page, "many links")
    # A refused form gets status 422, and Chromium logs that the link's target already has the focus.
    assert [report for report in visitor.reports if "422" not in report and "Autofocus" not in report] == []


def test_without_scripts(visit: Callable[..., Visit], user: User, space_id: int) -> None:
    """The builder is a form: the link, the source it will have, errors to fix, a sheet of links."""
    visitor = visit(java_script_enabled=False)
    page = visitor.page
    visitor.log_in(user)
    visitor.goto("/console")
    page.get_by_role("link", name="Ads", exact=True).first.click()
    page.get_by_role("link", name="Build a link").click()
    expect(page.get_by_role("heading", name="Build a link", exact=True, level=1)).to_be_visible()
    page.get_by_label("Address of the page").fill(PAGE)
    page.get_by_label("Source", exact=True).select_option("facebook_ads")
    page.get_by_role("textbox", name=re.compile("^Campaign")).fill("Summer")
    page.get_by_role("button", name="Build link").click()
    expect(page.locator("#link")).to_have_text(
        f"{PAGE}?utm_source=facebook&utm_medium=paid_social&utm_campaign=Summer"
    )
    expect(page.locator(".verdict")).to_contain_text("Facebook ads")
    page.get_by_text("QR code").click()
    expect(page.get_by_alt_text("The link as a QR code")).to_be_visible()
    page.get_by_text("Other values of utm_source").click()
    page.get_by_role("textbox", name=re.compile("^utm_source")).fill("fb-paid")
    page.get_by_role("button", name="Build link").click()
    expect(page.locator("#link")).to_contain_text("utm_source=fb-paid")
    page.get_by_label("Address of the page").fill("no address")
    page.get_by_role("button", name="Build link").click()
    expect(page.locator("#address-refusal")).to_contain_text("https://")
    page.get_by_role("link", name="Build many at once").click()
    page.get_by_label("Rows", exact=True).fill(f"{PAGE},email,News\nnonsense")
    page.get_by_role("button", name="Build links").click()
    expect(page.get_by_text("1 row to fix")).to_be_visible()
    expect(page.get_by_text("utm_campaign=News")).to_be_visible()
    visitor.goto(f"/console/spaces/{space_id}/live")
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.get_by_role("link", name="Refresh").click()
    expect(page.get_by_role("heading", name="Nothing in the last 30 minutes")).to_be_visible()
    # A refused form gets status 422, which Chromium logs.
    assert [report for report in visitor.reports if "422" not in report] == []
