"""Which transitions of alerts members are notified of, and with what reason."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import psycopg
import pytest

from headwater.alerts.custom_rules.models import RuleCondition, RuleTerms
from headwater.alerts.custom_rules.stored_rules import change_rule
from headwater.alerts.evaluation import SEVERE
from headwater.alerts.history import NOW_USUAL, AlertStep, StepKind, acknowledge, select_announced
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


def test_a_fall_that_lasts_a_week_is_not_back_to_normal(evaluator: Evaluator, stage: Stage) -> None:
    visit(stage, NOW - WEEKS, noon(-2))
    order(stage, NOW - WEEKS, noon(200))
    evaluator.evaluate(noon(-2.9), *(noon(hours + 0.1) for hours in range(0, 200, 20)))
    assert steps(evaluator.notified_steps) == [(Rule.VISITS_FELL, "opened"), (Rule.VISITS_FELL, "ended")]
    assert evaluator.notified_steps[1].cause == NOW_USUAL


@pytest.mark.parametrize(
    ("kinds", "announced"),
    [
        ("worsened ended", "ended"),
        ("opened ended", None),
        ("opened ended returned", "returned"),
        ("returned ended", None),
        ("ended returned", None),
        ("ended returned ended", "ended"),
        ("opened worsened", "worsened"),
    ],
)
def test_several_transitions_of_a_pass_are_one_message(kinds: str, announced: str | None) -> None:
    transitions = [AlertStep(1, StepKind(kind), NOW, Rule.CUSTOM, "", "", "") for kind in kinds.split()]
    assert [step.step for step in select_announced(transitions)] == ([announced] if announced else [])


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
