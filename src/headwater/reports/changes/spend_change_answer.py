"""The changes of a report of spend as JSON and as CSV, and its parameters. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from headwater.attribution.history.revisions import ChangeCause
from headwater.http.csv_table import CsvTable
from headwater.http.inputs.parameters import Input
from headwater.http.openapi import NUMBER_OR_NULL, TEXT, WHOLE, Schema, object_schema
from headwater.reports.change_models import ChangeQuery
from headwater.reports.changes.change_answer import READING, event_answer, reading_answer
from headwater.reports.changes.change_parameters import SINCE, UNTIL
from headwater.reports.changes.spend_change_models import RATIOS, CostChange, CostChangeReport, SpendCause
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.shared import (
    COMPARE,
    DATES,
    LEFT_OUT_MONEY,
    LEFT_OUT_SPEND,
    in_digits,
    left_out_answer,
    left_out_spend_answer,
    written_span,
)
from headwater.reports.questions.spend import FIGURES, read_spend_query, spend_number
from headwater.reports.questions.spend import PARAMETERS as OF_SPEND
from headwater.spaces.models import Space
from headwater.spend.changes import ChangedSpend
from headwater.spend.models import FIGURES as OF_LEDGER
from headwater.spend.models import LEVELS

SUMS = tuple(name for name in FIGURES if name not in RATIOS)
"""The figures whose differences add up."""
PARAMETERS = (SINCE, UNTIL, *(each for each in OF_SPEND if each.name != COMPARE.name))
_MILLIONTHS = (1e6, 1, 1, 1e6, 1e6)


def read_spend_change_query(query: Input, space: Space, now: datetime) -> ChangeQuery:
    """Read what parameters ask for. Raises Invalid with every rule they break."""
    start, end = SINCE.read(query), UNTIL.read(query)
    report = read_spend_query(query, space, now)
    assert start is not None, "a required parameter that is missing is refused"
    return ChangeQuery(report, start, end)


def spend_changes_answer(report: CostChangeReport) -> dict[str, Any]:
    """Return what has changed as JSON has it."""
    return {
        "since": reading_answer(report.start, report.fits[0], report.timezone),
        "until": reading_answer(report.end, report.fits[1], report.timezone),
        "columns": list(FIGURES),
        "totals": _change(report.total),
        "unmatched": _change(report.without_place),
        "rows": [
            {f"{report.group}": row.key, f"{report.group}_name": row.label, **_change(row.change)}
            for row in report.rows
        ],
        "left_out": report.left_out,
        "causes": {str(each.cause): _cause(each) for each in report.causes},
        "unexplained": _figures(report.total.unexplained, SUMS),
        "period": written_span(report.span),
        "timezone": report.timezone,
        "currency": report.currency,
        "left_out_money": left_out_answer(report.left_out_money.end),
        "left_out_money_before": left_out_answer(report.left_out_money.start),
        "left_out_spend": left_out_spend_answer(report.left_out_spend[1]),
        "left_out_spend_before": left_out_spend_answer(report.left_out_spend[0]),
        "cost_rate": None if report.cost_rate is None else float(report.cost_rate),
    }


def spend_changes_csv(report: CostChangeReport) -> bytes:
    """Return the rows as CSV, each with a line for both readings, for the difference and for every
    cause, which ratios have none of; then those of what is in no row, and of everything.
    """
    group = [f"{report.group}", f"{report.group}_name"] if report.group else []
    table = CsvTable([*group, "part", *FIGURES])
    changed = [([row.key, row.label], row.change) for row in report.rows]
    if report.group:
        changed.append((["", "unmatched"], report.without_place))
    for keys, change in [*changed, (["", "total"], report.total)]:
        written = keys if group else []
        for part, figures in _parts(change):
            cells = (in_digits(figures.get(name)) for name in FIGURES)
            table.add([*written, part, *cells])
    return table.content()


def _parts(change: CostChange) -> Iterator[tuple[str, dict[str, float | None]]]:
    answer = _change(change)
    yield from ((name, answer[name]) for name in ("before", "after", "difference"))
    yield from answer["causes"].items()


def _change(change: CostChange) -> dict[str, Any]:
    return {
        "before": _figures(change.start),
        "after": _figures(change.end),
        "difference": {name: spend_number(name, change.moved(name)) for name in FIGURES},
        "causes": {str(cause): _figures(parts, SUMS) for cause, parts in change.causes.items()},
    }


def _figures(figures: CostFigures, names: tuple[str, ...] = FIGURES) -> dict[str, float | None]:
    return {name: spend_number(name, getattr(figures, name)) for name in names}


def _cause(cause: SpendCause) -> dict[str, Any]:
    return {
        "events": cause.events,
        "largest_events": [event_answer(each) for each in cause.largest_events],
        "rows": cause.rows,
        "largest_rows": [_row(each) for each in cause.largest_rows],
    }


def _row(changed: ChangedSpend) -> dict[str, Any]:
    row = changed.row
    path = (*row.path, *("",) * (len(LEVELS) - len(row.path)))
    differences = zip(OF_LEDGER, row.figures, _MILLIONTHS, strict=True)
    return {
        "date": f"{row.date}",
        "platform": row.platform,
        **{level: each or None for level, each in zip(LEVELS, path, strict=True)},
        "country": row.country or None,
        "currency": row.currency,
        **{name: figure / unit for name, figure, unit in differences},
        "is_stored": changed.is_stored,
    }


_BY_FIGURE: Schema = {"type": "object", "additionalProperties": NUMBER_OR_NULL}
_CHANGE: Schema = object_schema(
    {
        "before": _BY_FIGURE,
        "after": _BY_FIGURE,
        "difference": _BY_FIGURE,
        "causes": {
            "type": "object",
            "additionalProperties": _BY_FIGURE,
            "description": "The parts of the differences of sums, which add up to them: "
            f"{', '.join(ChangeCause)}. A ratio is explained by the sums that it is of.",
        },
    }
)
SPEND_CHANGES: Schema = object_schema(
    {
        "since": READING,
        "until": READING,
        "columns": {"type": "array", "items": TEXT},
        "totals": _CHANGE,
        "unmatched": _CHANGE,
        "rows": {"type": "array", "items": {"type": "object"}},
        "left_out": {**WHOLE, "description": "Changed groups beyond the limit."},
        "causes": {
            "type": "object",
            "description": "By cause, how many events and rows of the ledger it has changed, and "
            "those it changed most.",
        },
        "unexplained": {**_BY_FIGURE, "description": "What no cause explains: 0."},
        "period": DATES,
        "timezone": TEXT,
        "currency": TEXT,
        "cost_rate": NUMBER_OR_NULL,
        "left_out_money": LEFT_OUT_MONEY,
        "left_out_money_before": LEFT_OUT_MONEY,
        "left_out_spend": LEFT_OUT_SPEND,
        "left_out_spend_before": LEFT_OUT_SPEND,
    }
)
