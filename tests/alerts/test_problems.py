"""A Space's problems: in one list, and in the operator's log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from structlog.testing import capture_logs

from headwater.alerts import problems as alerts
from headwater.alerts.backlog_watch import BacklogWatch
from headwater.alerts.problems import Alert, list_alerts
from headwater.alerts.rules import OF_FIGURES, Rule
from headwater.database.jobs.failed_jobs import NOTE, failure
from tests.support.accounts import Accounts
from tests.support.factories import Stage


@pytest.fixture
def list_problems(database_url: str, space_id: int) -> Callable[[], list[Alert]]:
    accounts = Accounts(database_url)
    return lambda: accounts.run(lambda c: list_alerts(c, space_id))


def put_destination(connection: psycopg.Connection, space_id: int, status: str) -> int:
    row = connection.execute(
        "INSERT INTO destinations (space_id, platform, name, status)"
        " VALUES (%s, 'meta', 'Shop', %s) RETURNING id",
        (space_id, status),
    ).fetchone()
    assert row is not None
    return row[0]


def put_delivery(connection: psycopg.Connection, space_id: int, destination: int, age: timedelta) -> None:
    connection.execute(
        "INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id, due_at)"
        " VALUES (%s, %s, nextval('receipt_ids'), 'x', now() - %s)",
        (space_id, destination, age),
    )


def put_request(connection: psycopg.Connection, space_id: int, age: timedelta) -> None:
    connection.execute(
        "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
        " VALUES (%s, 'none', 'api_key', now() - %s, '{}')",
        (space_id, age),
    )


def test_it_works(
    list_problems: Callable[[], list[Alert]], connection: psycopg.Connection, space_id: int,
    make_key: Callable[..., str],
) -> None:  # fmt: skip
    assert list_problems() == []
    held_id = put_destination(connection, space_id, "held")
    late = put_destination(connection, space_id, "active")
    for destination in (held_id, held_id, late):
        put_delivery(connection, space_id, destination, alerts.LATE_AFTER * 2)
    put_request(connection, space_id, alerts.LATE_AFTER * 2)
    connection.execute(
        "INSERT INTO rejected (space_id, id, kind, sender, received_at, payload, reason, detail)"
        " VALUES (%s, nextval('receipt_ids'), 'none', 'api_key', now(), '{}', 'invalid', 'x')",
        (space_id,),
    )
    connection.execute("INSERT INTO refused_joins VALUES (%s, now(), 2)", (space_id,))
    stage = Stage(connection, space_id, "")
    schedule_id = stage.export_schedule("orders")
    stage.export("events", "No space left.", schedule_id=schedule_id, folder="orders")
    connection.execute("UPDATE spaces SET subscription = 'inactive' WHERE id = %s", (space_id,))
    make_key(space_id)
    connection.execute(
        "UPDATE api_keys SET last_used_at = now(), expires_at = now() + interval '1 day' WHERE space_id = %s",
        (space_id,),
    )
    connection.execute(NOTE, failure(space_id, "alerts", ValueError()))
    problems = list_problems()
    connection.execute("DELETE FROM inbox WHERE space_id = %s", (space_id,))
    rules = [rule for rule in Rule if rule not in OF_FIGURES and not rule.startswith(("spend_", "watched_"))]
    assert [alert.kind for alert in problems] == rules
    assert [alert.title for alert in problems] == [
        "Meta Ads “Shop” connection expired: 2 conversions not sent",
        "1 event is waiting to be processed",
        "The subscription is inactive: API keys and tokens are refused",
        "1 event could not be processed",
        "2 unsigned contacts refused in a day: too many for one browser",
        "Meta Ads “Shop” is behind: 1 conversion not sent yet",
        "1 folder of scheduled exports could not be written",
        "1 background job failed",
        "1 API key will expire within a week",
    ]
    assert problems[0].command(space_id) == (
        f"headwater destination resume --space {space_id} --destination {held_id}"
    )
    assert all(alert.remedy for alert in problems)


def test_a_used_key_without_a_successor_that_ends_soon(
    list_problems: Callable[[], list[Alert]], connection: psycopg.Connection, space_id: int,
    make_key: Callable[..., str],
) -> None:  # fmt: skip
    make_key(space_id)

    def change(assignment: str) -> list[Alert]:
        connection.execute(f"UPDATE api_keys SET {assignment} WHERE space_id = %s", (space_id,))
        return list_problems()

    assert change("expires_at = now() + interval '6 days'") == [], "it was never used"
    (alert,) = change("last_used_at = now() - interval '6 days'")
    assert (alert.kind, alert.page) == (Rule.KEY_EXPIRING, "/keys")
    assert alert.title == "1 API key will expire within a week"
    assert (alert.detail or "").startswith("test (…")
    assert change("replaced_by = id") == []
    assert len(change("replaced_by = NULL")) == 1
    for assignment in ("expires_at = now()", "expires_at = now() + interval '8 days'", "revoked_at = now()"):
        assert change(assignment) == []


def test_a_few_of_many_ending_keys_are_named(
    list_problems: Callable[[], list[Alert]], connection: psycopg.Connection, space_id: int
) -> None:
    connection.execute(
        "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes, last_used_at, expires_at)"
        " SELECT %(space)s, repeat('k', 250) || i, sha256((%(space)s || ' ' || i)::bytea), 'hint', '{}',"
        " now(), now() + i * interval '1 minute' FROM generate_series(1, 2000) i",
        {"space": space_id},
    )
    (alert,) = list_problems()
    assert alert.title == "2,000 API keys will expire within a week"
    names = [f"{'k' * 250}{number} (…hint)" for number in range(1, 6)]
    assert alert.detail == f"{', '.join(names)} and 1,995 more"


def test_what_is_on_time_or_stopped_on_purpose_is_no_alert(
    list_problems: Callable[[], list[Alert]], connection: psycopg.Connection, space_id: int
) -> None:
    put_delivery(connection, space_id, put_destination(connection, space_id, "active"), timedelta(0))
    paused_id = put_destination(connection, space_id, "paused")
    put_delivery(connection, space_id, paused_id, alerts.LATE_AFTER * 2)
    put_request(connection, space_id, timedelta(seconds=1))
    problems = list_problems()
    connection.execute("DELETE FROM inbox WHERE space_id = %s", (space_id,))
    assert problems == []


def test_other_spaces_stay_out(
    list_problems: Callable[[], list[Alert]], connection: psycopg.Connection, make_space: Callable[..., int]
) -> None:
    put_destination(connection, make_space(), "held")
    assert list_problems() == []


def test_the_log_tells_of_a_backlog_and_of_its_end(connection: psycopg.Connection, space_id: int) -> None:
    watch = BacklogWatch()
    late = put_destination(connection, space_id, "active")
    put_delivery(connection, space_id, late, alerts.LATE_AFTER * 2)
    put_request(connection, space_id, alerts.LATE_AFTER * 2)
    with capture_logs() as lines:
        watch.look(connection)
        watch.look(connection)
        for table in ("inbox", "deliveries"):
            connection.execute(f"DELETE FROM {table} WHERE space_id = %s", (space_id,))
        watch.look(connection)
    own_lines = [line for line in lines if line["space_id"] == space_id]
    assert {line["log_level"] for line in own_lines} == {"warning"}
    entries = sorted((line["event"], line.get("destination_id", 0)) for line in own_lines)
    assert entries == [
        ("queue behind", 0), ("queue behind", late),
        ("queue caught up", 0), ("queue caught up", late),
    ]  # fmt: skip
