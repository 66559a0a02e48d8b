"""Compares an answer about spend with the plain model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from headwater.reports.questions.spend import FIGURES
from tests.support.report_model.clock import STEPS, Period, compared, counterpart
from tests.support.report_model.counting import rounded
from tests.support.report_model.groups import Key
from tests.support.report_model.question import Question, read_question
from tests.support.report_model.report import ends_of
from tests.support.report_model.spend import CostReport, Figures, Spending, make_cost_report

IN_FOUR_DECIMALS = (
    "credited_revenue", "credited_conversions", "new_customer_revenue", "roas", "cpa", "cac",
)  # fmt: skip
NOTHING: Figures = {name: None if name in ("roas", "cpa", "cac") else Fraction(0) for name in FIGURES}


def question_of(asked: dict[str, Any]) -> Question:
    """Return a question in the model's form."""
    group = asked["group_by"]
    return read_question({
        **asked, "measures": ["credited_revenue"], "group_by": [] if group == "none" else [group],
        "limit": 10**6,
    })  # fmt: skip


def faults_of(answer: dict[str, Any], spending: Spending, asked: dict[str, Any]) -> list[str]:
    """Return the differences between an answer and the model: figures, rows and left-out money."""
    question = question_of(asked)
    if "rows" not in answer:
        return [f"refused: {answer}"]
    reports = [make_cost_report(spending, period_question) for period_question in _times(question)]
    if len(reports) > 1 and not began_by(spending, question):
        reports = reports[:1]
    return list(_differences(answer, question, *reports))


def began_by(spending: Spending, question: Question) -> bool:
    """Return True if the Space had an event before the end of the comparison period."""
    compared_period = compared(Period(question.start, question.end), question.compare)
    first, _ = ends_of(spending.facts)
    return bool(compared_period and first and first < compared_period.bounds(spending.facts.zone)[1])


def _times(question: Question) -> list[Question]:
    """Return the question about its own period, and about its comparison period if it has one."""
    compared_period = compared(Period(question.start, question.end), question.compare)
    alone = replace(question, compare="none")
    return [
        alone,
        *([replace(alone, start=compared_period.start, end=compared_period.end)] if compared_period else []),
    ]


def _differences(
    answer: dict[str, Any], question: Question, now: CostReport, then: CostReport | None = None
) -> Iterator[str]:
    is_compared = question.compare != "none"
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    group = answer["columns"][0] if question.group_by else ""
    by_key = {row[group]: row for row in rows}
    if {*by_key} != {*now.rows} or len(by_key) != len(rows):
        yield f"rows of {sorted(by_key, key=str)} instead of {sorted(now.rows, key=str)}"
        return
    for name, right, before in (
        ("totals", now.totals, then and then.totals),
        ("with_spend", now.with_spend, then and then.with_spend),
        ("unmatched", now.unmatched, then and then.unmatched),
    ):
        yield from _wrong(name, answer[name], right, before, compared=is_compared)
    for key, right in now.rows.items():
        before = _before(question, key, then, right)
        yield from _wrong(f"{key}", by_key[key], right, before, compared=is_compared)
    for name in ("left_out_money", "left_out_spend"):
        for field, report in ((name, now), (f"compared_{name}", then)):
            if answer[field] != (report and getattr(report, name)):
                yield f"{field}: {answer[field]} is not that of {report}"
    order = [(-row["spend"], -row["credited_revenue"]) for row in rows]
    if order != sorted(order):
        yield "rows are not in order"


def _before(question: Question, key: Key, then: CostReport | None, now: Figures) -> Figures | None:
    """Return the comparison row of a key; None if there is no comparison."""
    if then is None:
        return None
    group, compared_period = (
        question.group_by[0],
        compared(Period(question.start, question.end), question.compare),
    )
    nothing = dict(NOTHING)
    if now["contribution"] is None:
        nothing["contribution"] = None
    if group not in STEPS:
        return then.rows.get(key, nothing)
    assert key is not None
    assert compared_period is not None
    short = key[:7] if group == "month" else key
    counterpart_key = counterpart(
        group, short, Period(question.start, question.end), compared_period, question.compare
    )
    if counterpart_key is None:
        return None
    return then.rows.get(f"{counterpart_key}-01" if group == "month" else counterpart_key, nothing)


def _wrong(
    where: str, told: dict[str, Any], right: Figures, before: Figures | None, *,
    compared: bool = False,
) -> Iterator[str]:  # fmt: skip
    for name in FIGURES:
        expected = {name: _written(name, right[name])}
        if before is not None:
            change = _change(right[name], before[name])
            expected |= {f"{name}_before": _written(name, before[name]), f"{name}_change": change}
        elif compared:
            expected |= {f"{name}_before": None, f"{name}_change": None}
        for column, value in expected.items():
            if told[column] != value:
                yield f"{where} {column}: {told[column]} is not {value}"


def _written(name: str, figure: Fraction | None) -> float | None:
    if figure is None:
        return None
    return round(float(figure), 4) if name in IN_FOUR_DECIMALS else float(figure)


def _change(now: Fraction | None, then: Fraction | None) -> float | None:
    if now is None or not then:
        return None
    return float(rounded((now - then) / abs(then)))
