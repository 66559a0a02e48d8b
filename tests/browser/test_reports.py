"""Report pages in a real browser: from a figure to the URL parameter that decided its source, by mouse, by
keyboard alone and without scripts, on a desktop and on a phone; and with names that contain markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from psycopg import Connection

from headwater.spaces.accounts.users import User
from tests.browser.keys import reach
from tests.browser.test_console import PAYLOADS, Visit
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.campaigns import IS_LONG
from tests.support.factories import Stage

LOOKS: list[dict[str, Any]] = [
    {"java_script_enabled": scripts, "viewport": {"width": width, "height": 800},
     "color_scheme": scheme}
    for scripts in (True, False) for width, scheme in ((1280, "light"), (390, "dark"))
]  # fmt: skip
MOUSE, KEYS = (LOOKS, LOOKS) if IS_LONG else (LOOKS[3:], LOOKS[:1])
"""An ordinary run uses the keyboard with scripts on the desktop, and the mouse without scripts on the phone;
a long run uses both in all four combinations.
"""
AGO = datetime.now(UTC) - timedelta(days=3)


@pytest.fixture
def stage(connection: Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def sell(stage: Stage, **tags: str) -> None:
    """Store an order of 89.50 that came through a Google ad."""
    contact = stage.contact(name="Ada Byron")
    stage.touchpoint(
        contact, "google_ads", occurred_at=AGO - timedelta(hours=1), source_rule="gclid",
        url="https://shop.example/?gclid=abc123",
        tag_set_id=stage.tag_set(**{"campaign_id": "c1", "campaign_name": "Boots", **tags}),
    )  # fmt: skip
    stage.event(contact, event_time=AGO, amount="89.50")


def journey(visit: Visit, space_id: int, follow: Callable[[Locator], None]) -> None:
    """Go from the first page to the parameter that decided, using `follow` for each step."""
    page = visit.page
    visit.goto(f"/console/spaces/{space_id}")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_attached()
    follow(page.get_by_role("link", name="All channels"))
    expect(page.get_by_role("heading", name="Channels", level=1)).to_be_visible()
    if page.locator(".filters-label").is_visible():
        follow(page.locator(".show-filters"))
    follow(page.locator(".choices-bar summary", has_text="How credit is given"))
    follow(page.locator(".credit-menu").get_by_role("link", name=re.compile("^Linear (?!paid)")))
    page.wait_for_url(re.compile("attribution_model=linear"))
    for title in ("Paid ads", "Google ads"):
        follow(page.locator("a.toggle", has_text=title))
        expect(page.locator("a.toggle", has_text=title)).to_have_attribute("aria-expanded", "true")
    follow(page.get_by_role("row", name=re.compile("Boots")).get_by_role("link", name="89.50"))
    page.wait_for_url(re.compile("/events"))
    expect(page.get_by_role("region", name="All of the list")).to_contain_text("89.50")
    follow(page.locator("table.events tbody th a"))
    page.wait_for_url(re.compile(r"/events/\d+"))
    expect(page.locator("main")).to_contain_text("gclid=abc123")
    follow(page.locator("main").get_by_role("link", name="Ada Byron").first)
    page.wait_for_url(re.compile(r"/contacts/\d+"))
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()


@pytest.mark.parametrize("options", MOUSE, ids=str)
def test_by_mouse(
    visit: Callable[..., Visit], user: User, stage: Stage, space_id: int, options: dict[str, Any]
) -> None:
    sell(stage)
    visitor = visit(**options)
    visitor.log_in(user)

    def click(element: Locator) -> None:
        if element.get_attribute("type") == "checkbox":
            visitor.page.locator(f"label[for={element.get_attribute('id')}]").click()
        else:
            element.click()

    journey(visitor, space_id, click)
    assert visitor.reports == []


@pytest.mark.parametrize("options", KEYS, ids=str)
def test_by_keyboard_alone(
    visit: Callable[..., Visit], user: User, stage: Stage, space_id: int, options: dict[str, Any]
) -> None:
    """Every element on the way is reached by Tab and opened by Enter, a checkbox by Space."""
    sell(stage)
    visitor = visit(**options)
    visitor.log_in(user)

    def click(element: Locator) -> None:
        reach(visitor.page, element)
        visitor.page.keyboard.press("Space" if element.get_attribute("type") == "checkbox" else "Enter")

    journey(visitor, space_id, click)
    assert visitor.reports == []


def test_keys(visit: Callable[..., Visit], user: User, stage: Stage, space_id: int) -> None:
    """A letter selects a period, until letters are turned off."""
    sell(stage)
    visitor = visit()
    page = visitor.page
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}")
    page.keyboard.press("w")
    page.wait_for_url(re.compile(r"period=last\+7\+days"))
    page.locator(".choices-bar summary").first.click()
    page.get_by_role("button", name="Turn shortcuts off").click()
    page.keyboard.press("Escape")
    expect(page.locator("details.menu[open]")).to_have_count(0)
    page.keyboard.press("q")
    page.get_by_role("link", name="Channels", exact=True).first.click()
    page.wait_for_url(re.compile(r"/channels\?period=last\+7\+days$"))
    assert visitor.reports == []


def test_names_that_are_markup(visit: Callable[..., Visit], user: User, stage: Stage, space_id: int) -> None:
    """No payload runs, the browser reports no problem, and each name is shown as text."""
    for number, payload in enumerate(PAYLOADS):
        sell(stage, campaign_id=f"c{number}", campaign_name=payload, ad_id=payload)
    visitor = visit()
    visitor.log_in(user)
    base = f"/console/spaces/{space_id}"
    for path in (
        f"{base}/channels?open=paid&open=paid/google_ads", f"{base}/models?group=campaign",
        f"{base}/models?group=ad", f"{base}/events",
    ):  # fmt: skip
        visitor.goto(path)
        text = " ".join(visitor.page.locator("main").inner_text().split())
        for payload in PAYLOADS:
            assert " ".join(payload.split()) in text, (path, payload)
    assert visitor.reports == []
