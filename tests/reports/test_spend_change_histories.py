"""Changes of spend over random histories, compared with a plain model of the report at both snapshots and of
each cause's effect on the ledger. Rates are missing and arrive later, there are several currencies and
accounts, some exports are older than the stored rows, and coarser rows overlap finer ones.

`HEADWATER_CHANGE_HISTORIES=10000` makes the run long; `HEADWATER_FIRST_HISTORY` starts it with another
history.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import httpx
import psycopg

from headwater.reports.changes.spend import SUMS
from headwater.reports.questions.spend import FIGURES
from tests.reports.spend_books import FIRST_DAY, Book, Ledger, get
from tests.reports.spend_court import NOTHING, parse_question
from tests.reports.spend_worlds import CURRENCIES, MODELS, ZONES, World, some_rates, some_sales
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.reading_fixtures import Api
from tests.support.report_model.groups import Key
from tests.support.report_model.spend import OF_LEDGER, CostReport, Figures, make_cost_report, spent_by_key

HISTORIES = campaign_size("HEADWATER_CHANGE_HISTORIES", 2, 1000)
FIRST = int(os.environ.get("HEADWATER_FIRST_HISTORY", "0"))
LAST_DAY = FIRST_DAY + timedelta(days=6)
GROUPS = ("none", "source", "campaign", "adset", "ad", "day", "week", "month")
BY_CAUSE = ("spend_imports", "spend_replacements", "spend_deletions")


def faults_between(book: Book, first_moment: int, last_moment: int) -> Iterator[str]:
    """Yield the reported changes between two moments that disagree with the model."""
    start, end = book.moments[first_moment], book.moments[last_moment]
    since = {"since": start.snapshot, "until": end.snapshot}
    answer = get(book.api, "/reports/spend/changes", {**book.parameters, **since})
    question = parse_question(book.parameters)
    reports = [make_cost_report(moment.spending, question) for moment in (start, end)]
    listed_keys = {
        key for report in reports for key, row in report.rows.items()
        if row["credited_conversions"] or row["credited_revenue"] or row["new_customers"]
    }  # fmt: skip
    before, after = (make_cost_report(m.spending, question, listed_keys) for m in (start, end))
    if "rows" not in answer:
        yield f"refused: {answer}"
        return
    yield from _find_differences(answer, before, after)
    for name in ("left_out_money", "left_out_spend"):
        sides = (f"{name}_before", before), (name, after)
        for field, report in sides:
            if answer[field] != getattr(report, name):
                yield f"{field}: {answer[field]} is not {getattr(report, name)}"
    money = end.spending.money
    right: dict[str, dict[Key, list[Fraction]]] = {}

    def add(cause: str, ledger: Ledger, sign: int, by_money: Any) -> None:
        rows = [(*key, figures) for key, figures in ledger.items()]
        spending = replace(end.spending, ledger=rows, money=by_money)
        parts = right.setdefault(cause, {})
        for key, figures in spent_by_key(spending, question, listed_keys).items():
            sums = parts.get(key, [Fraction(0)] * len(OF_LEDGER))
            parts[key] = [a + sign * b for a, b in zip(sums, figures, strict=True)]

    for cause, old, new in (move for moves in book.moves[first_moment:last_moment] for move in moves):
        add(cause, new, 1, money)
        add(cause, old, -1, money)
    start_ledger = {row[:-1]: row[-1] for row in start.spending.ledger}
    add("rates", start_ledger, 1, money)
    add("rates", start_ledger, -1, start.spending.money)
    yield from _wrong_causes(answer, right)


def _wrong_causes(answer: dict[str, Any], right: dict[str, dict[Key, list[Fraction]]]) -> Iterator[str]:
    """Yield the figures of a cause that differ from its effect on the ledger."""
    group = next(iter(answer["rows"][0]), "before") if answer["rows"] else "before"
    rows = {row[group]: row for row in answer["rows"]}
    for cause in (*BY_CAUSE, "rates"):
        by_key = right.get(cause, {})
        sums = {key: figures for key, figures in by_key.items() if key is not None}
        totals = [sum(column, Fraction(0)) for column in zip(*by_key.values(), strict=True)]
        pairs = [("totals", answer["totals"], totals)]
        pairs += [(f"{key}", rows[key], sums.get(key)) for key in rows]
        pairs += [("unmatched", answer["unmatched"], by_key.get(None))] if rows else []
        for where, change, figures in pairs:
            cause_figures = change["causes"].get(cause, {})
            for name, figure in zip(OF_LEDGER, figures or [0] * len(OF_LEDGER), strict=False):
                if (cause_figures.get(name) or 0) != float(figure):
                    yield f"{where} {cause} {name}: {cause_figures.get(name)} is not {float(figure)}"


def _find_differences(answer: dict[str, Any], start: CostReport, end: CostReport) -> Iterator[str]:
    """Yield the figures that differ at either moment, or are not the sum of their causes."""
    pairs = [
        (name, answer[name], getattr(start, name), getattr(end, name)) for name in ("totals", "unmatched")
    ]
    group = next(iter(answer["rows"][0])) if answer["rows"] else ""
    rows = {row[group]: row for row in answer["rows"]}
    nothing = dict(NOTHING)
    if end.totals["contribution"] is None:
        nothing["contribution"] = None
    for key in {*start.rows, *end.rows, *rows}:
        sides = start.rows.get(key, nothing), end.rows.get(key, nothing)
        if key in rows:
            pairs.append((f"{key}", rows[key], *sides))
        elif sides[0] != sides[1]:
            yield f"{key} is missing"
    for name, change, *sides in pairs:
        yield from (f"{name} {fault}" for fault in _compare_sides(change, *sides))
        yield from (f"{name} {fault}" for fault in _unexplained_differences(change))


def _compare_sides(change: dict[str, Any], *sides: Figures) -> Iterator[str]:
    """Yield the figures that differ at either moment."""
    for side, figures in zip(("before", "after"), sides, strict=True):
        for figure in FIGURES:
            answer_value, right = change[side][figure], _json_figure(figure, figures)
            if answer_value != right:
                yield f"{side} {figure}: {answer_value} is not {right}"


def _unexplained_differences(change: dict[str, Any]) -> Iterator[str]:
    """Yield the differences that are not the sum of their causes, allowing for the rounding of each cause."""
    for figure in SUMS:
        parts = sum(Decimal(str(effect[figure] or 0)) for effect in change["causes"].values())
        difference = Decimal(str(change["difference"][figure] or 0))
        if abs(parts - difference) > Decimal("0.00005") * len(change["causes"]):
            yield f"{figure}: {difference} is not {parts}"


def _json_figure(name: str, figures: Figures) -> float | None:
    figure = figures[name]
    if figure is None:
        return None
    exact = name in (*OF_LEDGER, "contribution")
    return float(figure) if exact else round(float(figure), 4)


def judge(client: httpx.Client, stage: Stage, number: int) -> list[str]:
    """Carry out a history and compare some of its moments."""
    dice, api = Random(number), Api(client, stage.key)
    world = World(stage.connection, stage.space_id)
    world.begin(dice.choice(ZONES), dice.choice((None, Decimal("33.33"))))
    currencies = dice.choice((("EUR",), CURRENCIES))
    some_sales(dice, stage, world.zone, currencies)
    for kind in ("campaign", "adset", "ad"):
        stage.ad(kind, "1", "Spring")
    parameters = {
        "start_date": f"{FIRST_DAY} 00:00:00", "end_date": f"{LAST_DAY} 23:59:59",
        "group_by": dice.choice(GROUPS), "limit": 1000, "attribution_model": dice.choice(MODELS),
        "date_basis": dice.choice(("conversion", "conversion", "touch")), "compare": "none",
        "attribution_window": dice.choice((7, 30, 0)),
        **dice.choice(({}, {}, {"only": ["source:google_ads"]}, {"only": ["campaign:1"]})),
    }  # fmt: skip
    book = Book(api, world, Pipeline(stage.connection, stage.space_id), dice, parameters)
    if len(currencies) > 1 and dice.random() < 0.7:
        book.put_rates(some_rates(dice, -40))
    faults = book.record_moment()
    for _ in range(dice.randrange(3, 8)):
        book.act()
        faults += book.record_moment()
    for _ in range(4):
        first, last = sorted(dice.sample(range(len(book.moments)), 2))
        faults += [f"{first}-{last}: {fault}" for fault in faults_between(book, first, last)]
    return faults


def test_random_histories_are_explained(client: httpx.Client, connection: psycopg.Connection) -> None:
    """Both snapshots equal the model at their time, every difference is the sum of its causes, and each
    cause's effect on the ledger equals plain lists. A rate that is missing at a snapshot is reported.
    """
    for number in range(FIRST, FIRST + HISTORIES):
        faults = judge(client, make_stage(connection), number)
        assert faults == [], (number, faults[:8])
