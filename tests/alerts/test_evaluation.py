"""A Space is evaluated every hour: a count outside its usual range is notified once, with its cause, and so
is its end.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from headwater.alerts import evaluation
from headwater.alerts.evaluation import SEVERE
from headwater.alerts.history import KEEP_ALERTS, NOW_USUAL, TURNED_OFF
from headwater.alerts.rules import Rule, Sensitivity
from headwater.alerts.watches import RuleChoice, choose
from headwater.database.pool import Database
from tests.alerts.evaluator import HOUR, NOW, WEEKS, Evaluator, noon, order, steps, touchpoint, visit
from tests.alerts.evaluator import evaluator as evaluator  # noqa: PLC0414 # a fixture
from tests.alerts.evaluator import stage as stage  # noqa: PLC0414 # a fixture
from tests.support.accounts import Accounts
from tests.support.factories import Stage, make_stage


def test_it_works(evaluator: Evaluator, stage: Stage) -> None:
    """Visits stop at ten: at eleven one notification is sent. They start again at one: that is notified,
    too.
    """
    visit(stage, NOW - WEEKS, noon(-2))
    order(stage, NOW - WEEKS, noon(6))
    evaluator.evaluate(noon(-2.9))
    assert evaluator.notified_steps == []
    evaluator.evaluate(noon(-0.9))
    assert steps(evaluator.notified_steps) == [(Rule.VISITS_FELL, "opened")]
    (step,) = evaluator.notified_steps
    assert step.title == "Visits stopped: 0 in an hour, usually 19 to 41"
    assert step.cause.startswith("Almost no page sends visits while 20 orders arrived")
    assert step.at == noon(-1)
    evaluator.evaluate(noon(0.1), noon(1.1))
    assert steps(evaluator.notified_steps) == [(Rule.VISITS_FELL, "opened")]
    visit(stage, noon(1), noon(6))
    evaluator.evaluate(noon(2.1))
    assert len(evaluator.notified_steps) == 1, "one good hour is not enough"
    evaluator.evaluate(noon(3.1))
    assert steps(evaluator.notified_steps)[1:] == [(Rule.VISITS_FELL, "ended")]


def test_a_range_that_contains_the_figure_is_not_written(evaluator: Evaluator, stage: Stage) -> None:
    """Nothing came at the same time two weeks ago, either."""
    gap = noon(-2) - timedelta(weeks=2)
    visit(stage, NOW - WEEKS, gap)
    visit(stage, gap + 2 * HOUR, noon(-2))
    evaluator.evaluate(noon(-2.9), noon(-0.9))
    (step,) = evaluator.notified_steps
    assert step.title == "Visits stopped: 0 in an hour, usually about 30"


def test_a_space_without_a_site_is_judged_by_its_touchpoints(evaluator: Evaluator, stage: Stage) -> None:
    touchpoint(stage, NOW - WEEKS, noon(-2))
    evaluator.evaluate(noon(-2.9), noon(-0.9))
    assert steps(evaluator.notified_steps) == [(Rule.VISITS_FELL, "opened")]


@pytest.mark.parametrize(
    ("others", "cause"),
    [
        (60, "These visits are missing altogether."),
        (75, "Either Google ads sends no visitors"),
        (90, "The total number of visits is normal, so visits from Google ads now count for another source."),
    ],
)
def test_other_visits_show_why_a_source_s_are_missing(
    evaluator: Evaluator, stage: Stage, others: int, cause: str
) -> None:
    touchpoint(stage, NOW - WEEKS, noon(-2))
    touchpoint(stage, NOW - WEEKS, noon(-2), 60, "direct")
    touchpoint(stage, noon(-2), noon(0), others, "direct")
    evaluator.evaluate(noon(-2.9), noon(-0.9))
    (step,) = evaluator.notified_steps
    assert (step.rule, step.subject) == (Rule.SOURCE_VISITS_FELL, "google_ads")
    assert step.cause.startswith(cause)


def test_hours_are_made_up_for(evaluator: Evaluator, stage: Stage) -> None:
    """After hours without a worker, an alert that has already ended is in the history, without a
    notification.
    """
    visit(stage, NOW - WEEKS, noon(-8))
    visit(stage, noon(-5), noon(1))
    evaluator.evaluate(noon(-9.9), noon(0.1))
    assert evaluator.notified_steps == []
    rows = stage.connection.execute(
        "SELECT s.step FROM alert_steps s WHERE s.space_id = %s ORDER BY s.id", (stage.space_id,)
    ).fetchall()
    assert rows == [("opened",), ("ended",)]


def test_what_waits_to_be_processed_is_the_alert(
    evaluator: Evaluator, stage: Stage, connection: psycopg.Connection
) -> None:
    """The pipeline has stopped: incomplete figures are not evaluated until they are complete."""
    now = datetime.now(UTC).replace(minute=10)
    visit(stage, now - WEEKS, now - 2 * HOUR)
    evaluator.evaluate(now - 2.5 * HOUR)
    connection.execute(
        "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
        " VALUES (%s, 'none', 'api_key', now() - interval '10 minutes', '{}')", (stage.space_id,),
    )  # fmt: skip
    evaluator.evaluate(now)
    assert steps(evaluator.notified_steps) == [(Rule.PROCESSING_LATE, "opened")]
    connection.execute("DELETE FROM inbox WHERE space_id = %s", (stage.space_id,))
    visit(stage, now - 2 * HOUR, now)
    evaluator.evaluate(now + HOUR / 4)
    assert steps(evaluator.notified_steps)[1:] == [(Rule.PROCESSING_LATE, "ended")]


def test_orders_and_what_stopped(evaluator: Evaluator, stage: Stage) -> None:
    visit(stage, NOW - WEEKS, noon(2))
    order(stage, NOW - WEEKS, noon(-2), sender="webhook")
    evaluator.evaluate(noon(-1.9), noon(0.1))
    assert steps(evaluator.notified_steps) == [(Rule.ORDERS_FELL, "opened")]
    assert "mostly by webhook, the last one on 13 May 2026, 09:5" in evaluator.notified_steps[0].cause


def test_a_held_destination(evaluator: Evaluator, stage: Stage) -> None:
    destination = stage.destination(status="held", status_reason="Token expired.")
    evaluator.evaluate(NOW)
    assert [(step.rule, step.subject, step.cause) for step in evaluator.notified_steps] == [
        (Rule.DESTINATION_HELD, str(destination), "Token expired.")
    ]
    stage.connection.execute(
        "UPDATE destinations SET status = 'active' WHERE space_id = %s", (stage.space_id,)
    )
    evaluator.evaluate(NOW + HOUR)
    assert steps(evaluator.notified_steps)[1:] == [(Rule.DESTINATION_HELD, "ended")]
    stage.connection.execute("UPDATE destinations SET status = 'held' WHERE space_id = %s", (stage.space_id,))
    evaluator.evaluate(NOW + 2 * HOUR)
    assert steps(evaluator.notified_steps)[2:] == [(Rule.DESTINATION_HELD, "returned")]
    assert [alert.ended_at for alert in evaluator.history(is_open=True)] == [None]
    assert evaluator.history(is_open=False) == []


def test_alerts_that_ended_long_ago_are_removed(evaluator: Evaluator, stage: Stage) -> None:
    stage.destination(status="held")
    evaluator.evaluate(NOW)
    stage.connection.execute(
        "UPDATE destinations SET status = 'active' WHERE space_id = %s", (stage.space_id,)
    )
    evaluator.evaluate(NOW + HOUR)
    evaluator.evaluate(NOW + KEEP_ALERTS)
    assert len(evaluator.history(is_open=False)) == 1
    evaluator.evaluate(NOW + KEEP_ALERTS + 2 * HOUR)
    assert evaluator.history(is_open=False) == []


def test_another_time_zone(evaluator: Evaluator, stage: Stage) -> None:
    """All counts are repeated by the hours of the new zone."""
    visit(stage, NOW - WEEKS, noon(4))
    evaluator.evaluate(noon(-2.9))
    stage.connection.execute("UPDATE spaces SET timezone = 'Asia/Tokyo' WHERE id = %s", (stage.space_id,))
    evaluator.evaluate(noon(-1.9), noon(-0.9), noon(0.1))
    assert evaluator.notified_steps == []
    counts = stage.connection.execute(
        "SELECT max(number) FROM hour_counts WHERE space_id = %s AND measure = 'visits'", (stage.space_id,)
    ).fetchone()
    assert counts == (30,)


@pytest.mark.parametrize("ahead", [timedelta(minutes=30), timedelta(hours=3), timedelta(days=400)])
def test_a_clock_that_is_set_back(evaluator: Evaluator, stage: Stage, ahead: timedelta) -> None:
    """Evaluation goes on from the present hour, and finds what is wrong."""
    visit(stage, NOW - WEEKS, noon(0))
    evaluator.evaluate(NOW - 2 * HOUR)
    evaluator.evaluate(NOW + ahead)
    evaluator.notified_steps.clear()
    stage.connection.execute("DELETE FROM alerts WHERE space_id = %s", (stage.space_id,))
    evaluator.evaluate(NOW, is_immediate=False)
    assert evaluator.notified_steps == [], "no hour that has not come is judged"
    evaluator.evaluate(*(NOW + hours * HOUR for hours in (1, 2, 3)))
    assert (Rule.VISITS_FELL, "opened") in steps(evaluator.notified_steps)


def test_a_problem_that_becomes_severe(evaluator: Evaluator, stage: Stage) -> None:
    refuse = "INSERT INTO refused_joins VALUES (%s, now(), %s)"
    stage.connection.execute(refuse, (stage.space_id, SEVERE - 1))
    evaluator.evaluate(NOW)
    assert steps(evaluator.notified_steps) == [(Rule.JOINS_REFUSED, "opened")]
    stage.connection.execute(
        "UPDATE refused_joins SET joins = %s WHERE space_id = %s", (SEVERE, stage.space_id)
    )
    evaluator.evaluate(NOW + HOUR)
    assert steps(evaluator.notified_steps)[1:] == [(Rule.JOINS_REFUSED, "worsened")]


@pytest.mark.parametrize("choice", [RuleChoice(is_on=False), RuleChoice(sensitivity=Sensitivity.LOW)])
def test_what_a_space_chooses(
    evaluator: Evaluator, stage: Stage, database_url: str, choice: RuleChoice
) -> None:
    visit(stage, NOW - WEEKS, noon(-2))
    visit(stage, noon(-2), noon(0), hourly=12)
    Accounts(database_url).run(lambda c: choose(c, stage.space_id, Rule.VISITS_FELL, choice))
    evaluator.evaluate(noon(-2.9), noon(0.1))
    assert evaluator.notified_steps == []


def test_a_fault_whose_rule_is_off(evaluator: Evaluator, stage: Stage, database_url: str) -> None:
    refuse = "INSERT INTO refused_joins VALUES (%s, now(), 5)"
    stage.connection.execute(refuse, (stage.space_id,))
    evaluator.evaluate(NOW)
    off = RuleChoice(is_on=False)
    Accounts(database_url).run(lambda c: choose(c, stage.space_id, Rule.JOINS_REFUSED, off))
    evaluator.evaluate(*(NOW + hours * HOUR for hours in (1, 2, 3)))
    assert steps(evaluator.notified_steps) == [(Rule.JOINS_REFUSED, "opened"), (Rule.JOINS_REFUSED, "ended")]
    assert evaluator.notified_steps[1].cause == TURNED_OFF


@pytest.mark.parametrize(
    ("is_off", "hours", "reason"), [(True, 1.1, TURNED_OFF), (False, 187.1, None), (False, 195.1, NOW_USUAL)]
)
def test_an_alert_whose_figure_is_no_longer_judged(
    evaluator: Evaluator, stage: Stage, database_url: str, *, is_off: bool, hours: float, reason: str | None
) -> None:
    """Without orders there is no share of orders. The alert ends with its rule, or after a week and a day."""
    rule, buyer = Rule.UNATTRIBUTED_ROSE, stage.contact()
    for weeks in range(6):
        stage.touchpoint(buyer, "google_ads", occurred_at=NOW - WEEKS + weeks * timedelta(weeks=1))
    order(stage, NOW - WEEKS, noon(-5), 12, contact=buyer)
    order(stage, noon(-5), noon(-4), 12)
    evaluator.evaluate(noon(-5.9), noon(-3.9), noon(0.1))
    if is_off:
        Accounts(database_url).run(lambda c: choose(c, stage.space_id, rule, RuleChoice(is_on=False)))
    evaluator.evaluate(noon(hours))
    ends = [step.cause for step in evaluator.notified_steps if (step.rule, step.step) == (rule, "ended")]
    assert ends == ([reason] if reason else [])


def test_a_new_space_learns_first(evaluator: Evaluator, stage: Stage) -> None:
    visit(stage, NOW - timedelta(days=13), noon(-2))
    evaluator.evaluate(noon(-2.9), noon(0.1))
    assert evaluator.notified_steps == []


def test_counts_are_added_once(evaluator: Evaluator, stage: Stage, make_space: Callable[..., int]) -> None:
    other_stage = Stage(stage.connection, make_space(), "")
    visit(other_stage, noon(-2), noon(0))
    visit(stage, noon(-3), noon(0), hourly=6)
    order(stage, noon(-3), noon(0), hourly=4)
    stage.add_import("contacts", ended_at=noon(-0.5), refused=3)
    evaluator.evaluate(noon(-1.9), noon(0.1), noon(0.2), noon(1.1))
    rows = stage.connection.execute(
        "SELECT measure, sum(number)::int, count(*)::int FROM hour_counts WHERE space_id = %s"
        " GROUP BY 1 ORDER BY 1", (stage.space_id,),
    ).fetchall()  # fmt: skip
    assert rows == [("orders", 12, 3), ("rejected", 3, 1), ("untouched", 12, 3), ("visits", 18, 3)]


def test_newer_events_that_wait_do_not_stop_counting(evaluator: Evaluator, stage: Stage) -> None:
    """A pass counts the events received before the last one once these are processed."""
    wait = (
        "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
        " VALUES (%s, 'none', 'api_key', now(), '{}') RETURNING id"
    )
    counts = "SELECT sum(number) FROM hour_counts WHERE space_id = %s", (stage.space_id,)
    visit(stage, noon(-3), noon(-2))
    first_row = stage.connection.execute(wait, (stage.space_id,)).fetchone()
    assert first_row is not None
    evaluator.evaluate(NOW, is_immediate=False)
    stage.connection.execute(wait, (stage.space_id,))
    evaluator.evaluate(NOW + HOUR / 4, is_immediate=False)
    assert stage.connection.execute(*counts).fetchone() == (None,)
    stage.connection.execute(
        "DELETE FROM inbox WHERE space_id = %s AND id = %s", (stage.space_id, *first_row)
    )
    evaluator.evaluate(NOW + HOUR / 2, is_immediate=False)
    assert stage.connection.execute(*counts).fetchone() == (30,)
    stage.connection.execute("DELETE FROM inbox WHERE space_id = %s", (stage.space_id,))


def test_a_pass_that_lost_its_lease_stores_nothing(
    evaluator: Evaluator, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that has the lease now counts and notifies instead."""
    visit(stage, NOW - WEEKS, noon(-2))
    evaluator.evaluate(noon(-2.9))
    numbers = "SELECT sum(number) FROM hour_counts WHERE space_id = %s", (stage.space_id,)
    counted = stage.connection.execute(*numbers).fetchone()
    visit(stage, noon(-6), noon(-5))

    async def lose_lease(*_: object) -> None:
        stage.connection.execute(
            "UPDATE alert_watches SET lease = %s WHERE space_id = %s", (uuid4(), stage.space_id)
        )

    monkeypatch.setattr(evaluation, "record_checks", lose_lease)
    assert evaluator.evaluate(noon(-0.9)) == []
    assert evaluator.history(is_open=True) == []
    assert stage.connection.execute(*numbers).fetchone() == counted


def test_orders_that_come_twice(evaluator: Evaluator, stage: Stage) -> None:
    """Orders of one contact with one amount within ten minutes, even if the first was counted earlier."""
    someone, someone_else = stage.contact(), stage.contact()

    def buy(minute: float, amount: str, contact: int = someone, **columns: Any) -> None:
        event_time = noon(-2) + timedelta(minutes=minute)
        stage.event(contact, event_name="purchase", amount=amount, event_time=event_time, **columns)

    buy(0, "50")
    evaluator.evaluate(noon(-1.9))
    for minute, amount in ((10, "50"), (12, "50.00"), (22.1, "50"), (23, "51"), (31, "51"), (59, "-50")):
        buy(minute, amount)
    buy(24, "51", someone_else)
    buy(24, "51", is_upsell=True)
    buy(59.5, "-50")
    evaluator.evaluate(noon(0.1))
    rows = stage.connection.execute(
        "SELECT hour, number FROM hour_counts WHERE space_id = %s AND measure = 'repeated'", (stage.space_id,)
    ).fetchall()
    assert rows == [(noon(-2).replace(tzinfo=None), 3)]


def test_a_space_that_statistics_do_not_know(young_url: str) -> None:
    """PostgreSQL has no statistics about the Space, but its orders are counted within the transaction
    timeout.
    """
    with psycopg.connect(young_url, autocommit=True) as connection:
        for _ in range(2):
            order(make_stage(connection), NOW - WEEKS, NOW)
        connection.execute("ANALYZE events")
        stage = make_stage(connection)
        order(stage, NOW - WEEKS, NOW)
        Evaluator(young_url, stage.space_id, database=Database).evaluate(NOW)
        row = stage.connection.execute(
            "SELECT sum(number) FROM hour_counts WHERE space_id = %s AND measure = 'orders'",
            (stage.space_id,),
        ).fetchone()
        assert row is not None
        assert row[0] > 10_000


def test_a_figure_that_cannot_be_stored_leaves_the_others(stage: Stage, evaluator: Evaluator) -> None:
    """A source's revenue on one day may exceed the range of a count."""
    for day in range(3, 36):
        moment = NOW - timedelta(days=day)
        for hour in range(12):
            contact_id = stage.contact()
            event_time = moment - timedelta(hours=hour)
            stage.touchpoint(contact_id, "google_ads", occurred_at=event_time - timedelta(minutes=5))
            stage.event(contact_id, event_name="purchase", amount="50", event_time=event_time)
    contact_id = stage.contact()
    moment = NOW - timedelta(days=1)
    stage.touchpoint(contact_id, "email", occurred_at=moment - timedelta(hours=1))
    stage.connection.execute(
        "INSERT INTO events (space_id, id, contact_id, event_name, event_time, amount, received_at)"
        " SELECT %s, nextval('receipt_ids'), %s, 'purchase', %s, 99999999999, now()"
        " FROM generate_series(1, 10000)",
        (stage.space_id, contact_id, moment),
    )
    evaluator.evaluate(NOW)
    rows = stage.connection.execute(
        "SELECT measure, subject, max(number) FROM hour_counts WHERE space_id = %s"
        " AND measure LIKE 'day%%' GROUP BY 1, 2",
        (stage.space_id,),
    ).fetchall()
    assert ("day_revenue", "google_ads", 12 * 50 * 10_000) in rows
    assert ("day_orders", "email", 10_000) in rows
    assert not [row for row in rows if row[:2] == ("day_revenue", "email")]
