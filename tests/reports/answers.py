"""Answers in one exact form, of the model and of the product, and what is different in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from psycopg import AsyncConnection

from headwater.contacts.filters import DateContext, read_conditions
from headwater.http.parameters import JsonInput
from headwater.reports.models import (
    Comparison,
    Figures,
    Filters,
    Group,
    GroupKey,
    Measure,
    Report,
    ReportQuery,
    ReportRow,
)
from headwater.reports.report import query_report
from headwater.spaces.spaces import fetch_space
from tests.reports.questions import Abilities
from tests.support.report_model import report as model
from tests.support.report_model.facts import Facts
from tests.support.report_model.question import read_question

# ------------------------------------------------------- what the product is able to answer so far

ABLE = Abilities(
    measures=("events", "revenue", "credited_events", "credited_revenue"),
    groups=("source", "campaign", "adset", "ad", "keyword", "event", "day", "week", "month",
            "country", "company"),
    several_models=False, amounts=False, touch_dates=False, letters=False, months_before=False,
)  # fmt: skip
"""Other measures have another meaning there, or none."""
UNANSWERED = frozenset({"overall", "reasons", "first_event", "last_event", "event_names"})
"""Members of an answer that it does not have."""
UNLABELLED = frozenset({"campaign", "adset", "ad"})
"""Groups whose labels are still those of the touches in the report alone."""


async def answer(
    connection: AsyncConnection, space_id: int, question: dict[str, Any]
) -> dict[str, Any]:
    """The product's answer to a question, in the exact form."""
    async with connection.transaction(force_rollback=True):
        space = await fetch_space(connection, space_id)
    asked = read_question(question)
    (by_model,) = asked.models
    clock = DateContext(space.zone, date(2026, 5, 1))
    conditions = read_conditions(JsonInput(question), space.field_labels, clock)
    by: Measure | Group | None = None
    if asked.order_by is not None:
        by = Group(asked.order_by) if asked.order_by in ABLE.groups else Measure(asked.order_by)
    query = ReportQuery(
        start=asked.start, end=asked.end, measures=tuple(map(Measure, asked.measures)),
        group_by=tuple(map(Group, asked.group_by)), model=by_model, window_days=asked.window,
        by_company=asked.by_company,
        filters=Filters(asked.event_names, conditions, asked.sources, asked.campaign),
        compare=Comparison(asked.compare), limit=asked.limit, order_by=by,
        descending=not isinstance(by, Group),
    )  # fmt: skip
    async with connection.transaction(force_rollback=True):
        return _exact(query, await query_report(connection, space_id, query))


def _exact(query: ReportQuery, report: Report) -> dict[str, Any]:
    rows = [_row_of(row) for row in report.rows]
    for row, told in zip(report.rows, rows, strict=True):
        pairs = list(zip(query.group_by, row.keys, strict=True))
        told["keys"] = [_key_of(group, key) for group, key in pairs]
        told["labels"] = [key.label for _, key in pairs]
    left = report.unattributed
    return {
        "rows": rows, "left_out": report.left_out, "total": _row_of(report.total),
        "unattributed": left and _row_of(left),
        "period": [report.span.start, report.span.end],
        "compared_period": report.compared_span
        and [report.compared_span.start, report.compared_span.end],
    }  # fmt: skip


def _key_of(group: Group, key: GroupKey) -> str | None:
    return key.label if group is Group.MONTH else key.value


def _row_of(row: ReportRow) -> dict[str, Any]:
    def exact(figures: Figures | None) -> dict[str, Fraction | None] | None:
        if figures is None:
            return None
        return {str(name): None if v is None else Fraction(v) for name, v in figures.items()}

    change: dict[str, Fraction | None] | None = None
    if row.compared is not None and row.changes is not None:
        change = dict.fromkeys(map(str, row.figures))
        for name, each in row.changes.items():
            change[name] = None if each.ratio is None else Fraction(each.ratio)
    return {"figures": exact(row.figures), "before": exact(row.compared), "change": change}


# --------------------------------------------------------------------------- what the model answers


def expected(facts: Facts, question: dict[str, Any]) -> dict[str, Any]:
    """The model's answer to a question, in the exact form."""
    report = model.make_report(facts, read_question(question))
    other, left = report.compared_period, report.unattributed
    rows = [
        {**_model_row(row), "keys": list(row.keys), "labels": list(row.labels)}
        for row in report.rows
    ]
    return {
        "rows": rows, "left_out": report.left_out, "total": _model_row(report.total),
        "unattributed": left and {
            **_model_row(left.row),
            "reasons": {reason: _model_row(row) for reason, row in left.reasons.items()},
        },
        "overall": report.overall and _model_row(report.overall),
        "period": [report.period.start, report.period.end],
        "compared_period": other and [other.start, other.end],
        "first_event": report.first_event, "last_event": report.last_event,
        "event_names": report.event_names,
    }  # fmt: skip


def _model_row(row: model.Row) -> dict[str, Any]:
    return {"figures": row.figures, "before": row.before, "change": row.change}


# ---------------------------------------------------------------------------------------- the judge


def differences(question: dict[str, Any], told: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """Every member in which two answers differ, but those that the product does not answer yet."""
    right = {name: value for name, value in right.items() if name not in UNANSWERED}
    if right["unattributed"] is not None:
        of_nobody: Mapping[str, Any] = right["unattributed"]
        kept = {name: value for name, value in of_nobody.items() if name not in UNANSWERED}
        right["unattributed"] = kept
    for answered in (told, right):
        for row in answered["rows"]:
            row["labels"] = [
                None if group in UNLABELLED else label
                for group, label in zip(question["group_by"], row["labels"], strict=True)
            ]
    return [
        f"{path}: {_shown(one)} is not {_shown(other)}"
        for path, one, other in _differing("", told, right)
    ]


def _differing(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from _differing(
                f"{path}.{name}", one.get(name, "absent"), other.get(name, "absent")
            )
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _differing(f"{path}[{place}]", mine, theirs)
    elif one != other:
        yield path, one, other


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Fraction | datetime) else repr(value)
