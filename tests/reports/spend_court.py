"""Compares an answer about spend with the plain model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from headwater.reports.questions.spend import FIGURES
from tests.support.report_model.clock import STEPS, Period, comparison_period, counterpart
from tests.support.report_model.counting import round_figure
from tests.support.report_model.groups import Key
from tests.support.report_model.question import Question, read_question
from tests.support.report_model.report import event_bounds
from tests.support.report_model.spend import CostReport, Figures, Spending, make_cost_report

IN_FOUR_DECIMALS = (
    "credited_revenue", "credited_conversions", "new_customer_revenue", "roas", "cpa", "cac",
)  # fmt: skip
NOTHING: Figures = {name: None if name in ("roas", "cpa", "cac") else Fraction(0) for name in FIGURES}


def parse_question(parameters: dict[str, Any]) -> Question:
    """Return a question in the model's form."""
    group = parameters["group_by"]
    return read_question({
        **parameters, "measures": ["credited_revenue"], "group_by": [] if group == "none" else [group],
        "limit": 10**6,
    })  # fmt: skip


def find_faults(answer: dict[str, Any], spending: Spending, parameters: dict[str, Any]) -> list[str]:
    """Return the differences between an answer and the model: figures, rows and left-out money."""
    question = parse_question(parameters)
    if "rows" not in answer:
        return [f"refused: {answer}"]
    reports = [make_cost_report(spending, period_question) for period_question in _times(question)]
    if len(reports) > 1 and not began_by(spending, question):
        reports = reports[:1]
    return list(_differences(answer, question, *reports))


def began_by(spending: Spending, question: Question) -> bool:
    """Return True if the Space had an event before the end of the comparison period."""
    compared_period = comparison_period(Period(question.start, question.end), question.compare)
    first, _ = event_bounds(spending.facts)
    return bool(compared_period and first and first < compared_period.bounds(spending.facts.zone)[1])


def _times(question: Question) -> list[Question]:
    """Return the question about its own period, and about its comparison period if it has one."""
    compared_period = comparison_period(Period(question.start, question.end), question.compare)
    alone = replace(question, compare="none")
    return [
        alone,
        *([replace(alone, start=compared_period.start, end=compared_period.end)] if compared_period else []),
    ]


def _differences(
    answer: dict[str, Any], question: Question, cost_report: CostReport, comparison: CostReport | None = None
) -> Iterator[str]:
    is_compared = question.compare != "none"
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    group = answer["columns"][0] if question.group_by else ""
    by_key = {row[group]: row for row in rows}
    if {*by_key} != {*cost_report.rows} or len(by_key) != len(rows):
        yield f"rows of {sorted(by_key, key=str)} instead of {sorted(cost_report.rows, key=str)}"
        return
    for name, right, before in (
        ("totals", cost_report.totals, comparison and comparison.totals),
        ("with_spend", cost_report.with_spend, comparison and comparison.with_spend),
        ("unmatched", cost_report.unmatched, comparison and comparison.unmatched),
    ):
        yield from _compare_row(name, answer[name], right, before, has_comparison=is_compared)
    for key, right in cost_report.rows.items():
        before = _comparison_row(question, key, comparison, right)
        yield from _compare_row(f"{key}", by_key[key], right, before, has_comparison=is_compared)
    for name in ("left_out_money", "left_out_spend"):
        for field, report in ((name, cost_report), (f"compared_{name}", comparison)):
            if answer[field] != (report and getattr(report, name)):
                yield f"{field}: {answer[field]} is not that of {report}"
    order = [(-row["spend"], -row["credited_revenue"]) for row in rows]
    if order != sorted(order):
        yield "rows are not in order"


def _comparison_row(
    question: Question, key: Key, comparison: CostReport | None, figures: Figures
) -> Figures | None:
    """Return the comparison row of a key; None if there is no comparison."""
    if comparison is None:
        return None
    group, compared_period = (
        question.group_by[0],
        comparison_period(Period(question.start, question.end), question.compare),
    )
    nothing = dict(NOTHING)
    if figures["contribution"] is None:
        nothing["contribution"] = None
    if group not in STEPS:
        return comparison.rows.get(key, nothing)
    assert key is not None
    assert compared_period is not None
    short = key[:7] if group == "month" else key
    counterpart_key = counterpart(
        group, short, Period(question.start, question.end), compared_period, question.compare
    )
    if counterpart_key is None:
        return None
    return comparison.rows.get(f"{counterpart_key}-01" if group == "month" else counterpart_key, nothing)


def _compare_row(
    row_name: str, row: dict[str, Any], right: Figures, comparison: Figures | None, *,
    has_comparison: bool = False,
) -> Iterator[str]:  # fmt: skip
    for name in FIGURES:
        expected = {name: _json_figure(name, right[name])}
        if comparison is not None:
            change = _change(right[name], comparison[name])
            expected |= {f"{name}_before": _json_figure(name, comparison[name]), f"{name}_change": change}
        elif has_comparison:
            expected |= {f"{name}_before": None, f"{name}_change": None}
        for column, value in expected.items():
            if row[column] != value:
                yield f"{row_name} {column}: {row[column]} is not {value}"


def _json_figure(name: str, figure: Fraction | None) -> float | None:
    if figure is None:
        return None
    return round(float(figure), 4) if name in IN_FOUR_DECIMALS else float(figure)


def _change(figure: Fraction | None, base: Fraction | None) -> float | None:
    if figure is None or not base:
        return None
    return float(round_figure((figure - base) / abs(base)))
