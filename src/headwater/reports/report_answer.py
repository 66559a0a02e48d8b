"""A report as JSON and as CSV: the same columns, rows and figures, to the last digit. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from headwater.attribution.fits.choice import CITATION_OR_NULL, cite
from headwater.http.csv_table import CsvTable
from headwater.http.openapi import TEXT, TEXT_OR_NULL, object_schema
from headwater.reports.left_out_money import LEFT_OUT_MONEY, left_out_answer
from headwater.reports.models import (
    Comparison,
    DateTimeSpan,
    Figure,
    FigureColumn,
    Group,
    GroupKey,
    Report,
    ReportQuery,
    ReportRow,
    Unattributed,
)
from headwater.reports.ripeness import Ripeness

NAMED = frozenset(
    {Group.CAMPAIGN, Group.ADSET, Group.AD, Group.EVENT, Group.COMPANY, Group.CONTACT, Group.WEEK}
)
"""Groups whose key is not the name that people use: they get a second column."""


def report_answer(query: ReportQuery, report: Report) -> dict[str, Any]:
    """Return a report as JSON has it."""
    compared = report.compared_span
    return {
        "columns": columns(query, report),
        "rows": [[*_keys(query, row), *_figures(report, query, row)] for row in report.rows],
        "left_out": report.left_out,
        "totals": _named(query, report, report.total),
        "unattributed": _unattributed(query, report.unattributed),
        "overall": report.overall and _named(query, report, report.overall),
        "event_names": dict(report.event_counts),
        "period": written_span(report.span),
        "compared_period": compared and written_span(compared),
        "not_compared": uncompared(report.is_comparable or compared is None),
        "conversion_names": [*report.conversion_names],
        "first_event": written_moment(report.first_event),
        "last_event": written_moment(report.last_event),
        "timezone": report.timezone,
        "currency": report.currency,
        "attribution_model": query.models[0] if len(query.models) == 1 else list(query.models),
        "attribution_window": query.window_days,
        "query_mode": "company" if query.by_company else "profile",
        "date_basis": str(query.date_basis),
        "left_out_money": left_out_answer(report.left_out_money),
        "compared_left_out_money": None
        if report.compared_left_out_money is None
        else left_out_answer(report.compared_left_out_money),
        "reading": report.reading,
        "ripeness": report.ripeness and _ripeness(report.ripeness),
        "fit": report.fit and cite(report.fit),
    }


def _ripeness(ripeness: Ripeness) -> dict[str, Any]:
    together = ripeness.share_in
    return {
        "as_of": f"{ripeness.as_of} 00:00:00",
        "horizon_days": ripeness.horizon_days,
        "history_days": ripeness.history_days,
        "reason": ripeness.reason and str(ripeness.reason),
        "share_in": None if together is None else round(together, 4),
        "days": [
            {"day": f"{day.day}", **{name: round(getattr(day, name), 4) for name in _OF_DAYS}}
            for day in ripeness.days
        ],
    }


def ripeness_csv(ripeness: Ripeness) -> bytes:
    """Return the days that are not ripe as CSV."""
    table = CsvTable(["day", *_OF_DAYS])
    for day in ripeness.days:
        figures = (round(getattr(day, name), 4) for name in _OF_DAYS)
        table.add([f"{day.day}", *map(in_digits, figures)])
    return table.content()


BEFORE_FIRST_EVENT = "before_first_event"
NOT_COMPARED = TEXT_OR_NULL
"""Why compared figures are null."""
_OF_DAYS = ("value", "share_in", "expected", "low", "high")


def report_csv(query: ReportQuery, report: Report) -> bytes:
    """Return a report's columns and rows as CSV."""
    table = CsvTable(columns(query, report))
    for row in report.rows or ((report.total,) if not query.group_by else ()):
        keys = _keys(query, row)
        table.add([*keys, *(in_digits(figure) for figure in _figures(report, query, row))])
    return table.content()


def columns(query: ReportQuery, report: Report) -> list[str]:
    """Return the names of a report's columns."""
    return [*_key_columns(query), *_figure_columns(query, report)]


def _key_columns(query: ReportQuery) -> Iterator[str]:
    for group in query.group_by:
        yield group
        if group in NAMED:
            yield f"{group}_name"


def _figure_columns(query: ReportQuery, report: Report) -> Iterator[str]:
    for column in report.columns:
        yield from _column_names(query, column)


def _column_names(query: ReportQuery, column: FigureColumn) -> Iterator[str]:
    yield str(column)
    if query.compare is not Comparison.NONE:
        yield f"{column}_before"
        yield f"{column}_change"


def _keys(query: ReportQuery, row: ReportRow) -> Iterator[str | None]:
    for group, key in zip(query.group_by, row.keys, strict=False):
        yield _key_text(group, key)
        if group in NAMED:
            yield key.label


def _key_text(group: Group, key: GroupKey) -> str | None:
    return key.label if group is Group.MONTH else key.value


def _figures(report: Report, query: ReportQuery, row: ReportRow) -> Iterator[float | None]:
    for column in report.columns:
        yield from _figures_of(query, row, column)


def _figures_of(query: ReportQuery, row: ReportRow, column: FigureColumn) -> Iterator[float | None]:
    yield number(row.figures[column])
    if query.compare is not Comparison.NONE:
        change = row.changes.get(column) if row.changes is not None else None
        yield None if row.compared is None else number(row.compared[column])
        yield None if change is None else number(change.ratio)


def _named(query: ReportQuery, report: Report, row: ReportRow) -> dict[str, float | None]:
    names = _figure_columns(query, report)
    return dict(zip(names, _figures(report, query, row), strict=True))


def _unattributed(query: ReportQuery, part: Unattributed | None) -> dict[str, Any] | None:
    return part and {
        **_by_measure(query, part.row),
        "reasons": {str(reason): _by_measure(query, row) for reason, row in part.reasons.items()},
    }


def _by_measure(query: ReportQuery, row: ReportRow) -> dict[str, float | None]:
    return {
        name: figure
        for column in row.figures
        for name, figure in zip(_column_names(query, column), _figures_of(query, row, column), strict=True)
    }


def uncompared(is_comparable: bool) -> str | None:
    """Return why figures are not compared, if they should be."""
    return None if is_comparable else BEFORE_FIRST_EVENT


def number(figure: Figure) -> float | None:
    """Return a figure as JSON has it; parts of events to four decimals."""
    if isinstance(figure, Decimal | Fraction):
        return round(float(figure), 4)
    return figure


def in_digits(figure: float | None) -> str:
    """Return a figure in digits, never with an exponent."""
    return "" if figure is None else f"{Decimal(repr(figure)).normalize():f}"


def written_span(span: DateTimeSpan) -> dict[str, str]:
    """Return the first and the last second of a range, in words."""
    return {"start_date": f"{span.start}", "end_date": f"{span.end}"}


def written_moment(moment: datetime | None) -> str | None:
    """Return a local time in words."""
    return moment and moment.isoformat(" ", "seconds")


DATES = object_schema({"start_date": TEXT, "end_date": TEXT})
_BY_MEASURE: Mapping[str, Any] = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}
REPORT = object_schema(
    {
        "columns": {"type": "array", "items": TEXT},
        "rows": {
            "type": "array",
            "items": {"type": "array", "items": {"type": ["string", "number", "null"]}},
        },
        "left_out": {"type": "integer", "description": "Groups beyond the limit."},
        "totals": {**_BY_MEASURE, "description": "Over all groups, each event once."},
        "unattributed": {"type": ["object", "null"], "description": "Credited to nobody, and by reason."},
        "overall": {**_BY_MEASURE, "type": ["object", "null"], "description": "Of every event."},
        "event_names": {"type": "object", "additionalProperties": {"type": "integer"}},
        "conversion_names": {"type": "array", "items": TEXT},
        "not_compared": NOT_COMPARED,
        "period": DATES,
        "compared_period": {**DATES, "type": ["object", "null"]},
        "first_event": TEXT_OR_NULL,
        "last_event": TEXT_OR_NULL,
        "timezone": TEXT,
        "currency": TEXT,
        "attribution_model": {"type": ["string", "array"]},
        "attribution_window": {"type": "integer"},
        "query_mode": TEXT,
        "date_basis": TEXT,
        "left_out_money": LEFT_OUT_MONEY,
        "compared_left_out_money": {**LEFT_OUT_MONEY, "type": ["array", "null"]},
        "reading": TEXT,
        "ripeness": {"type": ["object", "null"]},
        "fit": CITATION_OR_NULL,
    }
)
