"""Alerts in a real browser: from an empty page to a tested mail channel and a tested Slack channel, with
typical user mistakes on the way; by mouse, by keyboard alone and without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Locator, expect

from headwater.base.settings import Settings
from headwater.spaces.accounts.users import User
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.browser.test_orders_in import HOSTILE, Visitor, only_refusals
from tests.browser.test_orders_in import visitor as visitor  # noqa: PLC0414 # a fixture
from tests.conftest import Running, run_application
from tests.console.conftest import Counting, accounts, passwords  # noqa: F401 # fixtures
from tests.console.test_alerts import put_alert
from tests.support.factories import Stage
from tests.support.mail_server import Mailbox, serve_mail
from tests.support.pretend_slack import PretendSlack, serve_slack


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with serve_mail() as mailbox:
        yield mailbox


@pytest.fixture(scope="module")
def slack() -> Iterator[PretendSlack]:
    with serve_slack() as pretend:
        yield pretend


@pytest.fixture(scope="module")
def console(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Counting,  # noqa: F811
    mailbox: Mailbox,
) -> Iterator[Running]:  # fmt: skip
    """The application with a mail server, and with permission to call webhooks on this machine."""
    folder: Path = tmp_path_factory.mktemp("alerts")
    settings = Settings(
        rate_limit_factor=1000, data_dir=folder, smtp_url=mailbox.url(),
        mail_from="Headwater <alerts@example.com>", notify_hosts=("127.0.0.1",),
    )  # fmt: skip
    application = run_application(settings, database_url, passwords)
    yield application
    application.stop()


def channel(visitor: Visitor, name: str) -> Locator:
    """Return a channel on the page."""
    return visitor.page.get_by_role("article", name=name)


def add(visitor: Visitor, kind: str, name: str, address: str) -> None:
    """Fill in the form of a channel and send it."""
    page = visitor.page
    form = page.locator("form[action$='/channels/create']")
    if not form.is_visible():
        visitor.open(page.get_by_text("Add a channel", exact=True))
    page.get_by_label("Kind").select_option(kind)
    visitor.type(form.get_by_label("Name"), name)
    visitor.type(form.get_by_label("Address", exact=True), address)
    visitor.press(page.get_by_role("button", name="Add channel"))


def test_it_works(
    visitor: Visitor, user: User, space_id: int, mailbox: Mailbox, slack: PretendSlack,
    connection: psycopg.Connection,
) -> None:  # fmt: skip
    page, mail_count = visitor.page, len(mailbox.messages)
    put_alert(Stage(connection, space_id, ""), title=f"Visits stopped {HOSTILE}", cause=HOSTILE)
    visitor.visit.goto(f"/console/spaces/{space_id}/channels?period=today")
    if visitor.device == "keyboard":
        visitor.open(page.locator(".dock summary"))
    visitor.press(page.locator(".side, .dock").get_by_role("link", name=re.compile("^Alerts 1")))
    expect(page.get_by_role("heading", name="Visits stopped")).to_be_visible()
    visitor.check_screen(colours=True)
    visitor.press(page.get_by_role("link", name="Rules", exact=True))
    add(visitor, "email", f"Me {HOSTILE}", "nobody")
    expect(page.locator("form .refusal")).to_contain_text("must be a valid e-mail address.")
    visitor.check_screen()
    add(visitor, "email", f"Me {HOSTILE}", user.email)
    expect(page.get_by_role("status").first).to_contain_text("Test it now.")
    mailbox.refusal = "550 No such user here"
    visitor.press(channel(visitor, "Me").get_by_role("button", name="Test"))
    expect(channel(visitor, "Me").get_by_role("alert")).to_contain_text("Check its spelling.")
    visitor.check_screen()
    mailbox.refusal = ""
    visitor.press(channel(visitor, "Me").get_by_role("button", name="Test"))
    expect(channel(visitor, "Me").get_by_role("status")).to_contain_text("Test sent")
    assert mailbox.messages[mail_count]["To"] == user.email
    add(visitor, "webhook", "Team", slack.url)
    slack.status = 404
    visitor.press(channel(visitor, "Team").get_by_role("button", name="Test"))
    expect(channel(visitor, "Team").get_by_role("alert")).to_contain_text("Create a new webhook")
    slack.status = 200
    visitor.press(channel(visitor, "Team").get_by_role("button", name="Test"))
    expect(channel(visitor, "Team").get_by_role("status")).to_contain_text("Test sent")
    assert slack.messages[-1]["text"].startswith("*Test of the channel Team*")
    assert "secret" not in page.content()
    visitor.check_screen(colours=True)
    visitor.press(page.get_by_role("link", name="Open", exact=True))
    visitor.press(page.get_by_role("button", name=re.compile("^Mark as seen")))
    expect(page.get_by_text("Marked as seen", exact=False).first).to_be_visible()
    assert only_refusals(visitor.visit.reports), visitor.visit.reports


def test_a_report_every_monday_at_eight(visitor: Visitor, user: User, space_id: int) -> None:
    """A user gets from the report to the schedule without typing."""
    page = visitor.page
    visitor.visit.goto(f"/console/spaces/{space_id}/paths?period=yesterday")
    if visitor.device == "keyboard":
        visitor.open(page.locator(".show-filters"))
    visitor.open(page.locator(".choices-bar summary").get_by_text("Share", exact=True))
    visitor.press(page.get_by_role("link", name="Schedule by e-mail"))
    expect(page.get_by_label(f"Me ({user.email})")).to_be_checked()
    visitor.check_screen()
    visitor.press(page.get_by_role("button", name="Schedule", exact=True))
    expect(page.get_by_text("every Monday at 08:00")).to_be_visible()
    visitor.check_screen()
    assert only_refusals(visitor.visit.reports), visitor.visit.reports


def test_a_rule_about_the_roas_of_meta(visitor: Visitor, space_id: int) -> None:
    page = visitor.page
    visitor.visit.goto(f"/console/spaces/{space_id}/alerts/rules")
    form = page.locator("form:has(#measure-figure)")
    form.get_by_label("Of", exact=True).select_option(label="Meta ads")
    visitor.type(form.get_by_label("Threshold"), "2")
    visitor.check_screen()
    visitor.press(page.get_by_role("button", name="Add rule", exact=True))
    expect(page.get_by_role("rowheader", name="ROAS of Meta ads is below 2")).to_be_visible()
    visitor.check_screen()
    assert only_refusals(visitor.visit.reports), visitor.visit.reports
