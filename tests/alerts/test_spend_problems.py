"""Ad account connections that are held, have no recent pull, or use an API version that ends soon."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest

from headwater.alerts.problems import Alert, list_alerts
from headwater.alerts.rules import Rule
from headwater.spend.platforms.registry import PLATFORMS
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


def put(stage: Stage, **columns: object) -> int:
    values = {"settings": '{"ad_account_id": "1"}', "created_at": NOW - 9 * DAYS, **columns}
    return stage.spend_connection(**values)


def test_it_works(list_problems: Callable[[], list[Alert]], stage: Stage) -> None:
    connection_id = put(
        stage, name="Shop", status="held", fault="token", fault_message="Session has expired: code 190",
        failing_since=NOW - DAYS, failures=1,
    )  # fmt: skip
    (alert,) = list_problems()
    assert (alert.kind, alert.connection_id) == (Rule.SPEND_CONNECTION_HELD, connection_id)
    assert alert.title == "Meta “Shop” connection stopped: spend is not pulled"
    assert alert.detail is not None
    assert alert.detail.startswith("Session has expired: code 190 ")
    assert "token" in alert.detail
    assert alert.page == f"/spend/connections/{connection_id}"
    assert alert.command(stage.space_id) == (
        f"headwater spend resume --space {stage.space_id} --connection {connection_id}"
    )


@pytest.mark.parametrize(
    ("columns", "is_missing"),
    [
        ({"pulled_at": NOW - 2 * DAYS, "failures": 3}, True),
        ({"failures": 3}, True),
        ({"next_pull_at": NOW - timedelta(hours=1)}, True),
        ({"pulled_at": NOW - timedelta(hours=20), "failures": 3}, False),
        ({"created_at": NOW, "failures": 1}, False),
        ({"pulled_at": NOW - 9 * DAYS}, False),  # resumed just now
        ({"status": "paused", "pulled_at": NOW - 9 * DAYS, "failures": 3}, False),
    ],
)
def test_a_day_without_a_complete_pull(
    list_problems: Callable[[], list[Alert]], stage: Stage, columns: dict[str, object], is_missing: bool
) -> None:
    put(stage, **columns)
    assert [alert.kind for alert in list_problems()] == [Rule.SPEND_MISSING] * is_missing


@pytest.mark.parametrize(("days", "is_near"), [(-3, True), (59, True), (62, False)])
def test_a_version_that_ends(
    list_problems: Callable[[], list[Alert]],
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    is_near: bool,
) -> None:
    last_day = (NOW + days * DAYS).date()
    monkeypatch.setattr(type(PLATFORMS["meta"]), "versions", {"v25.0": last_day})
    put(stage, pulled_at=NOW)
    put(stage, pulled_at=NOW, settings='{"ad_account_id": "1", "api_version": "v25.0"}')
    assert [alert.kind for alert in list_problems()] == [Rule.SPEND_API_VERSION] * is_near


def test_versions_that_the_rules_of_a_platform_end() -> None:
    """Every LinkedIn version is available for a year."""
    assert PLATFORMS["linkedin"].find_version_end("202606") == date(2027, 6, 1)
    assert PLATFORMS["linkedin"].find_version_end("202512") == date(2026, 12, 1)
    assert PLATFORMS["google"].find_version_end("v22") == date(2026, 10, 7)
    assert PLATFORMS["meta"].find_version_end("v25.0") is None  # no date is published


def test_other_spaces_stay_out(
    list_problems: Callable[[], list[Alert]], connection: psycopg.Connection, make_space: Callable[..., int]
) -> None:
    put(Stage(connection, make_space(), ""), status="held", fault="token")
    assert list_problems() == []
