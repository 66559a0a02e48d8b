"""Every page for people passes axe, the checker of the Web Content Accessibility Guidelines, in light and
dark, on a desktop and on a narrow phone; no page is wider than the phone's screen.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from playwright.sync_api import Page

from headwater.console import login
from headwater.console.login import LoginWays
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import User
from tests.browser.test_console import Visit
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.conformance.node import Node
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.accounts import Accounts
from tests.support.campaigns import IS_LONG
from tests.support.factories import NOON, Stage

SPACE_PAGES = (
    "", "?period=today", "/channels", "/models", "/paths", "/campaigns", "/ads/comparison", "/cohorts",
    "/self-reported", "/completeness", "/changes", "/changes/since", "/campaigns/changes", "/spend",
    "/events", "/events?conversion=any",
    "/companies", "/people", "/people?q=nobody", "/setup", "/data-quality",
    "/sites", "/orders", "/orders/webhooks/new", "/orders/imports/new",
    "/sources?url=shop.example%3Fgclid%3D1%23utm_source",
    "/links?address=shop.example%3Fgclid%3D1&source=email&campaign=1", "/links?address=x",
    "/links/many",
    "/live",
    "/alerts", "/alerts/rules", "/alerts/reports", "/alerts/reports/new?page=%2Fchannels",
    "/members", "/keys", "/share-links", "/notes", "/rates", "/trained-models", "/mcp",
    "/settings",
    "/platforms",
)  # fmt: skip
FILLED = ("/campaigns", "/ads/comparison", "/cohorts", "/campaigns/changes", "/spend")
"""Pages that are empty without the rows of their table."""
NARROWEST = 320
WIDTHS = [1440, 390, NARROWEST]
LONG = "Donaudampfschifffahrtsgesellschaft" * 6
RUN = """(rules) => axe.run({resultTypes: ["violations"], ...(rules ? {runOnly: rules} : {})}).then(
    (found) => found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target)}`))"""
OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe that depend on colours."""
UNFOLD = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
UNFOLD_ONE = """(place) => document.querySelectorAll('details.confirm').forEach(
    (one, at) => { one.open = at === place; })"""
BEYOND = """() => [...document.querySelectorAll('button, .button, input, select, code')].filter(
    (one) => one.checkVisibility() && !one.closest('.scroll, .sr')
        && one.getBoundingClientRect().right > document.documentElement.clientWidth
).map((one) => one.outerHTML.slice(0, 100))"""
FOCUS = "() => document.querySelector('main')?.focus()"
"""A page doesn't reload itself while one of its elements has the focus."""
WIDTH = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def open_console(visit: Callable[..., Visit], node: Node) -> Callable[..., Visit]:
    """A function that opens the console on a screen of a given width, ready to be checked."""
    script = node.package("axe-core/axe.min.js")

    def open_one(width: int) -> Visit:
        visitor = visit(bypass_csp=True, viewport={"width": width, "height": 800})
        visitor.page.add_init_script(path=str(script))
        return visitor

    return open_one


def check_by_axe(page: Page, path: str, *, light: bool, dark: bool) -> None:
    """Check a page in light, dark or both; after light, dark checks only the rules that depend on colours."""
    if light:
        assert page.evaluate(RUN) == [], path
    if dark:
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(RUN, OF_COLOURS if light else None) == [], f"{path}, dark"
        page.emulate_media(color_scheme="light")


def check(page: Page, path: str) -> None:
    """Check a page at its current width."""
    check_by_axe(page, path, light=True, dark=True)
    assert page.evaluate(WIDTH) == 0, f"{path} is wider than the screen"


def check_widths(page: Page, path: str, index: int = 0) -> None:
    """Check a page on screens of every width. An ordinary run lets axe check either the desktop or the phone,
    in either light or dark, alternating by the page's `index` in a list; a long run checks all combinations.
    On the narrowest screen only the width is checked: the layout is the phone's.
    """
    page.evaluate(FOCUS)
    in_light = index // 2 % 2 == 0
    for turn, width in enumerate(WIDTHS, index):
        resize(page, width)
        if width != NARROWEST and (IS_LONG or turn % 2 == 0):
            check_by_axe(page, path, light=IS_LONG or in_light, dark=IS_LONG or not in_light)
        assert page.evaluate(WIDTH) == 0, f"{path} is wider than the screen"


def resize(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})


def check_unfolded(page: Page, path: str) -> None:
    """Check that every folded confirmation, once open, still fits the screen."""
    for index in range(page.locator("details.confirm").count()):
        page.evaluate(UNFOLD_ONE, index)
        assert page.locator("details.confirm[open] button").is_visible()
        assert page.evaluate(BEYOND) == [], path
        assert page.evaluate(WIDTH) == 0, path


def put_people(stage: Stage) -> list[str]:
    """Store a company, a contact and an event with everything that their pages can show. Return the ends of
    their addresses.
    """
    company = stage.company(name=LONG, domain=LONG)
    contact = stage.contact(name=LONG, email=LONG, company_id=company)
    stage.identifier(contact, "email", LONG)
    merged_id = stage.contact(merged_into=contact)
    cause = {"merged_id": merged_id, "survivor_id": contact, "cause": "email", "sender": "api_key"}
    stage._insert("merges", cause)
    stage.touchpoint(contact, "direct", source_rule="direct", company_id=company, url=LONG)
    stage.touchpoint(contact, "email", source_rule="utm_source", company_id=company,
                     url=f"https://shop.example/?utm_source={LONG}")  # fmt: skip
    stage.hit(contact, stage.visit(contact), url=f"https://shop.example/{LONG}")
    event = stage.event(contact, amount="123456789.01", order_id=LONG, company_id=company,
                        warnings=[LONG])  # fmt: skip
    untouched = stage.event(stage.contact(), amount="1")
    skipping_id = stage.destination(name=LONG[:100])
    stage.add_delivery(skipping_id, event, status="skipped", reason="not_attributed", error=LONG)
    stage._insert("erasures", {"contact_id": contact, "receipt_mark": 0, "erased_at": NOON})
    return [
        f"/events/{event}", f"/events/{untouched}", f"/contacts/{contact}",
        f"/contacts/{contact}/erasure", f"/companies/{company}", f"/people?q={LONG[:100]}",
    ]  # fmt: skip


def put_spend(stage: Stage, now: datetime) -> None:
    """Store a customer who came through an ad in each of the last two months, and spend on Google and on
    another platform, so that Campaigns and Cohorts have all of their columns.
    """
    [(currency,)] = stage.connection.execute(
        "UPDATE spaces SET cost_rate = 40 WHERE id = %s RETURNING currency", (stage.space_id,)
    ).fetchall()
    for index, days in enumerate((2, 33)):
        moment = now - timedelta(days=days)
        contact = stage.contact()
        stage.touchpoint(contact, "google_ads", occurred_at=moment, campaign_id=LONG)
        stage.event(contact, amount="1234567.89", event_time=moment)
        for platform in ("google", LONG[:64].lower()):
            key = platform.encode()[:15].ljust(15) + bytes([index])
            spent = {"date": moment.date(), "key": key,
                     "platform": platform, "campaign_id": LONG, "currency": currency,
                     "amount": "98765.43", "as_of": now, "place": index}  # fmt: skip
            blank = dict.fromkeys(("account_id", "adset_id", "ad_id", "country"), "")
            stage._insert("spend", {**blank, **spent, "revision": 1}, column="number")
    stage._insert("revisions", {"revision": 1, "era": 1}, column="revision")


def test_the_reference(open_console: Callable[..., Visit]) -> None:
    visitor = open_console(WIDTHS[0])
    visitor.goto("/docs")
    contents = visitor.page.locator("[data-contents]")
    assert contents.evaluate("(it) => it.open")
    check_widths(visitor.page, "/docs")
    visitor.goto("/docs")
    assert not contents.evaluate("(it) => it.open"), "on a narrow screen it begins folded"
    visitor.page.evaluate(UNFOLD)
    assert visitor.page.evaluate("() => document.querySelectorAll('main').length") == 1
    visitor.goto("/docs#put_spend")
    visitor.page.wait_for_url("**/docs/spend#put_spend")
    check_widths(visitor.page, "/docs/spend", 1)
    visitor.page.evaluate(UNFOLD)
    check_widths(visitor.page, "/docs/spend, unfolded", 2)
    visitor.goto("/docs")
    visitor.page.get_by_role("searchbox").fill("amount")
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_url("**/docs?q=amount")
    check_widths(visitor.page, "/docs?q=amount", 3)


def test_the_page_before_there_is_an_account(
    open_console: Callable[..., Visit], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_user(_: object) -> bool:
        return False

    async def no_login_ways(_: object) -> LoginWays:
        return LoginWays([], [], False)

    monkeypatch.setattr(login, "any_user", no_user)
    monkeypatch.setattr(login, "load_login_ways", no_login_ways)
    visitor = open_console(WIDTHS[0])
    visitor.goto("/")
    assert visitor.page.get_by_text("There is no account yet.").is_visible()
    check_widths(visitor.page, "/login")


def test_the_console(
    open_console: Callable[..., Visit], user: User, space_id: int, connection: psycopg.Connection,
    accounts: Accounts,  # noqa: F811
) -> None:  # fmt: skip
    """With names of maximum length, and with an item that needs attention."""
    connection.execute("UPDATE spaces SET name = %s WHERE id = %s", (LONG, space_id))
    connection.execute(
        "INSERT INTO destinations (space_id, platform, name, status, status_reason, held_since)"
        " VALUES (%s, 'meta', %s, 'held', %s, now())",
        (space_id, LONG[:100], LONG),
    )
    accounts.member(space_id, Role.ADMIN, LONG[:120])
    stage, now = Stage(connection, space_id, ""), datetime.now(UTC)
    stage.touchpoint(
        stage.contact(),
        "referral",
        source_rule="campaign",
        occurred_at=now,
        url=f"https://shop.example/?utm_source={LONG}",
    )
    connection.execute(
        "INSERT INTO source_names (space_id, name, source) VALUES (%s, %s, 'email')", (space_id, f"x{LONG}")
    )
    people_pages = put_people(stage)
    put_spend(stage, now)
    visitor = open_console(WIDTHS[0])
    visitor.goto("/login")
    check_widths(visitor.page, "/login")
    visitor.log_in(user)
    paths = [f"/console/spaces/{space_id}{end}" for end in (*SPACE_PAGES, *people_pages)]
    for index, path in enumerate((*paths, "/console?all", "/console/account", "/console/nothing")):
        visitor.goto(path)
        check_widths(visitor.page, path, index)
        if path.endswith(FILLED):
            assert visitor.page.locator("main tbody tr").count(), path
        if "/contacts/" in path:
            for width in WIDTHS:
                resize(visitor.page, width)
                check_unfolded(visitor.page, path)
