"""Notes in a real browser: by keyboard alone, without scripts, and with hostile texts in a chart under axe,
wide and narrow.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect
from psycopg import Connection

from headwater.spaces.accounts.users import User
from tests.browser.test_accessibility import LONG, WIDTHS, check_widths
from tests.browser.test_accessibility import open_console as open_console  # noqa: PLC0414 # a fixture
from tests.browser.test_console import PAYLOADS, Visit
from tests.browser.test_console import user as user  # noqa: PLC0414 # a fixture
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.browser.test_reports import sell
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.factories import Stage


@pytest.fixture
def stage(connection: Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.mark.parametrize("scripts", [True, False])
def test_it_works(
    visit: Callable[..., Visit], user: User, stage: Stage, space_id: int, *, scripts: bool
) -> None:
    sell(stage)
    visitor = visit(java_script_enabled=scripts)
    page = visitor.page
    visitor.log_in(user)
    visitor.goto(f"/console/spaces/{space_id}/channels?attribution_model=linear")
    page.locator("summary", has_text="Add a note").focus()
    page.keyboard.press("Enter")
    yesterday = datetime.now(UTC) - timedelta(days=1)
    page.get_by_label("Day", exact=True).fill(f"{yesterday:%Y-%m-%d}")
    page.get_by_label("Note").focus()
    page.keyboard.type("Site relaunch")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Note added")).to_be_visible()
    expect(page.locator("#notes li")).to_contain_text("Site relaunch")
    expect(page.locator(".note-marks text")).to_have_count(1)
    assert "attribution_model=linear" in page.url, "back on the chart that it was added to"
    page.get_by_role("link", name="Change the note Site relaunch").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Delete Site relaunch").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Delete note").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The note is deleted.")).to_be_visible()
    assert visitor.reports == []


def test_many_hostile_notes_are_shown(
    open_console: Callable[..., Visit], user: User, stage: Stage, space_id: int
) -> None:
    sell(stage)
    for number, text in enumerate([*(payload[:200] for payload in PAYLOADS[:20]), LONG[:200]]):
        stage.connection.execute(
            "INSERT INTO chart_notes (space_id, day, text) VALUES (%s, current_date - %s, %s)",
            (space_id, 1 + number % 9, text),
        )
    visitor = open_console(WIDTHS[0])
    visitor.log_in(user)
    for end in ("", "/notes"):
        visitor.goto(f"/console/spaces/{space_id}{end}")
        check_widths(visitor.page, end)
    visitor.page.get_by_role("link", name="Change the note").first.click()
    check_widths(visitor.page, "one note")
    assert visitor.reports == []
