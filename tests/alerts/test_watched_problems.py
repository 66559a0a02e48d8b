"""Watched files that are held, or weren't fetched for a day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headwater.alerts.problems import Alert, list_alerts
from headwater.alerts.rules import Rule
from headwater.console.setup_pages.remedies import find_alert_page
from headwater.intake.watched.faults import REMEDIES
from tests.support.accounts import Accounts
from tests.support.factories import Stage

NOW = datetime.now(UTC)
DAYS = timedelta(days=1)


@pytest.fixture
def list_problems(database_url: str, space_id: int) -> Callable[[], list[Alert]]:
    accounts = Accounts(database_url)
    return lambda: accounts.run(lambda c: list_alerts(c, space_id))


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def test_it_works(list_problems: Callable[[], list[Alert]], stage: Stage) -> None:
    file_id = stage.watched_file(
        name="daily.csv", status="held", fault="credentials", fault_message="The server answered HTTP 401.",
        failing_since=NOW - DAYS, failures=1,
    )  # fmt: skip
    (alert,) = list_problems()
    assert (alert.kind, alert.subject, alert.since) == (Rule.WATCHED_FILE_FAILING, str(file_id), NOW - DAYS)
    assert "daily.csv" in alert.title
    assert alert.detail == f"The server answered HTTP 401. {REMEDIES['credentials']}"
    assert alert.page == f"/spend/watched/{file_id}"
    assert alert.command(stage.space_id) == f"headwater watch show --space {stage.space_id} --file {file_id}"
    page = find_alert_page(alert)
    assert page is not None
    assert page.end == alert.page


@pytest.mark.parametrize(
    ("columns", "is_failing"),
    [
        ({"fault": "missing", "fetched_at": NOW - 2 * DAYS, "failures": 3}, True),
        ({"fault": "unreachable", "failures": 3}, True),
        ({"next_fetch_at": NOW - timedelta(hours=1)}, True),
        ({"fault": "missing", "fetched_at": NOW - timedelta(hours=20), "failures": 3}, False),
        ({"created_at": NOW, "failures": 1}, False),
        ({"fetched_at": NOW - 9 * DAYS}, False),  # resumed just now
        ({"status": "paused", "fetched_at": NOW - 9 * DAYS, "failures": 3}, False),
    ],
)
def test_a_day_without_a_fetch(
    list_problems: Callable[[], list[Alert]], stage: Stage, columns: dict[str, object], is_failing: bool
) -> None:
    stage.watched_file(**{"created_at": NOW - 9 * DAYS, **columns})
    assert [alert.kind for alert in list_problems()] == [Rule.WATCHED_FILE_FAILING] * is_failing


def test_a_missing_file_has_words_of_its_own(list_problems: Callable[[], list[Alert]], stage: Stage) -> None:
    for fault in ("missing", "unreachable"):
        stage.watched_file(name="x", fault=fault, failures=3, created_at=NOW - 9 * DAYS)
    missing, unreachable = (alert.title for alert in list_problems())
    assert missing != unreachable


def test_other_spaces_stay_out(
    list_problems: Callable[[], list[Alert]], connection: psycopg.Connection, make_space: Callable[..., int]
) -> None:
    Stage(connection, make_space(), "").watched_file(status="held", fault="address")
    assert list_problems() == []
