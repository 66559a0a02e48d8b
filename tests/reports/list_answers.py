"""Normalized lists of credit of the model and of the product, page by page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from psycopg import AsyncConnection

from headwater.attribution.models import MODELS, WINDOWS
from headwater.attribution.paths import credit_scan
from headwater.events import page_walk
from headwater.events.parameters import cursors, read_list_events
from headwater.events.queries import list_events
from headwater.events.trained_selection import load_listing
from headwater.http.inputs.pagination import Position
from headwater.http.inputs.parameters import JsonInput
from headwater.spaces.spaces import fetch_space
from tests.reports.histories import SOURCES
from tests.reports.questions import PERIODS, TRAINED_MODEL_NAMES, names_no_trained_model, some_event_filters
from tests.support.report_model import selection
from tests.support.report_model.clock import Period
from tests.support.report_model.facts import Facts
from tests.support.report_model.question import read_question

MOST_PAGES = 500
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def some_question(dice: Random) -> dict[str, Any]:
    """Return a random list with the API's parameter names, and internal limits on how much of it may be read
    from the tables.
    """
    start, end = dice.choice(PERIODS)
    filters = some_event_filters(dice)
    filters.pop("only", None)  # a filter of reports only
    question: dict[str, Any] = {
        "start_date": start, "end_date": end,
        "sources": sorted(dice.sample(SOURCES, dice.choice((1, 1, 2, 4)))),
        "attribution_model": dice.choice(sorted(MODELS)),
        "attribution_window": dice.choice(WINDOWS),
        "query_mode": dice.choice(("profile", "profile", "profile", "company")),
        "per_page": dice.choice((1, 2, 3, 10, 1000)),
        "most_live_events": dice.choice((0, 1, 3, 5000)),
        "most_read_events": dice.choice((0, 3, 5000)),
        "most_candidates": dice.choice((1, 3, 5000)),
        **filters,
    }  # fmt: skip
    if question["attribution_model"] == "markov" and names_no_trained_model(question):
        question["trained_model"] = dice.choice(TRAINED_MODEL_NAMES)
    return question


async def answer(connection: AsyncConnection, space_id: int, question: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of all pages, read forward, and then back from the last page."""
    texts = {name: str(question[name]) for name in {"amount_min", "amount_max"} & {*question}}
    parameters = {**question, **texts, "fields": ["amount"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(credit_scan, "MOST_LIVE_EVENTS", parameters.pop("most_live_events"))
        most_read = parameters.pop("most_read_events")
        for bound in ("MOST_READ_FOR_SHARES", "MOST_READ_FOR_PICKS"):
            patch.setattr(credit_scan, bound, most_read)
        patch.setattr(page_walk, "MAX_CANDIDATES", parameters.pop("most_candidates"))
        async with connection.transaction(force_rollback=True):
            space = await fetch_space(connection, space_id)
            query = JsonInput(parameters)
            listing = read_list_events(query, space, cursors(query, b"", space_id), NOW)
            listing, _ = await load_listing(connection, space_id, listing)
            forward, ends = await _read(connection, space_id, listing, None)
            last = ends[-1]
            back: list[Any] = forward[len(forward) - last[1] :]
            if last[0] is not None:
                pages, _ = await _read(connection, space_id, listing, last[0])
                back = pages + back
    return {"rows": forward, "back": back}


async def _read(
    connection: AsyncConnection, space_id: int, listing: Any, position: Position | None
) -> tuple[list[Any], list[tuple[Position | None, int]]]:
    """Return the rows of the pages from a position on, with the position before each page and its number of
    rows.
    """
    backward = position is not None and position.backward
    rows: list[Any] = []
    ends: list[tuple[Position | None, int]] = []
    for _ in range(MOST_PAGES):
        page = await list_events(connection, space_id, replace(listing, position=position))
        lines = [_exact_row(line) for line in page.lines]
        rows = lines + rows if backward else rows + lines
        ends.append((page.previous, len(lines)))
        position = page.previous if backward else page.next
        if position is None:
            return rows, ends
    raise AssertionError("the pages go round in circles")


def _exact_row(line: str) -> list[Any]:
    row = json.loads(line, parse_float=Decimal, parse_int=Decimal)
    return [row["id"], row["touchpoint_id"], row["amount"]]


def expected_answer(facts: Facts, question: dict[str, Any]) -> dict[str, Any]:
    """Return the model's answer."""
    model_question = replace(read_question({**question, "measures": ["events"]}), converts_all=True)
    conversions = selection.select_conversions(
        facts.as_stated(), model_question, Period(model_question.start, model_question.end)
    )
    rows = sorted(
        (
            (conversion.event.event_time, conversion.event.id, credit.touch.occurred_at, credit.touch.id,
             None if conversion.event.amount is None else Decimal(credit.amount.numerator)
             / Decimal(credit.amount.denominator))
            for conversion in conversions
            for credit in conversion.credits[question["attribution_model"]]
            if credit.touch.source in model_question.sources
        ),
        key=lambda row: row[:4],
        reverse=True,
    )  # fmt: skip
    cells = [[Decimal(event), Decimal(touch), amount] for _, event, _, touch, amount in rows]
    return {"rows": cells, "back": cells}
