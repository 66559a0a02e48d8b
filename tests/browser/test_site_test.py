"""The test of a site in a real browser, with a shop on another origin: received data is ticked off, and each
of ten planted faults is named.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser, Error, Page, expect

from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.intake.pipeline.batch_runner import process_space
from headwater.spaces.accounts.passwords import Passwords
from headwater.spaces.accounts.users import User
from tests.browser.faulty_shop import OTHER_KEY, FaultyShop
from tests.browser.faulty_shop import faulty_shop as faulty_shop  # noqa: PLC0414 # a fixture
from tests.browser.test_accessibility import LONG, WIDTHS, check_widths
from tests.browser.test_accessibility import open_console as open_console  # noqa: PLC0414 # a fixture
from tests.browser.test_console import PAYLOADS, Visit
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.conftest import API, Running, run_application
from tests.console.conftest import accounts, passwords  # noqa: F401 # fixtures
from tests.support.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture(scope="module")
def console(
    database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    passwords: Passwords,  # noqa: F811
) -> Iterator[Running]:
    """The application, with permission to open pages on this machine."""
    settings = Settings(rate_limit_factor=1000, data_dir=tmp_path_factory.mktemp("sites"))
    egress = Egress(("127.0.0.1",), seconds=5)
    application = run_application(settings, database_url, passwords, egress)
    yield application
    application.stop()


@pytest.fixture
def worker(database_url: str, space_id: int) -> Iterator[None]:
    """Processes incoming data like the worker."""
    stop = threading.Event()

    def work() -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            while not stop.wait(0.05):
                process_space(connection, space_id, 2000)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()


@dataclass
class Walk:
    """The user on the test page."""

    visit: Visit
    shop: FaultyShop
    space_id: int
    here: str = ""

    @property
    def page(self) -> Page:
        return self.visit.page

    def create(self) -> None:
        """Create the site, by mouse."""
        self.visit.goto(f"/console/spaces/{self.space_id}")
        self.page.get_by_role("link", name="Connections", exact=True).first.click()
        self.page.get_by_role("link", name="Website", exact=True).first.click()
        self.page.get_by_label("Name", exact=True).fill("Shop")
        self.page.get_by_label("Page addresses").fill(f"{self.shop.origin}/cart?x=1")
        self.page.get_by_role("button", name="Create site").click()
        self.page.wait_for_url(re.compile(r"/sites/\d+$"))
        self.adopt()

    def adopt(self) -> None:
        """Give the shop the key of the current page's site."""
        self.here = self.page.url.removeprefix(self.visit.base_url)
        self.shop.hub = self.visit.base_url
        key = re.search(r"trk_pk_[\w-]{24}", self.page.content())
        assert key is not None
        self.shop.key = key[0]

    def start(self, path: str = "/") -> None:
        if not self.page.url.endswith("/test"):
            self.visit.goto(f"{self.here}/test")
        self.page.get_by_label("Shop page").fill(self.shop.origin + path)
        self.page.get_by_role("button", name=re.compile("Start")).click()
        expect(self.page.get_by_text(f"It opens {self.shop.origin}{path} in")).to_be_visible()

    def open_shop(self) -> Page:
        with self.page.expect_popup() as popup:
            self.page.get_by_role("link", name="Open the shop").click()
        return popup.value

    def shop_at(self, path: str, shop: Page) -> None:
        """Start a test of a page, and open it in an existing window."""
        self.start(path)
        link = self.page.get_by_role("link", name="Open the shop")
        shop.goto(link.get_attribute("href") or "")

    def step(self, title: str) -> Any:
        return self.page.locator(".test-steps > li", has_text=title)

    def reload_until(self, condition: Callable[[], bool]) -> None:
        """Reload the page until `condition` is true, without waiting for the page to reload itself."""

        def is_met() -> bool:
            with suppress(Error):  # the page was just reloading itself
                self.page.reload()
            return condition()

        wait_until(lambda: condition() or is_met())

    def wait_for_step(self, title: str) -> None:
        self.reload_until(lambda: self.step(title).get_attribute("class") == "done")

    def fault(self, kind: str) -> None:
        """Wait until this fault is named, and check that no other fault is."""
        self.reload_until(self.page.locator(f"[data-fault={kind}]").is_visible)
        elements = self.page.locator("[data-fault]")
        assert [element.get_attribute("data-fault") for element in elements.all()] == [kind]

    def ticks(self, title: str) -> None:
        """Wait until the page ticks a step off by itself."""
        expect(self.step(title)).to_have_class("done", timeout=1000 * PATIENCE_SECONDS)


@pytest.fixture
def walk(visit: Callable[..., Visit], user: User, space_id: int, faulty_shop: FaultyShop) -> Walk:
    visitor = visit()
    visitor.log_in(user)
    return Walk(visitor, faulty_shop, space_id)


def order(console: Running, key: str, **fields: Any) -> None:
    """Send an order from the shop's server."""
    body = {"event_name": "purchase", "amount": 5, **fields}
    answer = httpx.post(f"{console.base_url}{API}/events/track", json=body,
                        headers={"Authorization": f"Bearer {key}"})  # fmt: skip
    assert answer.status_code == 202, answer.text


@pytest.mark.usefixtures("worker")
def test_it_works(walk: Walk, make_key: Callable[..., str], console: Running) -> None:
    """From no site to a test with every step passed, and then every possible fault."""
    walk.create()
    page = walk.page
    page.get_by_role("link", name="Next.js").click()
    expect(page.locator("#code-1")).to_contain_text(walk.shop.key)
    page.get_by_role("link", name="Test my site").first.click()
    walk.start()
    shop = walk.open_shop()
    walk.ticks("Page view")
    shop.evaluate("trk.identify({email: 'ada@example.com'})")
    walk.ticks("Identify")
    shop.evaluate("trk.track('purchase', {order_id: '1001', amount: 5})")
    expect(page.get_by_text("Everything arrived.")).to_be_visible(timeout=1000 * PATIENCE_SECONDS)
    assert page.locator("[data-refresh]").count() == 0
    for path, kind in (
        ("/absent", "tag_absent"), ("/key", "wrong_key"), ("/consent", "consent_missing"),
        ("/policy", "policy_blocks"), ("/address", "wrong_address"),
    ):  # fmt: skip
        walk.shop_at(path, shop)
        walk.fault(kind)
        expect(walk.step("Page view")).to_have_class("open")
    walk.shop_at("/redirect", shop)
    walk.wait_for_step("Page view")
    walk.fault("click_id_lost")
    page.context.clear_cookies(name="trk_token")
    walk.shop_at("/cookie", shop)
    walk.wait_for_step("Page view")
    walk.fault("cookie_blocked")
    key = make_key(walk.space_id)
    walk.shop_at("/", shop)
    token = _token(shop)
    walk.wait_for_step("Page view")
    order(console, key, email="bob@example.com", order_id="1002")
    walk.fault("order_without_token")
    walk.shop_at("/", shop)
    walk.wait_for_step("Page view")
    shop.evaluate("trk.track('purchase', {order_id: '1001', amount: 5})")
    walk.fault("order_repeated")
    ahead = datetime.now(UTC) + timedelta(hours=2)
    walk.shop_at("/", shop)
    walk.wait_for_step("Page view")
    order(console, key, trk_token=token, order_id="1003", event_time=ahead.isoformat())
    walk.fault("clock_wrong")
    walk.wait_for_step("Purchase")
    assert walk.visit.reports == []


def _token(shop: Page) -> str:
    shop.wait_for_function("() => window.trkToken && trkToken()")
    return str(shop.evaluate("trkToken()"))


@pytest.mark.usefixtures("worker")
def test_what_the_endpoint_refused(walk: Walk) -> None:
    """The page has an unlisted address, and nothing in its source shows that."""
    walk.create()
    walk.start("/absent")
    walk.visit.goto(walk.here)
    walk.page.get_by_label("Page addresses").fill("http://127.0.0.1:9")
    walk.page.get_by_role("button", name="Save").click()
    expect(walk.page.get_by_role("status")).to_contain_text("The site is saved.")
    shop = walk.page.context.new_page()
    shop.goto(f"{walk.shop.origin}/")
    walk.visit.goto(f"{walk.here}/test")
    expect(walk.page.locator("[data-fault=origin_unknown]")).to_contain_text(walk.shop.origin)
    walk.visit.goto(walk.here)
    walk.reload_until(walk.page.get_by_text("are not one of its addresses").is_visible)


@pytest.mark.usefixtures("worker")
def test_by_keyboard_alone(walk: Walk) -> None:
    page = walk.page
    walk.visit.goto(f"/console/spaces/{walk.space_id}/sites")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("Shop")
    page.keyboard.press("Tab")
    page.keyboard.type("nothing")
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_label("Page addresses")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type(walk.shop.origin)
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile(r"/sites/\d+$"))
    walk.adopt()
    page.get_by_role("link", name="Test my site").first.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Shop page").focus()
    page.keyboard.press("Enter")
    link = page.get_by_role("link", name="Open the shop")
    link.focus()
    with page.expect_popup():
        page.keyboard.press("Enter")
    walk.ticks("Page view")
    expect(page.get_by_role("status")).to_contain_text("1 of 3 are done.")


@pytest.mark.usefixtures("worker")
def test_without_scripts(
    chromium: Browser, visit: Callable[..., Visit], user: User, space_id: int,
    faulty_shop: FaultyShop,
) -> None:  # fmt: skip
    visitor = visit(java_script_enabled=False)
    visitor.log_in(user)
    walk = Walk(visitor, faulty_shop, space_id)
    walk.create()
    visitor.page.get_by_role("link", name="Shopify").click()
    expect(visitor.page.locator("#code-1")).to_contain_text("cart.attributes.trk_token")
    walk.start("/consent")
    walk.fault("consent_missing")
    address = visitor.page.get_by_role("link", name="Open the shop").get_attribute("href") or ""
    walk.start()
    address = visitor.page.get_by_role("link", name="Open the shop").get_attribute("href") or ""
    shopper = chromium.new_context()
    shop = shopper.new_page()
    shop.goto(address)
    shop.wait_for_function("() => document.cookie.includes('trk_token=')")
    for _ in range(100):
        visitor.page.get_by_role("link", name="Refresh").click()
        if walk.step("Page view").get_attribute("class") == "done":
            break
    walk.wait_for_step("Page view")
    shopper.close()


def test_every_state_under_axe(
    open_console: Callable[..., Visit], user: User, space_id: int, faulty_shop: FaultyShop,
    connection: psycopg.Connection,
) -> None:  # fmt: skip
    """Empty, refused, listed, each shop's snippet, a test with faults, a completed test."""
    visitor = open_console(WIDTHS[0])
    visitor.log_in(user)
    walk = Walk(visitor, faulty_shop, space_id)
    sites = f"/console/spaces/{space_id}/sites"
    visitor.goto(sites)
    check_widths(visitor.page, "empty")
    visitor.page.get_by_label("Name", exact=True).fill(LONG[:200])
    visitor.page.get_by_label("Page addresses").fill(f"{LONG} {PAYLOADS[0]}")
    visitor.page.get_by_role("button", name="Create site").click()
    expect(visitor.page.locator(".refusal")).to_be_visible()
    check_widths(visitor.page, "refused")
    visitor.page.get_by_label("Page addresses").fill(faulty_shop.origin)
    visitor.page.get_by_role("button", name="Create site").click()
    visitor.page.wait_for_url(re.compile(r"/sites/\d+$"))
    walk.adopt()
    faulty_shop.key = OTHER_KEY
    for end in ("", "?shop=shopify", "?shop=nextjs&consent=required"):
        visitor.goto(walk.here + end)
        check_widths(visitor.page, end)
    visitor.goto(sites)
    check_widths(visitor.page, "listed")
    visitor.goto(f"{walk.here}/test")
    check_widths(visitor.page, "not begun")
    connection.execute(
        "INSERT INTO site_refusals VALUES (%(s)s, %(i)s, 'invalid', 'event.amount', now()),"
        " (%(s)s, %(i)s, 'clock', %(long)s, now())",
        {"s": space_id, "i": int(walk.here.rpartition("/")[2]), "long": LONG[:200]},
    )
    walk.start()
    expect(visitor.page.locator("[data-fault=wrong_key]")).to_be_visible()
    check_widths(visitor.page, "faults")
    visitor.goto(walk.here)
    check_widths(visitor.page, "refused lately")
