"""Normalized cohort reports of the model and of the product, with the list of events behind one of their
figures.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from psycopg import AsyncConnection

from headwater.attribution.models import MODELS, WINDOWS
from headwater.http.inputs.pagination import Cursors
from headwater.http.inputs.parameters import JsonInput
from headwater.http.inputs.timerange import months_after
from headwater.reports.questions.cohort_sums import CohortGroup
from headwater.reports.questions.cohorts import query_cohorts, read_cohort_query
from headwater.reports.questions.credits import query_credits, read_credits_query
from headwater.spaces.spaces import fetch_space
from tests.reports.histories import NAMES
from tests.reports.questions import (
    KEYS_OF_TOUCHES,
    PERIODS,
    TRAINED_MODEL_NAMES,
    names_no_trained_model,
    some_keys,
)
from tests.support.report_model import cohorts as model
from tests.support.report_model.facts import Facts
from tests.support.report_model.question import TOUCH_GROUPS, read_question

DAYS = (date(2026, 12, 31), date(2026, 12, 31), date(2026, 10, 31), date(2026, 4, 15))
"""The possible dates of a question."""
_ONLY = {name: KEYS_OF_TOUCHES[name] for name in ("source", "channel", "campaign", "adset")}


def some_question(dice: Random) -> dict[str, Any]:
    """Return a random question with the API's parameter names, the date it is asked on, and a figure whose
    events should be listed.
    """
    today = dice.choice(DAYS)
    periods = [period for period in PERIODS if period[0][:7] <= f"{today:%Y-%m}"]
    start, end = dice.choice(periods)
    question: dict[str, Any] = {
        "start_date": start, "end_date": end,
        "group_by": dice.choice((*TOUCH_GROUPS, *TOUCH_GROUPS, "none")),
        "attribution_model": dice.choice(sorted(MODELS)),
        "attribution_window": dice.choice(WINDOWS),
        "query_mode": dice.choice(("profile", "company")), "limit": 1000,
        "today": today, "month": months_after(date(2026, 1, 1), dice.randrange(12)),
        "since": dice.randrange(4),
        "by": dice.choice(([], ["unattributed"], some_keys(dice, KEYS_OF_TOUCHES))),
    }  # fmt: skip
    if dice.random() < 0.2:
        question["event_names"] = sorted(set(dice.sample(NAMES, 2)))
    if dice.random() < 0.3:
        question["only"] = some_keys(dice, _ONLY)
    if question["attribution_model"] == "markov" and (
        names_no_trained_model(question) or dice.random() < 0.5
    ):
        question["trained_model"] = dice.choice(TRAINED_MODEL_NAMES)
    return question


async def answer(connection: AsyncConnection, space_id: int, question: dict[str, Any]) -> dict[str, Any]:
    """Return the product's answer to a question."""
    parameters = dict(question)
    today, month, since, by = (parameters.pop(name) for name in ("today", "month", "since", "by"))
    now = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
    async with connection.transaction(force_rollback=True):
        space = await fetch_space(connection, space_id)
    query = read_cohort_query(JsonInput(parameters), space, now)
    async with connection.transaction(force_rollback=True):
        report = await query_cohorts(connection, space_id, query)
    sales_month = months_after(month, since)
    dates = {
        "start_date": f"{sales_month} 00:00:00",
        "end_date": f"{months_after(sales_month, 1) - timedelta(days=1)} 23:59:59",
    }
    names = ("attribution_model", "attribution_window", "query_mode", "event_names", "trained_model")
    list_query = JsonInput({
        **{name: parameters[name] for name in names if name in parameters}, **dates, "credit": "all",
        "acquired": f"{month:%Y-%m}", **({"acquired_by": by} if by else {}),
    })  # fmt: skip
    cursors = Cursors(b"", space_id, "/reports/credits", None)
    credits_query = read_credits_query(list_query, space, cursors, now)
    async with connection.transaction(force_rollback=True):
        totals = (await query_credits(connection, space_id, credits_query)).totals
    assert report.left_out == 0
    return {
        "groups": {str(group.key): cells for group in report.groups if (cells := _cells(group))},
        "total": _cells(report.total),
        "unattributed": report.unattributed and _cells(report.unattributed),
        "behind": [Fraction(totals.events), Fraction(totals.amount)],
    }


def _cells(group: CohortGroup) -> dict[str, list[Fraction]]:
    return {
        f"{cohort.month} +{since}": [Fraction(revenue), Fraction(customers)]
        for cohort in group.cohorts
        for since, (revenue, customers) in enumerate(zip(cohort.revenue, cohort.customers, strict=True))
        if revenue or customers
    }


def expected_answer(facts: Facts, question: dict[str, Any]) -> dict[str, Any]:
    """Return the model's answer to a question."""
    parameters = dict(question)
    today, month, since, by = (parameters.pop(name) for name in ("today", "month", "since", "by"))
    group = parameters.pop("group_by")
    parameters |= {"group_by": [] if group == "none" else [group], "measures": ["credited_revenue"]}
    model_question = read_question(parameters)
    cohorts = model.make_cohorts(facts, model_question, today)
    list_question = read_question({**parameters, "only": [] if by == ["unattributed"] else by})
    behind = model.events_behind(
        facts, list_question, (month, since), unattributed=by == ["unattributed"], only_some=bool(by)
    )
    return {
        "groups": {
            str(key): cells for key, figures in cohorts.groups.items() if (cells := _cell_figures(figures))
        },
        "total": _cell_figures(cohorts.total),
        "unattributed": None if model_question.filters_touches else _cell_figures(cohorts.unattributed),
        "behind": [
            Fraction(len(behind)), sum((Fraction(event.amount or 0) for event in behind), Fraction(0))
        ],
    }  # fmt: skip


def _cell_figures(figures: model.Figures) -> dict[str, list[Fraction]]:
    cells = {*figures.revenue, *figures.buying}
    pairs = {
        cell: [figures.revenue.get(cell, Fraction(0)), Fraction(len(figures.buying.get(cell, ())))]
        for cell in cells
    }
    return {f"{month} +{since}": pair for (month, since), pair in pairs.items() if any(pair)}
