"""A report of paths as JSON, and its paths as CSV. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headwater.http.csv_table import CsvTable
from headwater.http.openapi import TEXT, TEXT_OR_NULL, object_schema
from headwater.reports.left_out_money import LEFT_OUT_MONEY, left_out_answer
from headwater.reports.path_models import STEP_SEPARATOR, PathFigures, PathReport, PathsQuery
from headwater.reports.report_answer import DATES, in_digits, number, written_moment, written_span

_FIGURES = ("events", "revenue", "days_to_conversion")
_COLUMNS = ("path", "more", *_FIGURES)


def paths_answer(query: PathsQuery, report: PathReport) -> dict[str, Any]:
    """Return a report of paths as JSON has it."""
    return {
        "columns": list(_COLUMNS),
        "rows": [[list(path.steps), path.more, *_numbers(figures)] for path, figures in report.paths],
        "left_out": report.left_out,
        "totals": dict(zip(_FIGURES, _numbers(report.total), strict=True)),
        "touches": _table(["touches"], (([name], of) for name, of in report.touches.items())),
        "days": _table(["days"], (([name], of) for name, of in report.days.items())),
        "first_and_last": _table(["first", "last"], report.first_and_last.items()),
        "event_names": dict(report.event_counts),
        "period": written_span(report.span),
        "first_event": written_moment(report.first_event),
        "last_event": written_moment(report.last_event),
        "timezone": report.timezone,
        "currency": report.currency,
        "left_out_money": left_out_answer(report.left_out_money),
        "group_by": str(query.group),
        "attribution_window": query.window_days,
        "query_mode": "company" if query.by_company else "profile",
    }


def paths_csv(report: PathReport) -> bytes:
    """Return the listed paths as CSV."""
    table = CsvTable(_COLUMNS)
    for path, figures in report.paths:
        digits = [in_digits(figure) for figure in _numbers(figures)]
        table.add([STEP_SEPARATOR.join(path.steps), path.more, *digits])
    return table.content()


def _table(names: list[str], rows: Iterable[tuple[Sequence[str], PathFigures]]) -> dict[str, list[Any]]:
    return {"columns": [*names, *_FIGURES], "rows": [[*keys, *_numbers(figures)] for keys, figures in rows]}


def _numbers(figures: PathFigures) -> list[float | None]:
    return [figures.events, number(figures.revenue), number(figures.days_to_conversion)]


_CELL = {"type": ["string", "number", "null"]}
_TABLE = object_schema(
    {
        "columns": {"type": "array", "items": TEXT},
        "rows": {"type": "array", "items": {"type": "array", "items": _CELL}},
    }
)
_PATH_CELL = {"type": ["array", "number", "null"], "items": TEXT}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
PATHS = object_schema(
    {
        "columns": {"type": "array", "items": TEXT},
        "rows": {"type": "array", "items": {"type": "array", "items": _PATH_CELL}},
        "left_out": {"type": "integer"},
        "totals": object_schema(
            {
                "events": {"type": "integer"},
                "revenue": {"type": "number"},
                "days_to_conversion": _NUMBER_OR_NULL,
            }
        ),
        "touches": _TABLE,
        "days": _TABLE,
        "first_and_last": _TABLE,
        "event_names": {"type": "object", "additionalProperties": {"type": "integer"}},
        "period": DATES,
        "first_event": TEXT_OR_NULL,
        "last_event": TEXT_OR_NULL,
        "timezone": TEXT,
        "currency": TEXT,
        "left_out_money": LEFT_OUT_MONEY,
        "group_by": TEXT,
        "attribution_window": {"type": "integer"},
        "query_mode": TEXT,
    }
)
