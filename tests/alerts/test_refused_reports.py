"""Rules whose report is refused, or has no figure for them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from headwater.alerts.custom_rules.models import RuleTerms
from headwater.alerts.rules import Rule
from headwater.http.errors import Invalid
from headwater.reports.query import ReportTooLarge
from tests.alerts.evaluator import Evaluator, noon, steps
from tests.alerts.test_custom_rules import ROAS_OF_META, WASTE, Rules
from tests.alerts.test_custom_rules import evaluator as evaluator  # noqa: PLC0414 # a fixture
from tests.alerts.test_custom_rules import rules as rules  # noqa: PLC0414 # a fixture
from tests.alerts.test_custom_rules import stage as stage  # noqa: PLC0414 # a fixture
from tests.support.factories import Stage

pytestmark = pytest.mark.usefixtures("stage")


@pytest.mark.parametrize(
    ("refusal", "steps_after"), [(ReportTooLarge(), []), (Invalid.of("only", "is unknown."), ["ended"])]
)
def test_a_report_that_is_refused(
    evaluator: Evaluator,
    rules: Rules,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Exception,
    steps_after: list[str],
) -> None:
    """An open alert ends only if the rule can never be judged."""
    rules.spend("meta", "100")
    rules.create(ROAS_OF_META)
    evaluator.evaluate(noon(0.1))
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened")]

    async def refuse(*_: Any) -> None:
        raise refusal

    monkeypatch.setattr("headwater.alerts.custom_rules.evaluation.query_spend", refuse)
    evaluator.evaluate(noon(24.1))
    assert [step for _, step in steps(evaluator.notified_steps)[1:]] == steps_after
    rule = rules.read_rule()
    assert rule.figure is None
    assert rule.note


@pytest.mark.parametrize(
    "terms", [ROAS_OF_META, replace(ROAS_OF_META, measure="spend"), replace(WASTE, threshold=Decimal("0.01"))]
)
def test_a_source_without_spend_of_its_own(evaluator: Evaluator, rules: Rules, terms: RuleTerms) -> None:
    """The spend of its platform covers several sources: there is no figure, and no alert about 0."""
    rules.spend("meta", "100", campaign_id="c1")
    rules.create(replace(terms, filter="source:facebook_ads", filter_name="Facebook ads"))
    evaluator.evaluate(noon(0.1))
    rule = rules.read_rule()
    assert (rule.figure, rule.note) == (None, "Ad spend cannot be filtered by this source.")
    assert evaluator.notified_steps == []


def test_rows_of_an_incomplete_period(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    stage.connection.execute("DELETE FROM events WHERE space_id = %s", (stage.space_id,))
    rules.spend("meta", "100", campaign_id="c1")
    rules.create(WASTE)
    evaluator.evaluate(noon(0.1))
    assert evaluator.notified_steps == []
    assert rules.read_rule().note == "No events in this period yet."
