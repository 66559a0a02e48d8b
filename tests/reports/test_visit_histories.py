"""Visits and conversion rates compared with the model's count of page views, during random histories (late
page views, merges, splits, new names of sources, erasures) and at their end.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from tests.reports import answers
from tests.reports.court import Court, Subject
from tests.reports.faults import FAULTS, Plant
from tests.reports.questions import keep_one_model, some_question
from tests.support.report_model import counting, grouping
from tests.support.report_model.question import OF_VISITS, TIME_GROUPS, TOUCH_GROUPS, read_question


def _some_question(dice: Random) -> dict[str, Any]:
    """Return a question about visits, and often about other measures."""
    while True:
        question = some_question(dice)
        other_measures = [name for name in question["measures"] if name not in OF_VISITS]
        question["measures"] = [*dice.choice((("visits",), OF_VISITS)), *other_measures]
        groups = dice.sample((*TOUCH_GROUPS, *TIME_GROUPS), dice.choice((0, 1, 1, 2)))
        question = keep_one_model({**question, "group_by": groups})
        question.pop("order_by", None)
        if read_question(question).refusal() is None:
            return question


def _count_every_touch(patch: pytest.MonkeyPatch) -> None:
    def visit_conversions(credits_: list[Any]) -> Fraction:
        return sum((credit.part for credit in credits_ if credit.converts), Fraction(0))

    patch.setattr(counting, "visit_conversions", visit_conversions)


def _no_filters(patch: pytest.MonkeyPatch) -> None:
    right = grouping._Grouping.add_visits

    def add_visits(self: Any) -> int:
        with pytest.MonkeyPatch.context() as within:
            within.setattr(grouping, "keeps", lambda *_: True)
            return right(self)

    patch.setattr(grouping._Grouping, "add_visits", add_visits)


WRONG: dict[str, Plant] = {
    "touches of events count as visits": _count_every_touch,
    "filters on touches do not select visits": _no_filters,
    "the last second of a period is not part of it": FAULTS["the last second of a period is not part of it"],
}


def test_it_works(court: Court) -> None:
    court.subject = Subject(_some_question, answers.answer, answers.expected_answer)
    court.judge_random(seconds=3, faults=WRONG, rare_faults=["the last second of a period is not part of it"])
