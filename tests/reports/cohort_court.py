"""Compares a cohort report that has spend with plain models of cohorts and of spend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import accumulate
from typing import Any

from headwater.http.inputs.timerange import months_after, months_between
from tests.reports.spend_court import parse_question
from tests.support.report_model import cohorts as model
from tests.support.report_model.clock import Period
from tests.support.report_model.counting import round_figure
from tests.support.report_model.groups import Key
from tests.support.report_model.question import Question
from tests.support.report_model.spend import (
    Spending,
    in_one_currency,
    is_billed_alone,
    left_out_money,
    left_out_spend,
    spent_by_key,
)

WITHOUT_SPEND = ("keyword", "landing_page")
NOBODY = model.Figures()


def find_faults(
    answer: dict[str, Any], spending: Spending, parameters: dict[str, Any], today: date
) -> list[str]:
    """Return every figure that differs, and every missing or extra row."""
    right = expected_report(spending, parameters, today)
    return [
        f"{name}: {answer.get(name)} is not {figures}"
        for name, figures in right.items()
        if _unordered(name, answer.get(name)) != _unordered(name, figures)
    ]


def _unordered(name: str, rows: Any) -> Any:
    """Return rows of groups sorted by key: rows with equal figures may come in any order."""
    if name not in ("groups", "cohorts") or rows is None:
        return rows
    unnamed_rows = [{field: cell for field, cell in row.items() if field != "name"} for row in rows]
    return sorted(unnamed_rows, key=lambda row: (row["key"] or "", row.get("month", "")))


def expected_report(spending: Spending, parameters: dict[str, Any], today: date) -> dict[str, Any]:
    """Return the expected figures of a report as its JSON has them."""
    question = parse_question(parameters)
    first, last = (day.date().replace(day=1) for day in (question.start, question.end))
    months = [months_after(first, n) for n in range(months_between(first, min(last, today)) + 1)]
    sales_question = replace(
        question, start=_day_time(first, time()), end=_day_time(_last_day(today), time.max)
    )
    start, end = Period(sales_question.start, sales_question.end).bounds(spending.facts.zone)
    facts = in_one_currency(spending, (start.date(), (end - timedelta(seconds=1)).date()))
    cohorts = model.make_cohorts(facts, sales_question, today)
    cohorts = _select_cohorts(cohorts, months)
    spent = _monthly_spend(spending, question, months, {*cohorts.groups})
    empty_count = _empty_months(cohorts.total, months, spent)
    months, spent = months[empty_count:], spent[empty_count:]
    total_spend = [sum(month_spend.values(), Fraction(0)) for month_spend in spent]
    lists = _lists(question, cohorts, spent)

    def month_cohorts(
        figures: model.Figures, spend: Sequence[Fraction] | None, rate: Fraction | None = spending.cost_rate
    ) -> list[dict[str, Any]]:
        return [
            _cohort(figures, month, spend and spend[index], rate, months_between(month, today) + 1)
            for index, month in enumerate(months)
        ]

    rates = {key: None if spend is None else spending.cost_rate for key, spend in lists.items()}
    by_key = {
        key: month_cohorts(cohorts.groups.get(key, NOBODY), spend, rates[key]) for key, spend in lists.items()
    }
    return {
        "totals": month_cohorts(cohorts.total, total_spend),
        "unattributed": None if question.filters_touches else month_cohorts(cohorts.unattributed, None),
        "groups": [
            {"key": key, **_cohort_sums(key_cohorts, lists[key], rates[key])}
            for key, key_cohorts in by_key.items()
        ],
        "cohorts": [
            {"key": key, **cohort}
            for key, key_cohorts in by_key.items()
            for cohort in key_cohorts
            if cohort["new_customers"] or cohort["spend"]
        ],
        "unmatched": None if not question.group_by else [
            {"month": f"{month:%Y-%m}", "spend": float(month_spend.get(None, 0))}
            for month, month_spend in zip(months, spent, strict=True)
        ],
        "left_out_money": left_out_money(spending, facts, sales_question),
        "left_out_spend": left_out_spend(spending, replace(
            question, start=_day_time(months[0], time()), end=_day_time(_last_day(months[-1]), time.max)
        )),
    }  # fmt: skip


def _empty_months(
    total: model.Figures, months: Sequence[date], month_spend: Sequence[dict[Key, Fraction]]
) -> int:
    """Return the number of months before the first with a customer or spend; 0 if all are empty."""
    active_months = {month for month, _ in (*total.revenue, *total.buying)}
    filled_indexes = [
        index
        for index, month in enumerate(months)
        if month in active_months or any(month_spend[index].values())
    ]
    return min(filled_indexes, default=0)


def _select_cohorts(cohorts: model.Cohorts, months: Sequence[date]) -> model.Cohorts:
    """Return the cohorts of some months. Later cohorts were needed only to follow customers through the whole
    period.
    """
    for figures in (cohorts.total, cohorts.unattributed, *cohorts.groups.values()):
        for cells in (figures.revenue, figures.buying):
            for cell in [cell for cell in cells if cell[0] not in months]:
                del cells[cell]
    groups = {key: figures for key, figures in cohorts.groups.items() if figures.revenue or figures.buying}
    return replace(cohorts, groups=groups)


def _monthly_spend(
    spending: Spending, question: Question, months: Sequence[date], listed_keys: set[Key]
) -> list[dict[Key, Fraction]]:
    """Return the spend on each key, by month."""
    has_none = {*question.group_by} & {*WITHOUT_SPEND}
    spend_question = replace(question, group_by=()) if has_none else question
    by_month: list[dict[Key, Fraction]] = []
    for month in months:
        month_question = replace(
            spend_question, start=_day_time(month, time()), end=_day_time(_last_day(month), time.max)
        )
        spent = spent_by_key(spending, month_question, listed_keys)
        by_month.append({key: figures[0] for key, figures in spent.items()})
    return by_month


def _lists(
    question: Question, cohorts: model.Cohorts, monthly_spend: Sequence[dict[Key, Fraction]]
) -> dict[Key, list[Fraction] | None]:
    """Return the monthly spend of each key; None if spend can't be assigned to keys."""
    if not question.group_by:
        return {}
    keys = {
        *cohorts.groups,
        *(key for month_spend in monthly_spend for key in month_spend if key is not None),
    }
    if {*question.group_by} & {*WITHOUT_SPEND}:
        return dict.fromkeys(cohorts.groups)
    nothing = Fraction(0)
    return {
        key: None if question.group_by == ("source",) and not is_billed_alone(key) else [
            nothing if key is None else month_spend.get(key, nothing) for month_spend in monthly_spend
        ]
        for key in keys
    }  # fmt: skip


def _cohort(
    figures: model.Figures, month: date, spend: Fraction | None, rate: Fraction | None, month_count: int
) -> dict[str, Any]:
    revenue = [figures.revenue.get((month, since), Fraction(0)) for since in range(month_count)]
    customers = [len(figures.buying.get((month, since), ())) for since in range(month_count)]
    so_far = list(accumulate(revenue))
    paid = model.payback(revenue, spend, rate or Fraction(0)) if spend else None
    return {
        "month": f"{month:%Y-%m}",
        "new_customers": customers[0],
        "spend": None if spend is None else float(spend),
        "cac": _ratio(spend, customers[0]),
        "payback": "no_spend" if not spend else "not_yet" if paid is None else "reached",
        "payback_month": paid,
        "complete_months": month_count - 1,
        "revenue": list(map(float, revenue)),
        "cumulative_revenue": list(map(float, so_far)),
        "contribution": None if rate is None else [
            float(amount * (100 - rate) / 100 - (spend or 0)) for amount in so_far
        ],
        "customers": customers,
    }  # fmt: skip


def _cohort_sums(
    cohorts: Sequence[dict[str, Any]], month_spend: Sequence[Fraction] | None, rate: Fraction | None
) -> dict[str, Any]:
    """Return the sums of a key's cohorts. Money is summed exactly, from parts with few decimals."""
    new = sum(cohort["new_customers"] for cohort in cohorts)
    spend = None if month_spend is None else sum(month_spend, Fraction(0))
    revenue = sum((_exact_amount(cohort["cumulative_revenue"][-1]) for cohort in cohorts), Fraction(0))
    contribution = None if rate is None else revenue * (100 - rate) / 100 - (spend or 0)
    return {
        "new_customers": new, "spend": None if spend is None else float(spend),
        "cac": _ratio(spend, new), "revenue": float(revenue),
        "contribution": None if contribution is None else float(contribution),
    }  # fmt: skip


def _exact_amount(amount: float) -> Fraction:
    return Fraction(repr(amount))


def _ratio(spend: Fraction | None, customers: int) -> float | None:
    return float(round_figure(spend / customers)) if spend and customers else None


def _day_time(day: date, clock: time) -> datetime:
    return datetime.combine(day, clock).replace(microsecond=0)


def _last_day(day: date) -> date:
    return months_after(day.replace(day=1), 1) - timedelta(days=1)


def csv_lines(answer: dict[str, Any], digits: Any) -> Iterator[list[str]]:
    """Yield the lines of an answer's CSV, below the header."""
    has_groups = answer["group_by"] is not None
    rows = answer["cohorts"] if has_groups else answer["totals"]
    unattributed = answer["unattributed"] or [] if has_groups else []
    for row in [*rows, *({**cohort, "key": None, "name": "unattributed"} for cohort in unattributed)]:
        if row["new_customers"] or row["spend"]:
            names = [row["key"] or "", row["name"] or ""] if has_groups else []
            money = [digits(row[name]) for name in ("spend", "cac")]
            cohort_cells = [row["month"], *names, str(row["new_customers"]), *money]
            cohort_cells += [row["payback"], digits(row["payback_month"])]
            contributions = row["contribution"] or [None] * len(row["revenue"])
            for since, revenue in enumerate(row["revenue"]):
                amounts = (revenue, row["cumulative_revenue"][since], contributions[since])
                is_over = "true" if since < row["complete_months"] else "false"
                yield [
                    *cohort_cells, str(since), is_over, *map(digits, amounts),
                    str(row["customers"][since]),
                ]  # fmt: skip
