"""Normalized answers of the model and of the product, and the differences between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from psycopg import AsyncConnection

from headwater.http.inputs.parameters import JsonInput
from headwater.reports.engine.measures import Figures
from headwater.reports.engine.report import GroupKey, ReportResult, ReportRow, query_report
from headwater.reports.query import Group, ReportQuery
from headwater.reports.questions.report import read_report_query
from headwater.spaces.spaces import fetch_space
from tests.support.report_model import report as model
from tests.support.report_model.facts import Facts
from tests.support.report_model.groups import converting_names
from tests.support.report_model.question import read_question

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def answer(connection: AsyncConnection, space_id: int, question: dict[str, Any]) -> dict[str, Any]:
    """Return the product's answer to a question in normalized form."""
    async with connection.transaction(force_rollback=True):
        space = await fetch_space(connection, space_id)
    arguments = {"order_by": question["measures"][0], **question}
    arguments["group_by"] = question["group_by"] or ["none"]
    for name in {"amount_min", "amount_max"} & set(question):
        arguments[name] = str(question[name])
    query = read_report_query(JsonInput(arguments), space, NOW)
    async with connection.transaction(force_rollback=True):
        return _exact_report(query, await query_report(connection, space_id, query))


def _exact_report(query: ReportQuery, report: ReportResult) -> dict[str, Any]:
    rows = [_exact_row(row) for row in report.rows]
    for row, exact_row in zip(report.rows, rows, strict=True):
        pairs = list(zip(query.group_by, row.keys, strict=True))
        exact_row["keys"] = [_key_name(group, key) for group, key in pairs]
        exact_row["labels"] = [key.label for _, key in pairs]
    unattributed = report.unattributed
    return {
        "rows": rows, "left_out": report.left_out, "total": _exact_row(report.total),
        "unattributed": unattributed and {
            **_exact_row(unattributed.row),
            "reasons": {str(reason): _exact_row(row) for reason, row in unattributed.reasons.items()},
        },
        "overall": report.overall and _exact_row(report.overall),
        "period": [report.span.start, report.span.end],
        "compared_period": report.compared_span
        and [report.compared_span.start, report.compared_span.end],
        "first_event": report.first_event, "last_event": report.last_event,
        "event_names": dict(sorted(report.event_counts.items())),
        "conversion_names": list(report.conversion_names),
        "without_visit": report.visits and report.visits.unvisited_share,
    }  # fmt: skip


def _key_name(group: Group, key: GroupKey) -> str | None:
    return key.label if group is Group.MONTH else key.value


def _exact_row(row: ReportRow) -> dict[str, Any]:
    def exact(figures: Figures | None) -> dict[str, Fraction | None] | None:
        if figures is None:
            return None
        return {str(name): None if v is None else Fraction(v) for name, v in figures.items()}

    change: dict[str, Fraction | None] | None = None
    if row.compared is not None and row.changes is not None:
        change = dict.fromkeys(map(str, row.figures))
        for name, measure_change in row.changes.items():
            change[str(name)] = None if measure_change.ratio is None else Fraction(measure_change.ratio)
    return {"figures": exact(row.figures), "before": exact(row.compared), "change": change}


# ------------------------------------------------------------------------------ the model's answers


def expected_answer(facts: Facts, question: dict[str, Any]) -> dict[str, Any]:
    """Return the model's answer to a question in normalized form."""
    model_question = read_question(question)
    report = model.make_report(facts, replace(model_question, now=NOW))
    compared_period, unattributed = report.compared_period, report.unattributed
    rows = [{**_model_row(row), "keys": list(row.keys), "labels": list(row.labels)} for row in report.rows]
    return {
        "rows": rows, "left_out": report.left_out, "total": _model_row(report.total),
        "unattributed": unattributed and {
            **_model_row(unattributed.row),
            "reasons": {reason: _model_row(row) for reason, row in unattributed.reasons.items()},
        },
        "overall": report.overall and _model_row(report.overall),
        "period": [report.period.start, report.period.end],
        "compared_period": compared_period and [compared_period.start, compared_period.end],
        "first_event": _on_clock(report.first_event, facts),
        "last_event": _on_clock(report.last_event, facts),
        "event_names": report.event_names,
        "conversion_names": sorted({*report.event_names} & converting_names(facts, model_question)),
        "without_visit": report.without_visit,
    }  # fmt: skip


def _on_clock(moment: datetime | None, facts: Facts) -> datetime | None:
    return moment and moment.astimezone(facts.zone).replace(microsecond=0, tzinfo=None)


def _model_row(row: model.Row) -> dict[str, Any]:
    return {"figures": row.figures, "before": row.comparison, "change": row.change}


# --------------------------------------------------------------------------------------- comparison


def differences(answer: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """Return a line for every member that differs between two answers."""
    return [
        f"{path}: {_format(actual_value)} is not {_format(expected_value)}"
        for path, actual_value, expected_value in _find_differences("", answer, right)
    ]


def _find_differences(path: str, value: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(value, dict) and isinstance(expected, dict):
        for name in sorted({*value, *expected}):
            yield from _find_differences(
                f"{path}.{name}", value.get(name, "absent"), expected.get(name, "absent")
            )
    elif isinstance(value, list) and isinstance(expected, list) and len(value) == len(expected):
        for index, (actual_item, expected_item) in enumerate(zip(value, expected, strict=True)):
            yield from _find_differences(f"{path}[{index}]", actual_item, expected_item)
    elif value != expected:
        yield path, value, expected


def _format(value: Any) -> str:
    return str(value) if isinstance(value, Fraction | datetime) else repr(value)
