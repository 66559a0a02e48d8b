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
from playwright.sync_api import Locator, Page, expect

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
WORKBOOK = b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml"
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


class Visitor:
    """A user who works by mouse or by keyboard alone. Axe checks every state."""

    def __init__(self, visit: Visit, device: str) -> None:
        self.visit, self.page, self.device = visit, visit.page, device

    def press(self, element: Locator) -> None:
        expect(element).to_be_visible()
        if self.device == "keyboard":
            reach(self.page, element)
        with self.page.expect_navigation():
            if self.device == "keyboard":
                self.page.keyboard.press("Enter")
            else:
                element.click()

    def open(self, element: Locator) -> None:
        """Open a folded question, or tick a box."""
        if self.device == "keyboard":
            reach(self.page, element)
            self.page.keyboard.press("Space")
        else:
            element.click()

    def type(self, element: Locator, text: str) -> None:
        if self.device == "keyboard":
            reach(self.page, element)
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
        else:
            element.fill(text)

    def check_screen(self, *, colours: bool = False) -> None:
        """Check that the page is no wider than the screen, and passes axe. If its `colours` are new, check it
        on a desktop in dark mode, too, which takes longer.
        """
        if self.device == "no scripts":
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
def visitor(request: pytest.FixtureRequest, visit: Callable[..., Visit], node: Node, user: User) -> Visitor:
    way, options = request.param
    script = node.package("axe-core/axe.min.js")
    visitor = visit(bypass_csp=way != "no scripts", **options)
    if way != "no scripts":
        visitor.page.add_init_script(path=str(script))
    visitor.log_in(user)
    visitor.goto("/console")
    return Visitor(visitor, way)


LEFT = "(cell) => cell.getBoundingClientRect().left"


def check_columns(page: Page) -> None:
    """Check on a wide screen that the choices are below their heading."""
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": 1440, "height": 800})
    head, field = (
        page.get_by_role("columnheader", name="Field"),
        page.get_by_role("cell", name="Field of").first,
    )
    assert head.evaluate(LEFT) == field.evaluate(LEFT)
    page.set_viewport_size(size)


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


def test_a_webhook_from_nothing_to_an_order(visitor: Visitor, space_id: int) -> None:
    page, orders = visitor.page, f"/console/spaces/{space_id}/orders"
    visitor.visit.goto(orders)
    visitor.check_screen()
    visitor.press(page.get_by_role("link", name=re.compile("^WooCommerce")))
    visitor.check_screen()
    visitor.type(page.get_by_label("Name"), " ")
    visitor.press(page.get_by_role("button", name="Create webhook"))
    expect(page.locator(".refusal")).to_have_text("Must not be empty.")
    visitor.check_screen()
    visitor.type(page.get_by_label("Name"), f"Shop {HOSTILE}")
    visitor.press(page.get_by_role("button", name="Create webhook"))
    expect(page.get_by_text("cannot be shown again")).to_have_count(2)
    visitor.check_screen()
    secret = page.locator("#secret-made").inner_text()
    address = page.locator("#address").inner_text()
    assert (deliver(address, "wrong"), deliver(address, secret)) == (401, 200)
    visitor.visit.goto(orders)
    visitor.check_screen()
    visitor.press(page.locator("table").get_by_role("link", name=re.compile("^Shop")))
    expect(page.locator("table.deliveries")).to_contain_text("became purchase")
    expect(page.locator("table.deliveries")).to_contain_text("Copy the signing secret from")
    visitor.check_screen(colours=True)
    visitor.press(page.locator("table.deliveries tbody a").first)
    expect(page.get_by_role("heading", name="Result with the current settings")).to_be_visible()
    visitor.check_screen()
    visitor.press(page.locator(".trail").get_by_role("link", name=re.compile("^Shop <")))
    visitor.press(page.get_by_role("link", name="Edit the mapping"))
    page.get_by_label("Field 1", exact=True).select_option("email")
    visitor.type(page.get_by_label("Expression of field 1"), "billing.email)")
    visitor.press(page.get_by_role("button", name="Save the mapping"))
    expect(page.locator(".refusal")).to_contain_text("Cannot be read at character 14")
    visitor.check_screen()
    visitor.type(page.get_by_label("Expression of field 1"), "billing.email")
    visitor.press(page.get_by_role("button", name="Preview with the latest"))
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
    visitor.check_screen()
    visitor.press(page.get_by_role("button", name="Save the mapping"))
    expect(page.get_by_text("The mapping is saved")).to_be_visible()
    assert only_refusals(visitor.visit.reports), visitor.visit.reports


def test_a_sender_that_makes_its_secret_once_it_knows_the_address(visitor: Visitor, space_id: int) -> None:
    page = visitor.page
    visitor.visit.goto(f"/console/spaces/{space_id}/orders/webhooks/new?type=shopify")
    visitor.press(page.get_by_role("button", name="Create webhook"))
    address = page.locator("#address")
    expect(page.locator(".guide")).to_contain_text("paste it below")
    expect(page.get_by_text("cannot be shown again")).to_be_visible()
    visitor.check_screen(colours=True)
    first = address.inner_text()
    visitor.type(page.get_by_label("Signing secret"), "shp-1")
    visitor.press(page.get_by_role("button", name="Save the secret"))
    expect(page.get_by_text("The signing secret is saved")).to_be_visible()
    expect(address).to_have_count(0)
    assert deliver(first, "shp-1", "shopify") == 200

    visitor.press(page.locator(".trail a[href$='/orders']"))
    visitor.check_screen()
    visitor.press(page.get_by_role("link", name="New address for Shopify"))
    visitor.open(page.locator("#new-address summary"))
    expect(page.get_by_text("stops working immediately. Deliveries")).to_be_visible()
    visitor.press(page.locator("#new-address button"))
    visitor.check_screen()
    second = address.inner_text()
    assert (deliver(first, "shp-1", "shopify"), deliver(second, "shp-1", "shopify")) == (404, 200)
    assert visitor.visit.reports == []


def test_a_file_from_nothing_to_its_rows(
    visitor: Visitor, console: Running, space_id: int, connection: psycopg.Connection, database_url: str  # noqa: F811
) -> None:  # fmt: skip
    def store() -> None:
        with psycopg.connect(database_url, autocommit=True) as working:
            work(working, LocalFolder(console.data_dir / "exports"), database_url)

    def let_the_worker_work() -> None:
        with ThreadPoolExecutor(1) as pool:  # the driver's event loop runs in this thread
            pool.submit(store).result()

    page = visitor.page
    visitor.visit.goto(f"/console/spaces/{space_id}/orders")
    visitor.press(page.get_by_role("link", name=re.compile("^A CSV file")))
    visitor.check_screen()
    file = page.get_by_label("File", exact=True)
    file.set_input_files([{"name": "a.csv", "mimeType": "text/csv", "buffer": WORKBOOK}])
    visitor.press(page.get_by_role("button", name="Upload"))
    expect(page.locator(".refusal")).to_contain_text("This is an Excel workbook")
    visitor.check_screen()
    file.set_input_files([{"name": f"{HOSTILE}.csv", "mimeType": "text/csv", "buffer": ORDERS}])
    visitor.press(page.get_by_role("button", name="Upload"))
    expect(page.get_by_label("Field of Gesamtbetrag")).to_have_value("amount")
    expect(page.get_by_label("Amounts")).to_have_value("comma")
    expect(page.get_by_label("Dates")).to_have_value("dmy")
    visitor.check_screen()
    check_columns(page)
    page.get_by_label("Time zone").select_option("America/New_York")
    visitor.press(page.get_by_role("button", name="Check the file"))
    expect(page.get_by_role("heading", name="Checking every row")).to_be_visible()
    visitor.check_screen()
    let_the_worker_work()
    page.reload()
    expect(page.get_by_role("heading", name="1 row would be stored, 1 refused")).to_be_visible()
    expect(page.locator("table.preview")).to_contain_text("1234.5")
    visitor.check_screen()
    visitor.press(page.get_by_role("button", name="Start the import"))
    expect(page.get_by_text("The import has started")).to_be_visible()
    visitor.check_screen()
    let_the_worker_work()
    page.reload()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    expect(page.get_by_role("link", name="Download as CSV")).to_be_visible()
    visitor.check_screen(colours=True)
    (inbox_row,) = connection.execute(
        "SELECT payload::json FROM inbox WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert inbox_row[0]["amount"] == "1234.5"
    assert inbox_row[0]["event_time"] == 1778679000000  # 13:30 UTC
    assert only_refusals(visitor.visit.reports), visitor.visit.reports
