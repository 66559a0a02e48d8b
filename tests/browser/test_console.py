"""The console in a real browser: by keyboard alone, light and dark, and with names that contain markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect
from psycopg import Connection

from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import User, fetch_user
from tests.conftest import Running
from tests.console.browsing import SESSION, Browser
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.accounts import PASSWORD, Accounts
from tests.support.factories import Stage
from tests.support.waiting import PATIENCE_SECONDS

PAYLOADS = [
    line
    for line in (Path(__file__).parent.parent / "data" / "payloads.txt").read_text().splitlines()
    if not line.startswith("#")
]
PAGES = (
    "?period=today",
    "/events",
    "/setup",
    "/sites",
    "/data-quality",
    "/members",
    "/keys",
    "/mcp",
    "/settings",
)


def squeeze(text: str) -> str:
    """Return the text with single spaces, as a browser shows it."""
    return " ".join(text.split())


ABANDONED_TRANSITION = "Transition was "
"""The beginning of the browser's message about a skipped fade between two pages, for instance when keys are
pressed quickly: "skipped", "aborted because of invalid state".
"""
QUICKER_THAN_AUTOFOCUS = "Autofocus processing was blocked"
"""The message when a test fills a field before the browser has put the cursor into the first one."""


class Visit:
    """A page of the console. Any browser message or dialog on it fails the test."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page, self.base_url = page, base_url
        self.reports: list[str] = []
        page.set_default_timeout(1000 * PATIENCE_SECONDS)
        page.on("console", lambda message: self._report(message.text))
        page.on("pageerror", lambda error: self._report(str(error)))
        page.on("dialog", self._dialog)

    def _report(self, text: str) -> None:
        if not text.startswith((ABANDONED_TRANSITION, QUICKER_THAN_AUTOFOCUS)):
            self.reports.append(text)

    def _dialog(self, dialog: Any) -> None:
        self.reports.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def goto(self, path: str) -> None:
        self.page.goto(self.base_url + path)

    def text(self, path: str) -> str:
        """Return the text of a page and the values of its fields, and check that no payload has run on it."""
        self.goto(path)
        assert self.page.evaluate("window.__x") is None, path
        fields = self.page.evaluate("[...document.querySelectorAll('input')].map((one) => one.value)")
        return squeeze(" ".join([self.page.locator("body").text_content() or "", *fields]))

    def log_in(self, user: User) -> None:
        """Give the page the session of another browser, which has logged in."""
        other_browser = Browser(self.base_url)
        assert other_browser.log_in(user).status_code == 200
        session = other_browser.session()
        assert session is not None
        self.page.context.add_cookies([{"name": SESSION, "value": session, "url": self.base_url}])
        other_browser.client.close()

    def log_in_by_page(self, user: User) -> None:
        self.goto("/login")
        self.page.get_by_label("E-mail address").fill(user.email)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(re.compile("/console"))


@pytest.fixture
def visit(make_page: Callable[..., Page], console: Running) -> Callable[..., Visit]:  # noqa: F811
    """A function that opens the console, with options for the browser's context."""
    return lambda **options: Visit(make_page(**options), console.base_url)


@pytest.fixture
def user(accounts: Accounts, space_id: int) -> User:  # noqa: F811
    return accounts.member(space_id, Role.OWNER, "Ada")


def test_it_works(visit: Callable[..., Visit], user: User, space_id: int) -> None:
    """Log in, make a token and a key, copy, revoke, log out."""
    visitor = visit(permissions=["clipboard-read", "clipboard-write"], reduced_motion="no-preference")
    page = visitor.page
    visitor.log_in_by_page(user)
    page.get_by_role("link", name="Assistants").first.click()
    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Create token").click()
    token = page.get_by_label("the token").inner_text()
    assert token.startswith("trk_mcp_")
    page.get_by_role("button", name="Copy the token").click()
    expect(page.get_by_role("status")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == token
    page.get_by_text("Revoke Laptop").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_contain_text("The token is revoked")
    page.get_by_role("link", name="API keys").click()
    page.get_by_label("Name").fill("Shop")
    page.get_by_role("button", name="Create key").click()
    assert page.get_by_label("the key", exact=True).inner_text().startswith("trk_sk_")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    visitor.goto(f"/console/spaces/{space_id}")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert visitor.reports == []


def test_setup_ticks_itself(
    visit: Callable[..., Visit], user: User, space_id: int, connection: Connection
) -> None:
    visitor = visit()
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}/setup")
    order = visitor.page.locator(".checklist > li", has_text="First order")
    expect(order).to_have_class("open")
    stage = Stage(connection, space_id, "")
    stage.event(stage.contact(), event_time=datetime.now(UTC), amount="5")
    expect(order).to_have_class("done", timeout=1000 * PATIENCE_SECONDS)
    expect(visitor.page.get_by_role("status")).to_contain_text("of 8 are done.")
    assert visitor.reports == []


def test_by_keyboard_alone(visit: Callable[..., Visit], user: User) -> None:
    visitor = visit()
    page = visitor.page
    visitor.goto("/login")
    expect(page.get_by_label("E-mail address")).to_be_focused()
    page.keyboard.type(user.email)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/spaces/*/setup")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    visitor.goto("/console/account")
    focus_script = "document.activeElement.outerHTML.slice(0, 120)"
    outlined = "getComputedStyle(document.activeElement).outlineStyle"
    focused_elements: list[str] = []
    for _ in range(10):
        page.keyboard.press("Tab")
        focused_elements.append(page.evaluate(focus_script))
        assert page.evaluate(outlined) != "none", focused_elements[-1]
    assert len(set(focused_elements)) == 10, "every step goes on"


def test_every_screen(visit: Callable[..., Visit], user: User, space_id: int) -> None:
    """No element is wider than the screen, and text contrasts with its background."""
    visitor = visit()
    visitor.log_in(user)
    for path in (*(f"/console/spaces/{space_id}{end}" for end in PAGES), "/console/account"):
        visitor.goto(path)
        visitor.page.locator("main").focus()  # keeps the page from reloading itself
        for width in (375, 1280):
            visitor.page.set_viewport_size({"width": width, "height": 800})
            assert visitor.page.evaluate("document.documentElement.scrollWidth") == width, path
            for scheme in SCHEMES:
                visitor.page.emulate_media(color_scheme=scheme)
                assert min(visitor.page.evaluate(CONTRASTS)) >= 4.5, path
                background = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (max(map(int, background[4:-1].split(","))) < 64) == (scheme == "dark")
    assert visitor.reports == []


SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# The contrast of every text with the nearest background behind it, by WCAG's formula.
CONTRASTS = """() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[0-9.]+/g).slice(0, 3).map((part) => {
      const value = part / 255;
      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (!color.startsWith("rgba(0, 0, 0, 0")) return color;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("body *")]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((one) => one.checkVisibility() && !one.closest("option, :disabled"))
    .map((one) => {
      const pair = [light(getComputedStyle(one).color), light(behind(one))].sort((a, b) => b - a);
      return (pair[0] + 0.05) / (pair[1] + 0.05);
    });
}"""


def test_a_form_on_another_site(
    visit: Callable[..., Visit],
    user: User,
    accounts: Accounts,  # noqa: F811
) -> None:
    """Another port is the same site for cookies, but another origin for our check."""
    visitor = visit()
    visitor.log_in(user)
    form = f'<form method=post action="{visitor.base_url}/console/account/name"><input name=name value=x>'
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _make_page(f"{form}<button>Win</button></form>"))
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        visitor.page.goto(f"http://127.0.0.1:{listener.server_port}/")
        visitor.page.get_by_role("button").click()
        expect(visitor.page.get_by_text("The form was sent from another site.")).to_be_visible()
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
    assert accounts.run(lambda c: fetch_user(c, user.id)).name == "Ada"


def _make_page(html: str) -> type[BaseHTTPRequestHandler]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: Any) -> None:
            pass

    return Page


def submit_without_session(page: Page, button: str, user: User) -> None:
    """Submit a form after the session has ended, and log in."""
    page.context.clear_cookies()
    page.get_by_role("button", name=button).click()
    page.wait_for_url(re.compile("/login"))
    page.get_by_label("E-mail address").fill(user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_what_was_typed_outlives_the_session(visit: Callable[..., Visit], user: User, space_id: int) -> None:
    visitor = visit()
    page = visitor.page
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}/keys")
    page.get_by_label("Name").fill("shop server")
    page.get_by_label("events:read").uncheck()
    submit_without_session(page, "Create key", user)
    page.wait_for_url(re.compile("/keys"))
    expect(page.get_by_text("nothing was saved")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("shop server")
    expect(page.get_by_label("events:read")).not_to_be_checked()
    expect(page.get_by_label("events:write")).to_be_checked()
    page.reload()
    expect(page.get_by_label("Name")).to_have_value("")


def test_what_was_typed_returns_to_its_own_form(
    visit: Callable[..., Visit],
    accounts: Accounts,  # noqa: F811
    stage: Stage,
) -> None:
    """Not to another form with the same action; also to a page that the action does not name."""
    stage.event(stage.contact(), event_time="now")
    user = accounts.member(stage.space_id, Role.OWNER, "Ada")
    accounts.member(stage.space_id, Role.VIEWER, "Bob")
    visitor = visit()
    page = visitor.page
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{stage.space_id}/members")
    page.get_by_label("Role of Bob").select_option("admin")
    submit_without_session(page, "Change the role of Bob", user)
    expect(page.get_by_label("Role of Bob")).to_have_value("admin")
    expect(page.get_by_label("Role of Ada")).to_have_value("owner")
    report = f"/console/spaces/{stage.space_id}/models?period=last_7_days"
    visitor.goto(report)
    page.get_by_text("Share", exact=True).click()
    name = page.get_by_label("Save this view as")
    name.fill("a week")
    submit_without_session(page, "Save view", user)
    page.wait_for_url(visitor.base_url + report)
    expect(name).to_have_value("a week")
    expect(name).to_be_visible()
    visitor.goto(f"/console/spaces/{stage.space_id}/orders/imports/new")
    page.get_by_label("Contacts").check()
    csv = {"name": "people.csv", "mimeType": "text/csv", "buffer": b"email,name\na@example.com,Ann\n"}
    page.locator("[type=file]").set_input_files([csv])
    submit_without_session(page, "Upload", user)
    expect(page.get_by_label("Contacts")).to_be_checked()
    expect(page.get_by_text("Choose the file again")).to_be_visible()
    page.locator("[type=file]").set_input_files([csv])
    page.get_by_role("button", name="Upload").click()
    page.get_by_label("Field of name").select_option("ignored")
    submit_without_session(page, "Check the file", user)
    expect(page.get_by_label("Field of name")).to_have_value("")
    expect(page.get_by_label("Field of email")).to_have_value("email")


def test_what_was_typed_returns_to_settings_that_another_has_changed(
    visit: Callable[..., Visit], user: User, space_id: int, connection: Connection[Any]
) -> None:
    visitor = visit()
    page = visitor.page
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}/settings")
    page.get_by_label("Currency").fill("JPY")
    connection.execute("UPDATE spaces SET name = 'New name' WHERE id = %s", (space_id,))
    submit_without_session(page, "Save settings", user)
    expect(page.get_by_label("Currency")).to_have_value("JPY")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("The settings are saved.")).to_be_visible()
    expect(page.get_by_label("Currency")).to_have_value("JPY")
    expect(page.get_by_label("Name", exact=True)).to_have_value("New name")


def test_the_first_wrong_field_has_the_focus(visit: Callable[..., Visit], user: User, space_id: int) -> None:
    visitor = visit()
    page = visitor.page
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}/settings")
    page.get_by_label("Currency").fill("?")
    page.get_by_label("Default country of phone numbers").fill("D")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_label("Currency")).to_be_focused()
    expect(page.get_by_label("Default country of phone numbers")).to_have_value("D")
