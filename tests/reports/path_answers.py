"""Normalized path reports of the model and of the product."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from random import Random
from typing import Any

from psycopg import AsyncConnection

from headwater.attribution.models import WINDOWS
from headwater.http.inputs.parameters import JsonInput
from headwater.reports.questions.paths import PathFigures, query_paths, read_paths_query
from headwater.spaces.spaces import fetch_space
from tests.reports import answers
from tests.reports.questions import PERIODS, some_event_filters
from tests.support.report_model import paths as model
from tests.support.report_model.facts import Facts
from tests.support.report_model.question import read_question


def some_question(dice: Random) -> dict[str, Any]:
    """Return a random question with the API's parameter names."""
    start, end = dice.choice(PERIODS)
    return {
        "group_by": dice.choice(("source", "channel")), "start_date": start, "end_date": end,
        "attribution_window": dice.choice(WINDOWS),
        "query_mode": dice.choice(("profile", "company")), "limit": dice.choice((1, 3, 200)),
        **some_event_filters(dice),
    }  # fmt: skip


async def answer(connection: AsyncConnection, space_id: int, question: dict[str, Any]) -> dict[str, Any]:
    """Return the product's answer to a question."""
    async with connection.transaction(force_rollback=True):
        space = await fetch_space(connection, space_id)
    texts = {name: str(question[name]) for name in {"amount_min", "amount_max"} & {*question}}
    query = read_paths_query(JsonInput({**question, **texts}), space, datetime(2026, 5, 1, 12, tzinfo=UTC))
    async with connection.transaction(force_rollback=True):
        result = await query_paths(connection, space_id, query)
    report = result.report
    return {
        "paths": [
            [*path.steps, path.further_steps, _exact_figures(figures)] for path, figures in result.paths
        ],
        "left_out": report.left_out,
        "touches": {name: _exact_figures(figures) for name, figures in result.touches.items()},
        "days": {name: _exact_figures(figures) for name, figures in result.days.items()},
        "first_and_last": {
            " ".join(pair): _exact_figures(figures) for pair, figures in result.first_and_last.items()
        },
        "total": _exact_figures(result.total),
        "event_names": dict(sorted(report.event_counts.items())),
        "period": [report.span.start, report.span.end],
        "first_event": report.first_event, "last_event": report.last_event,
    }  # fmt: skip


def _exact_figures(figures: PathFigures) -> list[Fraction | None]:
    days = figures.days_to_conversion
    return [
        Fraction(figures.events), Fraction(figures.conversions), Fraction(figures.revenue),
        None if days is None else Fraction(days),
    ]  # fmt: skip


def expected_answer(facts: Facts, question: dict[str, Any]) -> dict[str, Any]:
    """Return the model's answer to a question."""
    by, parameters = question["group_by"], {**question, "group_by": [], "measures": ["events"]}
    paths = model.make_paths(facts, read_question(parameters), by)
    # The other members are the same in any report of these events.
    report = answers.expected_answer(facts, parameters)
    names: dict[str, int] = {}
    for conversion in model.select_touched(facts, read_question(parameters)):
        name = conversion.event.event_name
        names[name] = names.get(name, 0) + 1
    return {
        "paths": [[*way.steps, way.further_steps, _tally_figures(tally)] for way, tally in paths.ways],
        "left_out": paths.left_out,
        "touches": {name: _tally_figures(tally) for name, tally in paths.touches.items()},
        "days": {name: _tally_figures(tally) for name, tally in paths.days.items()},
        "first_and_last": {
            " ".join(pair): _tally_figures(tally) for pair, tally in paths.first_and_last.items()
        },
        "total": _tally_figures(paths.total),
        "event_names": dict(sorted(names.items())),
        **{name: report[name] for name in ("period", "first_event", "last_event")},
    }


def _tally_figures(tally: model.Tally | None) -> list[Fraction | None]:
    if tally is None:
        return [Fraction(0), Fraction(0), Fraction(0), None]
    return [Fraction(tally.events), Fraction(tally.conversions), tally.revenue, tally.days]
