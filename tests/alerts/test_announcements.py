"""Which transitions of alerts members are notified of, and with what reason."""

from __future__ import annotations

import psycopg
import pytest

from headwater.alerts.evaluation import SEVERE
from headwater.alerts.history import NOW_USUAL, AlertStep, StepKind, acknowledge, select_announced
from headwater.alerts.rules import Rule
from tests.alerts.evaluator import HOUR, NOW, WEEKS, Evaluator, noon, order, steps, visit
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
