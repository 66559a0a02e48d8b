"""Incoming orders in a real browser: a webhook from an empty page to an order, and a file from upload to
stored rows; by mouse, by keyboard alone and without scripts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from playwright.sync_api import Locator, expect

from headwater.base.storage import LocalFolder
from headwater.intake.imports.job_worker import work
from headwater.spaces.accounts.users import User
from tests.browser.keys import reach
from tests.browser.test_accessibility import OF_COLOURS, RUN, WIDTH
from tests.browser.test_console import Visit
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.conformance.node import Node
from tests.conftest import Running
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.campaigns import IS_LONG
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.webhook_samples import SAMPLES

HOSTILE = "<img src=x onerror=alert(1)>"
ORDERS = (
    f"Bestellnummer;E-Mail;Gesamtbetrag;Bestelldatum;{HOSTILE}\r\n"
    f"1001;ada@example.com;1.234,50;13.05.2026 09:30;{HOSTILE}\r\n"
    "1002;nobody;10,00;14.05.2026 23:15;\r\n"
).encode("cp1252")
MOUSE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
_LOOKS: list[tuple[str, dict[str, Any]]] = [
    ("mouse", MOUSE),
    ("keyboard", {"viewport": {"width": 390, "height": 800}}),
    ("no scripts", {**MOUSE, "java_script_enabled": False}),
]
LOOKS = _LOOKS if IS_LONG else _LOOKS[1:]
"""An ordinary run uses the keyboard with scripts and the mouse without; a long run also uses the mouse with
scripts.
"""


class Hand:
    """A user who works by mouse or by keyboard alone. Axe checks every state."""

    def __init__(self, one: Visit, way: str) -> None:
        self.one, self.page, self.way = one, one.page, way

    def press(self, place: Locator) -> None:
        expect(place).to_be_visible()
        if self.way == "keyboard":
            reach(self.page, place)
        with self.page.expect_navigation():
            if self.way == "keyboard":
                self.page.keyboard.press("Enter")
            else:
                place.click()

    def open(self, place: Locator) -> None:
        """Open a folded question, or tick a box."""
        if self.way == "keyboard":
            reach(self.page, place)
            self.page.keyboard.press("Space")
        else:
            place.click()

    def type(self, place: Locator, text: str) -> None:
        if self.way == "keyboard":
            reach(self.page, place)
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
        else:
            place.fill(text)

    def look(self, *, colours: bool = False) -> None:
        """Check that the page is no wider than the screen, and passes axe. If its `colours` are new, check it
        on a desktop in dark mode, too, which takes longer.
        """
        if self.way == "no scripts":
            return
        # A page doesn't reload itself while one of its elements has the focus.
        self.page.locator("main").focus()
        assert self.page.evaluate(RUN) == [], self.page.url
        assert self.page.evaluate(WIDTH) == 0, self.page.url
        size = self.page.viewport_size
        assert size is not None
        self.page.set_viewport_size({"width": 1280, "height": 800})
        assert self.page.evaluate(WIDTH) == 0, self.page.url
        if colours:
            self.page.emulate_media(color_scheme="dark")
            assert self.page.evaluate(RUN, OF_COLOURS) == [], f"{self.page.url}, dark"
            self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(size)


@pytest.fixture(params=LOOKS, ids=lambda look: look[0])
def hand(request: pytest.FixtureRequest, visit: Callable[..., Visit], node: Node, user: User) -> Hand:
    way, options = request.param
    script = node.package("axe-core/axe.min.js")
    visitor = visit(bypass_csp=way != "no scripts", **options)
    if way != "no scripts":
        visitor.page.add_init_script(path=str(script))
    visitor.log_in(user)
    visitor.goto("/console")
    return Hand(visitor, way)


def only_refusals(reports: list[str]) -> bool:
    """Return True if the only messages are about refused forms, whose first wrong field already has the focus
    when the browser would set it.
    """
    return all("422" in text or "Autofocus" in text for text in reports)


def deliver(address: str, secret: str, kind: str = "woocommerce") -> int:
    """Deliver an order as its sender does, and return the status of the answer."""
    sample = SAMPLES[kind]
    body = json.dumps(sample.body).encode()
    headers = {**sample.headers, sample.signature: sample.sign(body, secret)}
    answer = httpx.post(address, content=body, headers=headers, timeout=PATIENCE_SECONDS)
    return answer.status_code


def test_a_webhook_from_nothing_to_an_order(hand: Hand, space_id: int) -> None:
    page, orders = hand.page, f"/console/spaces/{space_id}/orders"
    hand.one.goto(orders)
    hand.look()
    hand.press(page.get_by_role("link", name=re.compile("^WooCommerce")))
    hand.look()
    hand.type(page.get_by_label("Name"), " ")
    hand.press(page.get_by_role("button", name="Create webhook"))
    expect(page.locator(".refusal")).to_have_text("Must not be empty.")
    hand.look()
    hand.type(page.get_by_label("Name"), f"Shop {HOSTILE}")
    hand.press(page.get_by_role("button", name="Create webhook"))
    expect(page.get_by_text("cannot be shown again")).to_have_count(2)
    hand.look()
    secret = page.locator("#secret-made").inner_text()
    address = page.locator("#address").inner_text()
    assert (deliver(address, "wrong"), deliver(address, secret)) == (401, 200)
    hand.one.goto(orders)
    hand.look()
    hand.press(page.locator("table").get_by_role("link", name=re.compile("^Shop")))
    expect(page.locator("table.deliveries")).to_contain_text("became purchase")
    expect(page.locator("table.deliveries")).to_contain_text("Copy the signing secret from")
    hand.look(colours=True)
    hand.press(page.locator("table.deliveries tbody a").first)
    expect(page.get_by_role("heading", name="Result with the current settings")).to_be_visible()
    hand.look()
    hand.press(page.locator(".trail").get_by_role("link", name=re.compile("^Shop <")))
    hand.press(page.get_by_role("link", name="Edit the mapping"))
    page.get_by_label("Field 1", exact=True).select_option("email")
    hand.type(page.get_by_label("Expression of field 1"), "billing.email)")
    hand.press(page.get_by_role("button", name="Save the mapping"))
    expect(page.locator(".refusal")).to_contain_text("Cannot be read at character 14")
    hand.look()
    hand.type(page.get_by_label("Expression of field 1"), "billing.email")
    hand.press(page.get_by_role("button", name="Preview with the latest"))
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
    hand.look()
    hand.press(page.get_by_role("button", name="Save the mapping"))
    expect(page.get_by_text("The mapping is saved")).to_be_visible()
    assert only_refusals(hand.one.reports), hand.one.reports


def test_a_sender_that_makes_its_secret_once_it_knows_the_address(hand: Hand, space_id: int) -> None:
    page = hand.page
    hand.one.goto(f"/console/spaces/{space_id}/orders/webhooks/new?type=shopify")
    hand.press(page.get_by_role("button", name="Create webhook"))
    address = page.locator("#address")
    expect(page.locator(".guide")).to_contain_text("paste it below")
    expect(page.get_by_text("cannot be shown again")).to_be_visible()
    hand.look(colours=True)
    first = address.inner_text()
    hand.type(page.get_by_label("Signing secret"), "shp-1")
    hand.press(page.get_by_role("button", name="Save the secret"))
    expect(page.get_by_text("The signing secret is saved")).to_be_visible()
    expect(address).to_have_count(0)
    assert deliver(first, "shp-1", "shopify") == 200

    hand.press(page.locator(".trail a[href$='/orders']"))
    hand.look()
    hand.press(page.get_by_role("link", name="New address for Shopify"))
    hand.open(page.locator("#new-address summary"))
    expect(page.get_by_text("stops working immediately. Deliveries")).to_be_visible()
    hand.press(page.locator("#new-address button"))
    hand.look()
    second = address.inner_text()
    assert (deliver(first, "shp-1", "shopify"), deliver(second, "shp-1", "shopify")) == (404, 200)
    assert hand.one.reports == []


def test_a_file_from_nothing_to_its_rows(
    hand: Hand, console: Running, space_id: int, connection: psycopg.Connection, database_url: str  # noqa: F811
) -> None:  # fmt: skip
    def store() -> None:
        with psycopg.connect(database_url, autocommit=True) as working:
            work(working, LocalFolder(console.data_dir / "exports"), database_url)

    def let_the_worker_work() -> None:
        with ThreadPoolExecutor(1) as pool:  # the driver's event loop runs in this thread
            pool.submit(store).result()

    page = hand.page
    hand.one.goto(f"/console/spaces/{space_id}/orders")
    hand.press(page.get_by_role("link", name=re.compile("^A CSV file")))
    hand.look()
    file = page.get_by_label("File", exact=True)
    file.set_input_files([{"name": "a.csv", "mimeType": "text/csv", "buffer": b"PK\x03\x04"}])
    hand.press(page.get_by_role("button", name="Upload"))
    expect(page.locator(".refusal")).to_contain_text("This is an Excel workbook")
    hand.look()
    file.set_input_files([{"name": f"{HOSTILE}.csv", "mimeType": "text/csv", "buffer": ORDERS}])
    hand.press(page.get_by_role("button", name="Upload"))
    expect(page.get_by_label("Field of Gesamtbetrag")).to_have_value("amount")
    expect(page.get_by_label("Amounts")).to_have_value("comma")
    expect(page.get_by_label("Dates")).to_have_value("dmy")
    hand.look()
    page.get_by_label("Time zone").select_option("America/New_York")
    hand.press(page.get_by_role("button", name="Check the file"))
    expect(page.get_by_role("heading", name="Checking every row")).to_be_visible()
    hand.look()
    let_the_worker_work()
    page.reload()
    expect(page.get_by_role("heading", name="1 row would be stored, 1 refused")).to_be_visible()
    expect(page.locator("table.preview")).to_contain_text("1234.5")
    hand.look()
    hand.press(page.get_by_role("button", name="Start the import"))
    expect(page.get_by_text("The import has started")).to_be_visible()
    hand.look()
    let_the_worker_work()
    page.reload()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    expect(page.get_by_role("link", name="Download as CSV")).to_be_visible()
    hand.look(colours=True)
    (inbox_row,) = connection.execute(
        "SELECT payload::json FROM inbox WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert inbox_row[0]["amount"] == "1234.5"
    assert inbox_row[0]["event_time"] == 1778679000000  # 13:30 UTC
    assert only_refusals(hand.one.reports), hand.one.reports
