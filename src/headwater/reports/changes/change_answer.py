"""The changes of a report as JSON and as CSV. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from headwater.attribution.fits.choice import CITATION_OR_NULL, ChosenFit, cite
from headwater.attribution.history.revisions import ChangeCause
from headwater.http.csv_table import CsvTable
from headwater.http.openapi import TEXT, TEXT_OR_NULL, object_schema
from headwater.reports.change_models import ChangedEvent, ChangeQuery, ChangeReport, FigureChange
from headwater.reports.engine.measures import Figures
from headwater.reports.engine.readings import ReportReading
from headwater.reports.engine.report import GroupKey
from headwater.reports.query import Group
from headwater.reports.questions.report import NAMED
from headwater.reports.questions.shared import (
    DATES,
    LEFT_OUT_MONEY,
    in_digits,
    left_out_answer,
    number,
    written_moment,
    written_span,
)


def changes_answer(query: ChangeQuery, report: ChangeReport) -> dict[str, Any]:
    """Return what has changed as JSON has it."""
    groups = query.report.group_by
    return {
        "since": reading_answer(report.start, report.fits[0], report.timezone),
        "until": reading_answer(report.end, report.fits[1], report.timezone),
        "columns": [str(column) for column in report.columns],
        "totals": _change(report.total),
        "overall": report.overall and _change(report.overall),
        "unattributed": report.unattributed and _change(report.unattributed),
        "rows": [{**_keys(groups, row.keys), **_change(row.change)} for row in report.rows],
        "left_out": report.left_out,
        "causes": {
            str(share.cause): {
                "events": share.events,
                "largest": [_event(groups, event) for event in share.largest],
            }
            for share in report.causes
        },
        "unexplained": _figures(report.unexplained),
        "period": written_span(report.span),
        "timezone": report.timezone,
        "currency": report.currency,
        "left_out_money": left_out_answer(report.left_out_money.end),
        "left_out_money_before": left_out_answer(report.left_out_money.start),
    }


def changes_csv(query: ChangeQuery, report: ChangeReport) -> bytes:
    """Return the rows as CSV, each with a line for both readings, for the difference and for every
    cause; without groups, those of everything.
    """
    groups = query.report.group_by
    names = _keys(groups, (GroupKey(None, None),) * len(groups))
    table = CsvTable([*names, "part", *map(str, report.columns)])
    changed = [(row.keys, row.change) for row in report.rows] if groups else [((), report.total)]
    for keys, change in changed:
        written = _keys(groups, keys).values()
        for part, figures in _parts(change):
            table.add([*written, part, *(in_digits(f) for f in _figures(figures).values())])
    return table.content()


def _parts(change: FigureChange) -> Iterator[tuple[str, Figures]]:
    yield from (("before", change.start), ("after", change.end), ("difference", change.difference))
    yield from change.causes.items()


def reading_answer(reading: ReportReading, fit: ChosenFit | None, timezone: str) -> dict[str, Any]:
    """Return a reading as answers have it."""
    taken_at = reading.moment.astimezone(ZoneInfo(timezone)).replace(tzinfo=None)
    return {
        "reading": str(reading),
        "taken_at": written_moment(taken_at),
        "fit": fit and cite(fit),
        "half_life_days": reading.half_life_days or None,
    }


def _change(change: FigureChange) -> dict[str, Any]:
    return {
        "before": _figures(change.start),
        "after": _figures(change.end),
        "difference": _figures(change.difference),
        "causes": {str(cause): _figures(parts) for cause, parts in change.causes.items()},
    }


def _figures(figures: Figures) -> dict[str, float | None]:
    return {str(column): number(figure) for column, figure in figures.items()}


def _keys(groups: tuple[Group, ...], keys: tuple[GroupKey, ...]) -> dict[str, str | None]:
    named: dict[str, str | None] = {}
    for group, key in zip(groups, keys, strict=True):
        named[group] = key.label if group is Group.MONTH else key.value
        if group in NAMED:
            named[f"{group}_name"] = key.label
    return named


def event_answer(event: ChangedEvent) -> dict[str, Any]:
    """Return an event that has moved a figure as answers have it."""
    return {
        "event_id": event.event_id,
        "event_name": event.name,
        "event_time": written_moment(event.at.replace(microsecond=0)),
        "contact_id": event.contact_id,
        "is_stored": event.is_stored,
        "events": event.events,
        "revenue": number(event.revenue),
    }


def _event(groups: tuple[Group, ...], event: ChangedEvent) -> dict[str, Any]:
    rows = [{**_keys(groups, keys), **_figures(figures)} for keys, figures in event.rows]
    return {**event_answer(event), "rows": rows}


_FIGURES: Mapping[str, Any] = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}
_CHANGE = object_schema(
    {
        "before": _FIGURES,
        "after": _FIGURES,
        "difference": _FIGURES,
        "causes": {
            "type": "object",
            "additionalProperties": _FIGURES,
            "description": "The parts of the difference, which add up to it: "
            f"{', '.join(ChangeCause)}. Those that are 0 are left out.",
        },
    }
)
READING = object_schema(
    {
        "reading": TEXT,
        "taken_at": TEXT_OR_NULL,
        "fit": CITATION_OR_NULL,
        "half_life_days": {"type": ["integer", "null"]},
    }
)
CHANGES = object_schema(
    {
        "since": READING,
        "until": READING,
        "columns": {"type": "array", "items": TEXT},
        "totals": _CHANGE,
        "overall": {**_CHANGE, "type": ["object", "null"]},
        "unattributed": {**_CHANGE, "type": ["object", "null"]},
        "rows": {"type": "array", "items": {"type": "object"}},
        "left_out": {"type": "integer", "description": "Changed groups beyond the limit."},
        "causes": {
            "type": "object",
            "description": "By cause, how many events it has changed, and those it changed most.",
        },
        "unexplained": {**_FIGURES, "description": "What no cause explains: 0."},
        "period": DATES,
        "timezone": TEXT,
        "currency": TEXT,
        "left_out_money": LEFT_OUT_MONEY,
        "left_out_money_before": LEFT_OUT_MONEY,
    }
)
