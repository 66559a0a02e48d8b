"""query_report and query_paths as the model would answer them, in the tools' format."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from tests.support.report_model.counting import Figures
from tests.support.report_model.facts import Facts
from tests.support.report_model.paths import Tally, make_paths
from tests.support.report_model.question import CREDITED, TIME_GROUPS, read_question
from tests.support.report_model.report import Report, Row, make_report

NAMED = {"campaign", "adset", "ad", "event", "company", "week"}
"""Groups with a second column for the display name of a key."""


def answer(facts: Facts, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, with the defaults that the tool describes."""
    parameters = {**arguments, **_dates(arguments)}
    parameters.setdefault("measures", ["credited_revenue", "credited_conversions"])
    if "attribution_models" not in parameters:
        parameters.setdefault("attribution_model", "last_non_direct_touch")
    if "group_by" not in parameters and {*CREDITED} & {*parameters["measures"]}:
        parameters["group_by"] = ["source"]
    times = [group for group in parameters.get("group_by", []) if group in TIME_GROUPS]
    if times and "order_by" not in parameters:
        parameters["order_by"] = times[0]
    return _report_table(parameters, make_report(facts, read_question(parameters)), facts)


def paths_answer(facts: Facts, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the members of the answer about paths that questions ask for."""
    parameters = {"limit": 20, **arguments, **_dates(arguments), "measures": ["events"]}
    paths = make_paths(facts, read_question(parameters), parameters.pop("group_by", "source"))
    figures = ["events", "conversions", "revenue", "days_to_conversion"]
    return {
        "columns": ["path", "more", *figures],
        "rows": [[[*way.steps], way.further_steps, *_tally_values(tally)] for way, tally in paths.ways],
        "left_out": paths.left_out,
        "totals": dict(zip(figures, _tally_values(paths.total), strict=True)),
        "touches": _table(["touches"], {(name,): tally for name, tally in paths.touches.items()}),
        "days": _table(["days"], {(name,): tally for name, tally in paths.days.items()}),
        "first_and_last": _table(["first", "last"], paths.first_and_last),
    }


def _table(names: list[str], rows: Mapping[tuple[str, ...], Tally | None]) -> dict[str, Any]:
    return {
        "columns": [*names, "events", "conversions", "revenue", "days_to_conversion"],
        "rows": [[*keys, *_tally_values(tally)] for keys, tally in rows.items()],
    }


def _tally_values(tally: Tally | None) -> list[float | None]:
    if tally is None:
        return [0, 0, 0, None]
    days = None if tally.days is None else number(tally.days)
    return [tally.events, tally.conversions, number(tally.revenue), days]


BY_TOOL: dict[str, Callable[[Facts, dict[str, Any]], dict[str, Any]]] = {
    "query_report": answer, "query_paths": paths_answer,
}  # fmt: skip


def _dates(arguments: dict[str, Any]) -> dict[str, str]:
    """Return the dates of a year, quarter, month or day, or from one day to another."""
    if "period" not in arguments:
        return {}
    period = arguments["period"]
    first, _, last = period.partition(" to ")
    if match := re.fullmatch("([0-9]{4})-Q([1-4])", period):
        first, last = f"{match[1]}-{3 * int(match[2]) - 2:02}", f"{match[1]}-{3 * int(match[2]):02}"
    first, last = _day(first, "01", is_first=True), _day(last or first, "12", is_first=False)
    return {"start_date": f"{first} 00:00:00", "end_date": f"{last} 23:59:59"}


def _day(text: str, month: str, *, is_first: bool) -> str:
    if len(text) == 4:
        text = f"{text}-{month}"
    if len(text) == 7:
        year, number = map(int, text.split("-"))
        text += "-01" if is_first else f"-{calendar.monthrange(year, number)[1]}"
    return text


def _report_table(parameters: dict[str, Any], report: Report, facts: Facts) -> dict[str, Any]:
    groups, compared = parameters.get("group_by", []), report.compared_period is not None
    unattributed = report.unattributed
    return {
        "columns": [
            *(name for group in groups for name in _key_columns(group)),
            *(name for column in report.columns for name in _columns(column, compared)),
        ],
        "rows": [_row(groups, row, compared) for row in report.rows],
        "left_out": report.left_out,
        "totals": _named_figures(report.total, compared),
        "unattributed": unattributed
        and {
            **_named_figures(unattributed.row, compared),
            "reasons": {
                reason: _named_figures(row, compared) for reason, row in unattributed.reasons.items()
            },
        },
        "overall": report.overall and _named_figures(report.overall, compared),
        "period": _period(report.period.start, report.period.end),
        "compared_period": report.compared_period
        and _period(report.compared_period.start, report.compared_period.end),
        "first_event": _moment(report.first_event, facts),
        "last_event": _moment(report.last_event, facts),
        "event_names": report.event_names,
    }


def _key_columns(group: str) -> list[str]:
    return [group, f"{group}_name"] if group in NAMED else [group]


def _columns(column: str, has_comparison: bool) -> list[str]:
    return [column, f"{column}_before", f"{column}_change"] if has_comparison else [column]


def _row(groups: list[str], row: Row, has_comparison: bool) -> list[Any]:
    cells: list[Any] = []
    for group, key, label in zip(groups, row.keys, row.labels, strict=True):
        cells += [key, label] if group in NAMED else [key]
    return cells + list(_named_figures(row, has_comparison).values())


def _named_figures(row: Row, has_comparison: bool) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for column, figure in row.figures.items():
        figures[column] = number(figure)
        if has_comparison:
            figures[f"{column}_before"] = _number(row.comparison, column)
            figures[f"{column}_change"] = _number(row.change, column)
    return figures


def _number(figures: Figures | None, column: str) -> float | None:
    return None if figures is None else number(figures[column])


def number(figure: Fraction | None) -> float | None:
    """Return a figure as in JSON, with up to four decimals."""
    if figure is None:
        return None
    return int(figure) if figure.denominator == 1 else round(float(figure), 4)


def _period(start: datetime, end: datetime) -> dict[str, str]:
    return {"start_date": f"{start}", "end_date": f"{end}"}


def _moment(moment: datetime | None, facts: Facts) -> str | None:
    return moment and f"{moment.astimezone(facts.zone):%Y-%m-%d %H:%M:%S}"
