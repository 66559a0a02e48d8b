"""A report, computed event by event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.support.report_model import counting
from tests.support.report_model.clock import STEPS, Period, compared, counterpart
from tests.support.report_model.counting import Figures
from tests.support.report_model.facts import Facts
from tests.support.report_model.grouping import Sums, sums_of
from tests.support.report_model.groups import Key, Keys, format_label, order_of
from tests.support.report_model.question import Question


@dataclass
class Row:
    """A group or the total, with its figures."""

    keys: Keys
    labels: Keys
    figures: Figures
    before: Figures | None = None
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
    now = sums_of(facts, question, period)
    earlier_sums = None if earlier_period is None else sums_of(facts, question, earlier_period)
    first, last = ends_of(facts)
    if earlier_period is not None and (first is None or not _began_by(first, earlier_period, facts)):
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
    return compared(Period(question.start, question.end), question.compare, now)


def _began_by(first: datetime, period: Period, facts: Facts) -> bool:
    return first < period.bounds(facts.zone)[1]


def in_order(rows: dict[Keys, Figures], question: Question) -> list[Keys]:
    """Sort by the first measure or by `order_by`: measures in descending order, groups in ascending. Rows
    without the figure are last. Ties are sorted by key.
    """
    sorted_keys = sorted(rows, key=lambda keys: [order_of(key) for key in keys])
    order_column = question.order_by or question.measures[0]
    if order_column in question.group_by:
        position = question.group_by.index(order_column)
        return sorted(sorted_keys, key=lambda keys: order_of(keys[position]))
    column = counting.columns_of_measure(question, order_column)[0]

    def largest_first(keys: Keys) -> tuple[bool, Any]:
        figure = rows[keys][column]
        return figure is None, 0 if figure is None else -figure

    return sorted(sorted_keys, key=largest_first)


def _row(keys: Keys, now: Sums, then: Sums | None, facts: Facts, question: Question) -> Row:
    labels = tuple(
        format_label(group, key, facts) for group, key in zip(question.group_by, keys, strict=True)
    )
    figures = now.rows[keys]
    before: Figures | None = None
    if then is not None:
        other_keys = _counterparts(keys, facts, question)
        before = None if other_keys is None else then.rows.get(other_keys, then.nothing)
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


def _plain_row(figures: Figures, before: Figures | None) -> Row:
    return Row((), (), figures, before, _changes(figures, before))


def _changes(now: Figures, before: Figures | None) -> Figures | None:
    if before is None:
        return None
    return {column: counting.change_of(now[column], before[column]) for column in now}


def _unattributed(now: Sums, then: Sums | None) -> Unattributed | None:
    if now.unattributed is None:
        return None
    reasons = {
        reason: _plain_row(figures, then and then.reasons[reason]) for reason, figures in now.reasons.items()
    }
    return Unattributed(_plain_row(now.unattributed, then and then.unattributed), reasons)


def ends_of(facts: Facts) -> tuple[datetime | None, datetime | None]:
    """Return the times of the Space's first and last event."""
    times = [event.event_time for event in facts.events]
    return (min(times), max(times)) if times else (None, None)
