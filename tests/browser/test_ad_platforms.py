"""Connecting an ad platform in a real browser: from an empty list to a tested connection by mouse, by
keyboard alone and without scripts, with a wrong token and a wrong pixel on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Page, expect

from headwater.base.settings import Settings
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import User
from tests.browser.test_accessibility import LONG, WIDTHS, check, check_unfolded, check_widths, resize
from tests.browser.test_console import PAYLOADS, Visit
from tests.conformance.node import Node
from tests.conftest import Running, run_application
from tests.console.conftest import Counting, accounts, passwords  # noqa: F401 # fixtures
from tests.support.accounts import Accounts
from tests.support.factories import NOON, Stage
from tests.support.meta_account import CODE, PIXEL, TOKEN, meta_account

BROWSERS_OWN = ("Failed to load resource: the server responded with a status of 422", "Autofocus")
"""Messages from the browser itself about a refused form."""


@pytest.fixture(scope="module")
def service(
    database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    passwords: Counting,  # noqa: F811
) -> Iterator[Running]:
    """The application with a fake Meta."""
    with meta_account() as meta:
        nowhere = dict.fromkeys(PLATFORMS, "http://127.0.0.1:9")
        settings = Settings(
            rate_limit_factor=1000, data_dir=Path(tmp_path_factory.mktemp("connecting")),
            platform_urls={**nowhere, "meta": meta.url},
        )  # fmt: skip
        application = run_application(settings, database_url, passwords)
        yield application
        application.stop()


@pytest.fixture
def visit(
    make_page: Callable[..., Page],
    service: Running,
    accounts: Accounts,  # noqa: F811
    space_id: int,
) -> Iterator[Callable[..., Visit]]:
    """A function that opens the console for a logged-in owner of the Space. At the end it checks that the
    browser reported no problem.
    """
    user: User = accounts.member(space_id, Role.OWNER, "Ann")
    visitors: list[Visit] = []

    def open_one(**options: Any) -> Visit:
        visitors.append(Visit(make_page(**options), service.base_url))
        visitors[-1].log_in(user)
        return visitors[-1]

    yield open_one
    reports = [report for visitor in visitors for report in visitor.reports]
    assert [report for report in reports if not report.startswith(BROWSERS_OWN)] == []


@pytest.fixture
def base(space_id: int) -> str:
    return f"/console/spaces/{space_id}/platforms"


def test_by_mouse_with_a_wrong_token_and_a_wrong_pixel(
    visit: Callable[..., Visit], base: str, node: Node
) -> None:
    visitor = visit(bypass_csp=True)
    visitor.page.add_init_script(path=str(node.package("axe-core/axe.min.js")))
    visitor.goto(base)
    page = visitor.page
    check(page, "nothing is connected")
    page.get_by_role("link", name="Connect Meta Ads").click()
    check(page, "the account")
    page.get_by_label("Pixel ID").fill("999")
    page.get_by_label("Test event code").fill(CODE)
    page.get_by_label("Access token").fill("EAABwrong")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Pixel ID")).to_be_focused()
    expect(page.get_by_text("The pixel ID must be 5 to 20 digits")).to_be_visible()
    check(page, "a refused pixel")
    page.get_by_label("Pixel ID").fill("99999")
    page.get_by_label("Access token").fill("EAABwrong")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Events for Meta Ads")
    check(page, "the events")
    page.get_by_label("view content").fill("")
    page.get_by_role("button", name="Continue").click()
    check(page, "before the test")
    page.get_by_role("button", name="Send the test event").click()
    expect(page.get_by_text("Meta Ads rejected the token")).to_be_visible()
    check(page, "a wrong token")
    page.get_by_role("link", name="Change the account").click()
    page.get_by_label("Access token").fill(TOKEN)
    for _ in range(2):
        page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Send the test event").click()
    expect(page.get_by_text("Meta Ads does not know this pixel id")).to_be_visible()
    page.get_by_role("link", name="Change the account").click()
    page.get_by_label("Pixel ID").fill(PIXEL)
    for _ in range(2):
        page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Send the test event").click()
    expect(page.get_by_role("heading", name="It works")).to_be_visible()
    check(page, "it works")
    page.get_by_role("button", name="Start sending").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Meta Ads Active")
    check(page, "the destination")
    assert TOKEN not in page.content()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with this name has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        element_name = page.evaluate(
            "() => { const it = document.activeElement;"
            " return (it.labels?.[0] ?? it).textContent.trim().replace(/\\s+/g, ' '); }"
        )
        if element_name.startswith(name):
            return
    pytest.fail(f"{name} is not reached by Tab")


def test_by_keyboard_alone(visit: Callable[..., Visit], base: str) -> None:
    visitor = visit()
    visitor.goto(base)
    page = visitor.page
    tab_to(page, "Connect Meta Ads")
    page.keyboard.press("Enter")
    page.wait_for_url("**/connect/meta")
    for label, text in (("Pixel ID", PIXEL), ("Test event code", CODE), ("Access token", TOKEN)):
        tab_to(page, label)
        page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.wait_for_url("**/events?connecting")
    tab_to(page, "view content")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    page.wait_for_url("**/test?connecting")
    tab_to(page, "Send the test event")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="It works")).to_be_visible()
    tab_to(page, "Start sending")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Meta Ads Active")


def test_without_scripts(visit: Callable[..., Visit], base: str) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.goto(f"{base}/connect/meta")
    page = visitor.page
    page.get_by_label("Pixel ID").fill(PIXEL)
    page.get_by_label("Test event code").fill(CODE)
    page.get_by_label("Access token").fill(TOKEN)
    for _ in range(2):
        page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Send the test event").click()
    expect(page.get_by_role("heading", name="It works")).to_be_visible()
    page.get_by_role("button", name="Start sending").click()
    page.locator("summary", has_text="Remove this connection").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("Nothing is connected yet")).to_be_visible()


def test_long_and_hostile_names_are_text(
    visit: Callable[..., Visit], base: str, node: Node, connection: psycopg.Connection,
    space_id: int,
) -> None:  # fmt: skip
    """Names with markup or of maximum length are shown as text, and break no page."""
    stage = Stage(connection, space_id, "")
    for payload in PAYLOADS[:3]:
        stage.destination(name=payload)
    destination_id = stage.destination(name=LONG[:200], status="held", status_reason=LONG, held_since=NOON)
    deliveries = [
        stage.add_delivery(destination_id, stage.event(stage.contact(), event_time="now"), status=status,
                           reason=reason, error=LONG, request=f'{{"event": "{LONG}"}}', answer=LONG)
        for status, reason in (("delivered", None), ("failed", None), ("skipped", "no_mapping"))
    ]  # fmt: skip
    stage.attempt(deliveries[1], error=LONG)
    visitor = visit(bypass_csp=True, viewport={"width": WIDTHS[0], "height": 800})
    visitor.page.add_init_script(path=str(node.package("axe-core/axe.min.js")))
    for end in (
        "",
        f"/{destination_id}",
        f"/{destination_id}/events",
        f"/{destination_id}/deliveries/{deliveries[1]}",
    ):
        visitor.goto(base + end)
        check_widths(visitor.page, end)
    visitor.goto(f"{base}/{destination_id}")
    check_unfolded(visitor.page, "the destination")
    resize(visitor.page, WIDTHS[0])
    check_unfolded(visitor.page, "the destination")


def test_nothing_is_sent_before_it_is_started(
    visit: Callable[..., Visit], base: str, connection: psycopg.Connection, space_id: int
) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.goto(f"{base}/connect/tiktok")
    visitor.page.get_by_label("Pixel code").fill("C4A1B2C3D4E5F6G7H8I9")
    visitor.page.get_by_label("Access token").fill("tiktok-token")
    visitor.page.get_by_role("button", name="Continue").click()
    (status,) = connection.execute(
        "SELECT status FROM destinations WHERE space_id = %s", (space_id,)
    ).fetchone() or ("",)
    assert status == "paused"
