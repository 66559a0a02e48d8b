"""Which transitions of alerts members are notified of, and with what reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import psycopg
import pytest

from headwater.alerts.custom_rules.models import RuleCondition, RuleTerms
from headwater.alerts.custom_rules.stored_rules import change_rule
from headwater.alerts.evaluation import SEVERE
from headwater.alerts.history import ENDED_MUTED, NOW_USUAL, AlertHistory, AlertStep, Sign, acknowledge
from headwater.alerts.rules import Rule
from tests.alerts.evaluator import HOUR, NOW, WEEKS, Evaluator, noon, order, steps, visit
from tests.alerts.test_custom_rules import Rules
from tests.support.accounts import Accounts
from tests.support.factories import Stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def evaluator(database_url: str, space_id: int) -> Evaluator:
    return Evaluator(database_url, space_id)


def test_a_problem_that_was_marked_as_seen_is_announced_at_its_end_only(
    evaluator: Evaluator, stage: Stage, database_url: str
) -> None:
    accounts = Accounts(database_url)
    stage.connection.execute("INSERT INTO refused_joins VALUES (%s, now(), 1)", (stage.space_id,))
    evaluator.evaluate(NOW)
    (alert,) = evaluator.history(is_open=True)
    user = accounts.member(stage.space_id).id
    accounts.run(lambda connection: acknowledge(connection, stage.space_id, alert.id, user, NOW))
    stage.connection.execute(
        "UPDATE refused_joins SET joins = %s WHERE space_id = %s", (SEVERE, stage.space_id)
    )
    evaluator.evaluate(NOW + HOUR)
    stage.connection.execute("DELETE FROM refused_joins WHERE space_id = %s", (stage.space_id,))
    evaluator.evaluate(NOW + 2 * HOUR)
    assert steps(evaluator.notified_steps)[1:] == [(Rule.JOINS_REFUSED, "ended")]


class JoinsAlert:
    """An alert about refused joins, and when its rule is muted."""

    def __init__(self, evaluator: Evaluator, stage: Stage) -> None:
        self.evaluator, self.stage = evaluator, stage

    def mute(self, until: datetime) -> None:
        self.stage.connection.execute(
            "INSERT INTO alert_rules (space_id, rule, muted_until) VALUES (%s, %s, %s)",
            (self.stage.space_id, Rule.JOINS_REFUSED, until),
        )

    def open(self, moment: datetime) -> None:
        self.stage.connection.execute(
            "INSERT INTO refused_joins VALUES (%s, now(), 1)", (self.stage.space_id,)
        )
        self.evaluator.evaluate(moment)

    def end(self, moment: datetime) -> None:
        self.stage.connection.execute("DELETE FROM refused_joins WHERE space_id = %s", (self.stage.space_id,))
        self.evaluator.evaluate(moment)

    def list_announced(self) -> list[tuple[str, datetime]]:
        return [(str(step.step), step.at) for step in self.evaluator.notified_steps]


@pytest.fixture
def joins(evaluator: Evaluator, stage: Stage) -> JoinsAlert:
    return JoinsAlert(evaluator, stage)


def test_an_alert_that_lasts_longer_than_its_mute_is_announced_then(joins: JoinsAlert) -> None:
    joins.mute(NOW + HOUR)
    joins.open(NOW)
    assert joins.list_announced() == []
    joins.evaluator.evaluate(NOW + 2 * HOUR)
    assert joins.list_announced() == [("opened", NOW)]
    joins.end(NOW + 3 * HOUR)
    assert joins.list_announced()[1:] == [("ended", NOW + 3 * HOUR)]


def test_of_an_alert_within_a_mute_there_is_no_message(joins: JoinsAlert) -> None:
    joins.mute(NOW + 2 * HOUR)
    joins.open(NOW)
    joins.end(NOW + HOUR)
    joins.evaluator.evaluate(NOW + 3 * HOUR)
    assert joins.list_announced() == []


def test_an_end_within_a_mute_is_announced_afterwards(joins: JoinsAlert) -> None:
    joins.open(NOW)
    joins.mute(NOW + 2 * HOUR)
    joins.end(NOW + HOUR)
    assert joins.list_announced() == [("opened", NOW)]
    joins.evaluator.evaluate(NOW + 3 * HOUR)
    assert joins.list_announced()[1:] == [("ended", NOW + HOUR)]
    assert joins.evaluator.notified_steps[1].cause == ENDED_MUTED


def test_an_alert_that_returns_within_a_mute_is_announced_with_the_time_of_its_return(
    joins: JoinsAlert,
) -> None:
    joins.open(NOW)
    joins.end(NOW + HOUR)
    joins.mute(NOW + 3 * HOUR)
    joins.open(NOW + 2 * HOUR)
    joins.evaluator.evaluate(NOW + 4 * HOUR)
    assert joins.list_announced()[2:] == [("returned", NOW + 2 * HOUR)]


def test_an_alert_that_was_seen_and_returns_is_new_again(
    joins: JoinsAlert, database_url: str, space_id: int
) -> None:
    accounts = Accounts(database_url)
    joins.open(NOW)
    (alert,) = joins.evaluator.history(is_open=True)
    user = accounts.member(space_id).id
    accounts.run(lambda connection: acknowledge(connection, space_id, alert.id, user, NOW))
    joins.end(NOW + HOUR)
    joins.open(NOW + 2 * HOUR)
    (alert,) = joins.evaluator.history(is_open=True)
    assert (alert.acknowledged_at, alert.acknowledged_by) == (None, None)
    assert [kind for kind, _ in joins.list_announced()] == ["opened", "ended", "returned"]


def test_a_fall_that_lasts_a_week_is_not_back_to_normal(evaluator: Evaluator, stage: Stage) -> None:
    visit(stage, NOW - WEEKS, noon(-2))
    order(stage, NOW - WEEKS, noon(200))
    evaluator.evaluate(noon(-2.9), *(noon(hours + 0.1) for hours in range(0, 200, 20)))
    assert steps(evaluator.notified_steps) == [(Rule.VISITS_FELL, "opened"), (Rule.VISITS_FELL, "ended")]
    assert evaluator.notified_steps[1].cause == NOW_USUAL


@pytest.mark.parametrize(
    ("kinds", "announced"),
    [
        ("opened worsened", "opened"),
        ("opened ended", None),
        ("opened ended returned", "returned"),
        ("opened|worsened ended", "ended"),
        ("opened|ended returned", None),
        ("opened|ended returned ended", "ended"),
        ("opened|ended|returned ended", None),
    ],
)
def test_several_transitions_of_a_pass_are_one_message(
    kinds: str, announced: str | None, space_id: int, database_url: str
) -> None:
    accounts = Accounts(database_url)
    passes = [
        accounts.run(lambda c, kinds=kinds_of_pass: take(c, space_id, kinds.split()))
        for kinds_of_pass in kinds.split("|")
    ]
    assert [step.step for step in passes[-1]] == ([announced] if announced else [])


async def take(connection: psycopg.AsyncConnection, space_id: int, kinds: Sequence[str]) -> list[AlertStep]:
    """Take the signs of these transitions in one pass; return what is announced."""
    history = AlertHistory(connection, space_id)
    await history.load(NOW)
    for kind in kinds:
        began, is_out = NOW.replace(tzinfo=None), kind != "ended"
        sign = Sign(Rule.JOB_FAILED, "", "Title", "", began, is_out, not is_out, kind == "worsened")
        await history.take(sign, NOW)
    return await history.announce(frozenset())


def test_a_changed_rule_that_is_broken_has_an_alert_of_its_own(
    evaluator: Evaluator, stage: Stage, database_url: str
) -> None:
    """The earlier alert keeps its title in the history, and the message does not say that it came back."""
    rules = Rules(database_url, stage.space_id)
    order(stage, noon(-60 * 24), noon(-60 * 24 + 1))
    terms = RuleTerms("orders", RuleCondition.BELOW, Decimal(3), "USD", 7, "", "", None)
    changed_terms = replace(terms, threshold=Decimal(2))
    rule_id = rules.create(terms)
    evaluator.evaluate(noon(0.1))
    rules.run(change_rule, rule_id, changed_terms, noon(0.2))
    evaluator.evaluate(noon(0.3), noon(1.1))
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened")] * 2
    titles = [[alert.title for alert in evaluator.history(is_open=is_open)] for is_open in (False, True)]
    assert titles == [[terms.title], [changed_terms.title]]
