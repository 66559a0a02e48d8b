"""Scheduled reports that are built late have the period of the last time they were due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import AsyncMock

import psycopg
import pytest

from headwater.console.scheduled_reports import runner
from headwater.console.scheduled_reports.runner import ReportRunner
from headwater.console.scheduled_reports.scheduled_reports import (
    NewReport,
    list_reports,
    schedule_report,
    set_next_time,
)
from headwater.reports.query import ReportTooLarge
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.notifications.test_sending import Post
from tests.notifications.test_sending import mailbox as mailbox  # noqa: PLC0414 # a fixture
from tests.notifications.test_sending import post as post  # noqa: PLC0414 # a fixture
from tests.notifications.test_sending import slack as slack  # noqa: PLC0414 # a fixture
from tests.support.pretend_slack import PretendSlack


@pytest.mark.parametrize(
    ("cadence", "late_days", "period"),
    [("daily", 0, "2026-05-10"), ("daily", 1, "2026-05-11"), ("weekly", 2, "2026-05-04+to+2026-05-10"),
     ("weekly", 15, "2026-05-18+to+2026-05-24")],
)  # fmt: skip
def test_a_late_report_has_the_period_of_its_latest_time(
    post: Post,
    slack: PretendSlack,
    monkeypatch: pytest.MonkeyPatch,
    cadence: str,
    late_days: int,
    period: str,
) -> None:
    """A report due on Monday has the week before even if it is built on Wednesday, after a failed attempt."""
    new = NewReport(
        "Late", "/channels", "", cadence, ["0"], "23:59", with_csv=False,
        channel_ids=[post.add("webhook", slack.url)], user_id=post.user,
    )  # fmt: skip
    monday = datetime(2026, 5, 11, 23, 59, tzinfo=UTC)
    space: Space = post.accounts.run(lambda c: fetch_space(c, post.space_id))
    post.accounts.run(lambda c: schedule_report(c, space, new, monday - timedelta(minutes=1)))
    with monkeypatch.context() as patch:
        patch.setattr(runner, "make_notice", AsyncMock(side_effect=ReportTooLarge))
        assert post.work(lambda database, _: ReportRunner(database).run(post.space_id, monday)) == 1
    now = monday + timedelta(days=late_days, hours=23, minutes=59)
    post.work(lambda database, _: ReportRunner(database).run(post.space_id, now))
    post.send()
    (message,) = slack.messages
    assert f"/channels?period={period}|" in message["text"]


def test_a_report_sent_between_its_times_has_the_latest_period(post: Post, slack: PretendSlack) -> None:
    """Sent by hand on Monday morning, a report of 23:59 has Sunday, not Saturday again."""
    new = NewReport(
        "By hand", "/channels", "", "daily", [], "23:59", with_csv=False,
        channel_ids=[post.add("webhook", slack.url)], user_id=post.user,
    )  # fmt: skip
    now = datetime(2026, 5, 11, 9, tzinfo=UTC)
    space: Space = post.accounts.run(lambda c: fetch_space(c, post.space_id))
    post.accounts.run(lambda c: schedule_report(c, space, new, now))
    (report,) = post.accounts.run(lambda c: list_reports(c, post.space_id))
    post.accounts.run(lambda c: set_next_time(c, post.space_id, report.id, now))
    post.work(lambda database, _: ReportRunner(database).run(post.space_id, now))
    post.send()
    (message,) = slack.messages
    assert "/channels?period=2026-05-10|" in message["text"]


def test_the_next_report_is_sent_in_a_time_zone_that_changed_meanwhile(
    post: Post, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = NewReport(
        "Each day", "/channels", "", "daily", [], "08:00", with_csv=False,
        channel_ids=[post.add("webhook", "https://hooks.example/x")], user_id=post.user,
    )  # fmt: skip
    due_at = datetime(2026, 5, 11, 8, tzinfo=UTC)
    space: Space = post.accounts.run(lambda c: fetch_space(c, post.space_id))
    post.accounts.run(lambda c: schedule_report(c, space, new, due_at - timedelta(minutes=1)))

    async def change_zone(*_: object) -> None:
        connection.execute("UPDATE spaces SET timezone = 'America/New_York' WHERE id = %s", (post.space_id,))

    monkeypatch.setattr(runner, "make_notice", change_zone)
    post.work(lambda database, _: ReportRunner(database).run(post.space_id, due_at))
    (report,) = post.accounts.run(lambda c: list_reports(c, post.space_id))
    assert report.next_at == datetime(2026, 5, 11, 12, tzinfo=UTC)
