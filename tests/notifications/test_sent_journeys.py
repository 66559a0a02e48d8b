"""Scheduled reports of journeys."""

from __future__ import annotations

from datetime import timedelta

import psycopg

from headwater.console.scheduled_reports.runner import ReportRunner
from headwater.console.scheduled_reports.scheduled_reports import NewReport, schedule_report
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.console.test_channels import days_ago, order
from tests.notifications.test_sending import Post
from tests.notifications.test_sending import mailbox as mailbox  # noqa: PLC0414 # a fixture
from tests.notifications.test_sending import post as post  # noqa: PLC0414 # a fixture
from tests.notifications.test_sending import slack as slack  # noqa: PLC0414 # a fixture
from tests.support.factories import Stage
from tests.support.pretend_slack import PretendSlack


def test_journeys_name_no_model_and_no_unattributed_orders(
    post: Post, slack: PretendSlack, connection: psycopg.Connection
) -> None:
    """Like the page, they have all orders with a touchpoint, whatever a model credits."""
    stage = Stage(connection, post.space_id, "")
    order(stage, "email", "30", days=1)
    order(stage, None, "150", days=1)
    new = NewReport(
        "Daily", "/paths", "attribution_model=linear_paid", "daily", [], "07:00", with_csv=False,
        channel_ids=[post.add("webhook", slack.url)], user_id=post.user,
    )  # fmt: skip
    now = days_ago(0)
    space: Space = post.accounts.run(lambda c: fetch_space(c, post.space_id))
    post.accounts.run(lambda c: schedule_report(c, space, new, now - timedelta(days=1)))
    post.work(lambda database, _: ReportRunner(database).run(post.space_id, now))
    post.send()
    (text,) = [message["text"] for message in slack.messages]
    assert "revenue 30.00" in text
    assert [word in text for word in ("Unattributed", "linear paid", "30-day window")] == [False, False, True]
