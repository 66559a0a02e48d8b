"""Rules whose report is refused."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.alerts.rules import Rule
from headwater.http.errors import Invalid
from headwater.reports.query import ReportTooLarge
from tests.alerts.evaluator import Evaluator, noon, steps
from tests.alerts.test_custom_rules import ROAS_OF_META, Rules
from tests.alerts.test_custom_rules import evaluator as evaluator  # noqa: PLC0414 # a fixture
from tests.alerts.test_custom_rules import rules as rules  # noqa: PLC0414 # a fixture
from tests.alerts.test_custom_rules import stage as stage  # noqa: PLC0414 # a fixture

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
