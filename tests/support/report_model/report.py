"""A report, computed event by event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.support.report_model import counting
from tests.support.report_model.clock import STEPS, Period, comparison_period, counterpart
from tests.support.report_model.counting import Figures
from tests.support.report_model.facts import Facts
from tests.support.report_model.grouping import Sums, compute_sums
from tests.support.report_model.groups import Key, Keys, format_label, sort_key
from tests.support.report_model.question import Question


@dataclass
class Row:
    """A group or the total, with its figures."""

    keys: Keys
    labels: Keys
    figures: Figures
    comparison: Figures | None = None
    """The figures in the comparison period. None without a counterpart."""
    change: Figures | None = None


@dataclass
class Unattributed:
    """Events without credit, in total and by reason."""

    row: Row
    reasons: dict[str, Row]


@dataclass
class Report:
    """The answer to a question."""

    columns: list[str]
    rows: list[Row]
    left_out: int
    total: Row
    unattributed: Unattributed | None
    overall: Row | None
    period: Period
    compared_period: Period | None
    first_event: datetime | None
    """The Space's first event, if the period starts before it."""
    last_event: datetime | None
    """The Space's last event, if the period ends after it."""
    event_names: dict[str, int]
    without_visit: counting.Figure


def make_report(facts: Facts, question: Question) -> Report:
    """Compute a report. The question must be valid: see `Question.refusal`."""
    assert question.refusal() is None, question.refusal()
    period = Period(question.start, question.end)
    earlier_period = compared_period(facts, question)
    now = compute_sums(facts, question, period)
    earlier_sums = None if earlier_period is None else compute_sums(facts, question, earlier_period)
    first, last = event_bounds(facts)
    if earlier_period is not None and (first is None or not _has_begun(first, earlier_period, facts)):
        earlier_sums = None
    top_keys = in_order(now.rows, question)[: question.limit]
    full_span = Period(earlier_period.start, period.end) if earlier_period else period
    return Report(
        columns=counting.list_columns(question),
        rows=[_row(keys, now, earlier_sums, facts, question) for keys in top_keys],
        left_out=len(now.rows) - len(top_keys),
        total=_plain_row(now.total, earlier_sums and earlier_sums.total),
        unattributed=_unattributed(now, earlier_sums),
        overall=None
        if now.overall is None
        else _plain_row(now.overall, earlier_sums and earlier_sums.overall),
        period=period,
        compared_period=earlier_period,
        first_event=first if first and full_span.begins_before(first, facts.zone) else None,
        last_event=last if last and period.ends_after(last, facts.zone) else None,
        event_names=now.event_names,
        without_visit=now.without_visit,
    )


def compared_period(facts: Facts, question: Question) -> Period | None:
    """Return the period that a question's period is compared with."""
    now = question.now and question.now.astimezone(facts.zone).replace(tzinfo=None, microsecond=0)
    return comparison_period(Period(question.start, question.end), question.compare, now)


def _has_begun(first_event_time: datetime, period: Period, facts: Facts) -> bool:
    return first_event_time < period.bounds(facts.zone)[1]


def in_order(rows: dict[Keys, Figures], question: Question) -> list[Keys]:
    """Sort by the first measure or by `order_by`: measures in descending order, groups in ascending. Rows
    without the figure are last. Ties are sorted by key.
    """
    sorted_keys = sorted(rows, key=lambda keys: [sort_key(key) for key in keys])
    order_column = question.order_by or question.measures[0]
    if order_column in question.group_by:
        position = question.group_by.index(order_column)
        return sorted(sorted_keys, key=lambda keys: sort_key(keys[position]))
    column = counting.measure_columns(question, order_column)[0]

    def sort_order(keys: Keys) -> tuple[bool, Any]:
        figure = rows[keys][column]
        return figure is None, 0 if figure is None else -figure

    return sorted(sorted_keys, key=sort_order)


def _row(keys: Keys, sums: Sums, comparison: Sums | None, facts: Facts, question: Question) -> Row:
    labels = tuple(
        format_label(group, key, facts) for group, key in zip(question.group_by, keys, strict=True)
    )
    figures = sums.rows[keys]
    before: Figures | None = None
    if comparison is not None:
        other_keys = _counterparts(keys, facts, question)
        before = None if other_keys is None else comparison.rows.get(other_keys, comparison.zero_figures)
    return Row(keys, labels, figures, before, _changes(figures, before))


def _counterparts(keys: Keys, facts: Facts, question: Question) -> Keys | None:
    period = Period(question.start, question.end)
    earlier_period = compared_period(facts, question)
    assert earlier_period is not None
    other_keys: list[Key] = []
    for group, key in zip(question.group_by, keys, strict=True):
        if group in STEPS:
            assert key is not None
            earlier_key = counterpart(group, key, period, earlier_period, question.compare)
            if earlier_key is None:
                return None
            other_keys.append(earlier_key)
        else:
            other_keys.append(key)
    return tuple(other_keys)


def _plain_row(figures: Figures, comparison: Figures | None) -> Row:
    return Row((), (), figures, comparison, _changes(figures, comparison))


def _changes(figures: Figures, comparison: Figures | None) -> Figures | None:
    if comparison is None:
        return None
    return {column: counting.relative_change(figures[column], comparison[column]) for column in figures}


def _unattributed(sums: Sums, comparison: Sums | None) -> Unattributed | None:
    if sums.unattributed is None:
        return None
    reasons = {
        reason: _plain_row(figures, comparison and comparison.reasons[reason])
        for reason, figures in sums.reasons.items()
    }
    return Unattributed(_plain_row(sums.unattributed, comparison and comparison.unattributed), reasons)


def event_bounds(facts: Facts) -> tuple[datetime | None, datetime | None]:
    """Return the times of the Space's first and last event."""
    times = [event.event_time for event in facts.events]
    return (min(times), max(times)) if times else (None, None)
