"""The console at a glance: the figures on the first screen, and no table that hides a column on the desktop
or on a phone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from playwright.sync_api import Page, expect

from headwater.spaces.accounts.users import User
from tests.browser.test_console import Visit
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.factories import Stage
from tests.support.spaces import insert_space

DESKTOP, PHONE = (1440, 900), (390, 844)
SOURCES = (
    ("google_ads", "google", "Search brand"), ("facebook_ads", "meta", "Autumn jackets"),
    ("instagram_ads", "meta", "Reels"), ("email", "", ""), ("google_organic", "", ""),
    ("direct", "", ""), ("referral", "", ""), ("ai_chat_gpt", "", ""),
)  # fmt: skip
"""Sources with the platform and the campaign of their spend, if any."""
LONG = "0" * 100
"""Without a place to break a line."""
DAYS = 58
"""A period of 30 days, and most of the previous one."""
PAGES = (
    "", "/channels?open=paid&open=paid/google_ads", "/models", "/paths", "/self-reported",
    "/campaigns", "/spend", "/ads/comparison", "/cohorts?period=last+6+months", "/people", "/events",
    "/setup", "/sites", "/orders", "/platforms", "/mcp", "/keys", "/data-quality", "/alerts",
    "/alerts/rules", "/alerts/reports", "/settings", "/members", "/sources", "/rates",
    "/trained-models", "/share-links", "/notes", "/changes", "/completeness",
)  # fmt: skip
HIDDEN = """() => [...document.querySelectorAll("main .scroll")].filter((one) => one.checkVisibility())
    .flatMap((one) => [
        ...(one.scrollWidth > one.clientWidth + 1 ? [`${one.ariaLabel} scrolls sideways`] : []),
        ...[...one.querySelectorAll("tbody td")]
            .filter((cell) => /^(?!-$)[^\u2013\u2014]/.test(cell.textContent.trim()))
            .filter((cell) => !cell.checkVisibility()
                || cell.getBoundingClientRect().right > one.getBoundingClientRect().right + 1)
            .map((cell) => `${one.ariaLabel} hides ${cell.dataset.label ?? cell.textContent.trim()}`),
    ])"""
"""Tables that scroll sideways, and cells with a figure out of sight."""

OVERFLOWING = """() => [...document.querySelectorAll("main .value")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""
"""Figures of tiles that reach out of them."""

BAR_STARTS = """() => [...document.querySelectorAll("main table")]
    .map((one) => [...one.querySelectorAll("td > .share, td > .cell-bar")]
        .map((bar) => Math.round(bar.getBoundingClientRect().left)))
    .filter((starts) => starts.length)"""
"""Where the bars of each table begin."""


@pytest.fixture(scope="module")
def shop(database_url: str) -> Iterator[Stage]:
    """A Space with two months of orders: one a day, through eight sources, three of them paid. Tests must not
    change it.
    """
    with psycopg.connect(database_url, autocommit=True) as connection:
        stage = Stage(connection, insert_space(connection), "")
        sell(stage)
        yield stage


def sell(stage: Stage) -> None:
    now = datetime.now(UTC)
    [(currency,)] = stage.connection.execute(
        "UPDATE spaces SET cost_rate = 40, name = %s WHERE id = %s RETURNING currency", (LONG, stage.space_id)
    ).fetchall()
    for days in range(1, DAYS):
        source, platform, campaign = SOURCES[days % len(SOURCES)]
        moment = now - timedelta(days=days)
        contact = stage.contact(name=f"Customer {days}")
        first, _, _ = SOURCES[days % 3]
        for earlier, reached in ((30, first), (1, source)):
            stage.touchpoint(
                contact, reached, occurred_at=moment - timedelta(hours=earlier),
                campaign_id=campaign or None, campaign_name=campaign or None,
            )  # fmt: skip
        stage.event(
            contact, amount=f"{1_000_000 + 37 * days}.90", event_time=moment, order_id=f"order-{days}{LONG}"
        )
        if platform:
            spent = {
                "date": moment.date(), "platform": platform, "campaign_id": campaign,
                "currency": currency, "amount": "240.50", "as_of": now, "place": days, "revision": 1,
                "key": f"{platform}{days}".encode().ljust(16),
            }  # fmt: skip
            blank = dict.fromkeys(("account_id", "adset_id", "ad_id", "country"), "")
            stage._insert("spend", {**blank, **spent}, column="number")
    stage._insert("revisions", {"revision": 1, "era": 1}, column="revision")


@pytest.fixture(scope="module")
def space_id(shop: Stage) -> int:
    """The shop's Space."""
    return shop.space_id


@pytest.fixture
def open_shop(visit: Callable[..., Visit], user: User, shop: Stage) -> Callable[..., Visit]:
    """A function that opens a page of the shop's Space in a window of the given size."""

    def open_one(size: tuple[int, int], end: str = "") -> Visit:
        visitor = visit(viewport={"width": size[0], "height": size[1]})
        visitor.log_in(user)
        visitor.goto(f"/console/spaces/{shop.space_id}{end}")
        return visitor

    return open_one


def top(page: Page, selector: str) -> float:
    return page.locator(selector).first.evaluate("(one) => one.getBoundingClientRect().top")


def test_no_table_hides_a_column(open_shop: Callable[..., Visit], shop: Stage) -> None:
    visitor = open_shop(DESKTOP)
    event = visitor.page.locator(".latest a").first.get_attribute("href") or ""
    hidden_columns: dict[tuple[str, int], list[str]] = {}
    base = f"/console/spaces/{shop.space_id}"
    for end in ("/console?all", event, *(f"{base}{end}" for end in PAGES)):
        visitor.goto(end)
        expect(visitor.page.locator("h1")).to_be_attached()
        visitor.page.locator("main").focus()  # keeps the page from reloading itself
        for width, height in (DESKTOP, PHONE):
            visitor.page.set_viewport_size({"width": width, "height": height})
            hidden_columns[end, width] = visitor.page.evaluate(HIDDEN)
    assert {key: columns for key, columns in hidden_columns.items() if columns} == {}
    assert visitor.reports == []


def test_a_long_order_number_leaves_room_for_the_amount(open_shop: Callable[..., Visit]) -> None:
    for size in (DESKTOP, PHONE):
        amounts = open_shop(size).page.locator(".latest data")
        lines = amounts.evaluate_all("(all) => all.map((one) => one.getClientRects().length)")
        assert lines == [1] * len(lines) != []


def test_return_of_a_platform_is_in_sight_after_the_login(
    visit: Callable[..., Visit],
    user: User,
    shop: Stage,  # noqa: ARG001 # fills the Space
) -> None:
    visitor = visit(viewport={"width": DESKTOP[0], "height": DESKTOP[1]})
    visitor.log_in_by_page(user)
    row = visitor.page.get_by_role("row", name=re.compile("^Meta ads"))
    roas = row.locator("td[data-label=ROAS]")
    expect(roas).to_have_text(re.compile(r"\d+\.\d\d"))
    expect(roas).to_be_in_viewport()
    row.get_by_role("link", name="Meta ads").click()
    for name in ("Facebook", "Instagram"):
        expect(visitor.page.get_by_role("row", name=re.compile(f"^{name}"))).to_be_visible()
    assert visitor.reports == []


def test_finder(open_shop: Callable[..., Visit]) -> None:
    visitor = open_shop(DESKTOP)
    page = visitor.page
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Meta+k")
    expect(page.get_by_label("Page, person or order")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Search").click()
    page.keyboard.type("jour")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/paths$"))
    page.keyboard.press("Control+k")
    page.keyboard.type("settings")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/members$"))
    page.keyboard.press("Meta+k")
    page.keyboard.type("Customer 7")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/people\?q=Customer"))
    expect(page.locator("main")).to_contain_text("Customer 7")
    assert visitor.reports == []


def test_tiles_drive_the_chart(open_shop: Callable[..., Visit]) -> None:
    visitor = open_shop(DESKTOP)
    page = visitor.page
    tiles = page.locator(".tile")
    titles = tiles.locator("h2").all_inner_texts()
    values = tiles.locator(".value").all_inner_texts()
    assert titles[:4] == ["Revenue", "Orders", "Ad spend", "ROAS"]
    for title in titles:
        page.locator(".tile", has=page.get_by_role("heading", name=title, exact=True)).click()
        expect(page.locator("h2#chart")).to_have_text(re.compile(f"^{title} by "))
        expect(page.locator(".tile[aria-current]")).to_contain_text(title)
        assert page.locator(".tile .value").all_inner_texts() == values
        assert page.locator(".bars a").count() >= 30
    assert visitor.reports == []


def test_large_figures_stay_in_their_tiles(open_shop: Callable[..., Visit], shop: Stage) -> None:
    visitor = open_shop(DESKTOP)
    for end in ("", "/campaigns", "/channels"):
        visitor.goto(f"/console/spaces/{shop.space_id}{end}")
        for width, height in (DESKTOP, (1024, 768), PHONE):
            visitor.page.set_viewport_size({"width": width, "height": height})
            assert visitor.page.evaluate(OVERFLOWING) == [], (end, width)


@pytest.mark.parametrize("end", ["", "/channels", "/paths"])
def test_bars_of_a_column_begin_at_one_line(open_shop: Callable[..., Visit], end: str) -> None:
    starts_by_table = open_shop(DESKTOP, end).page.evaluate(BAR_STARTS)
    assert any(len(starts) > 1 for starts in starts_by_table)
    assert all(len(set(starts)) == 1 for starts in starts_by_table)


def test_a_bar_names_its_day_and_figures(open_shop: Callable[..., Visit]) -> None:
    visitor = open_shop(DESKTOP)
    page = visitor.page
    bar = page.locator(".bars a").nth(20)
    bar.locator(".hit").hover(force=True)
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    day = (bar.get_attribute("data-tip") or "").partition("\n")[0]
    assert day
    expect(tip).to_contain_text(day)
    expect(tip).to_contain_text(re.compile(r"\d,\d{3}\.90"))
    box = tip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= DESKTOP[0]
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    bar.locator(".hit").click(force=True)
    page.wait_for_url(re.compile("/events"))
    expect(page.locator("main")).to_contain_text("order-")
    assert visitor.reports == []


def test_first_screen_has_the_figures(open_shop: Callable[..., Visit]) -> None:
    """On a phone it has the first figure; on a desktop everything down to the first sources."""
    phone = open_shop(PHONE).page
    assert top(phone, ".tile .value") <= 180
    desktop = open_shop(DESKTOP).page
    first = desktop.locator("section[aria-labelledby=sources] tbody tr").first
    assert first.evaluate("(row) => row.getBoundingClientRect().bottom") <= DESKTOP[1]


def test_a_printed_page_begins_with_the_report(open_shop: Callable[..., Visit]) -> None:
    """At the width of a desktop the sidebar had kept its height, a screen."""
    for size in (PHONE, DESKTOP):
        page = open_shop(size).page
        page.emulate_media(media="print")
        assert top(page, "main") <= 90
        assert not page.get_by_role("button", name="Log out").is_visible()


def test_the_chart_says_its_period_on_a_phone(open_shop: Callable[..., Visit]) -> None:
    """Its lines are as wide as the card, not a column of single words."""
    page = open_shop(PHONE).page
    card = page.locator("section.card", has=page.locator("#chart"))
    about = card.locator(".headed > .about").bounding_box()
    card_box = card.bounding_box()
    assert about is not None
    assert card_box is not None
    assert about["width"] > 0.8 * card_box["width"]


def test_filters_on_a_phone(open_shop: Callable[..., Visit]) -> None:
    """The row of filters opens below one button, and each menu fits into the window."""
    visitor = open_shop(PHONE)
    page = visitor.page
    bar = page.locator(".choices-bar")
    expect(bar).to_be_hidden()
    page.locator(".filters-label").click()
    expect(bar).to_be_visible()
    for menu in bar.locator("details.menu").all():
        menu.locator("summary").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0], menu.inner_text()
        menu_box = menu.locator("> :not(summary)").bounding_box()
        assert menu_box is not None
        assert menu_box["x"] >= 0
        assert menu_box["x"] + menu_box["width"] <= PHONE[0]
    assert bar.locator("details.menu[open]").count() == 1
    page.keyboard.press("Escape")
    expect(bar.locator("details.menu[open]")).to_have_count(0)
    assert visitor.reports == []


def test_menus_on_a_desktop_end_inside_the_window(open_shop: Callable[..., Visit]) -> None:
    visitor = open_shop((1024, 768))
    page = visitor.page
    for menu in page.locator(".choices-bar details.menu").all():
        menu.locator("summary").first.click()
        menu_box = menu.locator("> :not(summary)").bounding_box()
        assert menu_box is not None
        assert menu_box["x"] >= 0
        assert menu_box["x"] + menu_box["width"] <= 1024
    page.locator("h2#chart").click()
    expect(page.locator("details.menu[open]")).to_have_count(0)
    assert visitor.reports == []


def test_narrow_sidebar_stays_narrow(open_shop: Callable[..., Visit]) -> None:
    visitor = open_shop(DESKTOP)
    page = visitor.page
    main_left = page.locator("main").evaluate("(one) => one.getBoundingClientRect().left")
    page.get_by_role("button", name="Narrow sidebar").click()
    page.get_by_role("link", name="Orders", exact=True).click()
    page.wait_for_url(re.compile("/events$"))
    assert page.locator("main").evaluate("(one) => one.getBoundingClientRect().left") < main_left
    page.get_by_role("button", name="Narrow sidebar").click()
    page.reload()
    assert page.locator("main").evaluate("(one) => one.getBoundingClientRect().left") == main_left
    assert visitor.reports == []
