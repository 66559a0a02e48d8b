"""The change from the previous period by channel, split into more or fewer conversions and a higher or lower
average value. Pure, over the reports of both periods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Annotated

from msgspec import Meta, Struct

from headwater.reports.engine.measures import Figures, round_money, rounded, strip_zeros
from headwater.reports.engine.passes import get_subject
from headwater.reports.engine.report import ReportResult
from headwater.reports.engine.time_buckets import compared_span
from headwater.reports.query import ALL_ROWS, Comparison, FigureColumn, Group, Measure, ReportQuery
from headwater.reports.questions.shared import number

MEASURES = (Measure.CREDITED_REVENUE, Measure.CREDITED_CONVERSIONS)


class Sales(Struct, frozen=True):
    """Credit of one period."""

    conversions: Fraction = Fraction(0)
    revenue: Decimal = Decimal(0)


class SalesChange(Struct, frozen=True):
    previous: Sales
    current: Sales
    by_conversions: Decimal
    """The part of the revenue difference from more or fewer conversions, at the previous average value."""

    @property
    def conversions(self) -> Fraction:
        return self.current.conversions - self.previous.conversions

    @property
    def revenue(self) -> Decimal:
        return self.current.revenue - self.previous.revenue

    @property
    def by_value(self) -> Decimal:
        """The other part: a higher or lower average value of the current conversions."""
        return self.revenue - self.by_conversions

    def plus(self, addend: SalesChange) -> SalesChange:
        return SalesChange(
            _plus(self.previous, addend.previous),
            _plus(self.current, addend.current),
            self.by_conversions + addend.by_conversions,
        )


class ChannelChanges(Struct, frozen=True):
    channels: tuple[tuple[str | None, SalesChange], ...]
    """By channel, the largest difference in revenue first."""
    unattributed: SalesChange | None
    """None if only some touches count."""
    total: SalesChange
    """The sum of them all."""


def _plus(sales: Sales, addend: Sales) -> Sales:
    return Sales(sales.conversions + addend.conversions, sales.revenue + addend.revenue)


#     previous  18 orders at 87.00 = 1,566.00
#     current   15 orders at 52.20 =   783.00      difference  -783.00
#     by conversions (15 - 18) x 87.00             =           -261.00
#     by value        15 x (52.20 - 87.00)         =           -522.00
def split_change(previous: Sales, current: Sales) -> SalesChange:
    """Split a difference, to the hundredth. If a period has no conversions, they explain all of it."""
    if not (previous.conversions and current.conversions):
        return SalesChange(previous, current, current.revenue - previous.revenue)
    average = Fraction(previous.revenue) / previous.conversions
    by_conversions = (current.conversions - previous.conversions) * average
    return SalesChange(previous, current, strip_zeros(rounded(by_conversions / 100) * 100))


def find_channel_changes(current: ReportResult, previous: ReportResult) -> ChannelChanges:
    """Compare two reports of `channel_queries`."""
    current_sales, previous_sales = _by_channel(current), _by_channel(previous)
    changes = {
        key: split_change(previous_sales.get(key, Sales()), current_sales.get(key, Sales()))
        for key in {**current_sales, **previous_sales}
    }
    unattributed_change = None
    if current.unattributed is not None and previous.unattributed is not None:
        unattributed_change = split_change(
            _sales(previous.unattributed.row.figures), _sales(current.unattributed.row.figures)
        )
    ordered_changes = sorted(
        changes.items(), key=lambda item: (-abs(item[1].revenue), -abs(item[1].conversions), item[0] or "")
    )
    return ChannelChanges(
        tuple(ordered_changes),
        unattributed_change,
        _add_up([*changes.values(), *([unattributed_change] if unattributed_change else [])]),
    )


def _by_channel(report: ReportResult) -> dict[str | None, Sales]:
    return {row.keys[0].value: _sales(row.figures) for row in report.rows}


def _sales(figures: Figures) -> Sales:
    revenue, conversions = (Fraction(figures[FigureColumn(measure)] or 0) for measure in MEASURES)
    return Sales(conversions, round_money(revenue))


def _add_up(changes: Iterable[SalesChange]) -> SalesChange:
    return reduce(SalesChange.plus, changes, SalesChange(Sales(), Sales(), Decimal(0)))


def has_channel_changes(query: ReportQuery) -> bool:
    """Return whether a report answers with the changes of its channels."""
    is_by_channel = query.group_by == (Group.CHANNEL,) and query.compare is not Comparison.NONE
    return is_by_channel and len(query.models) == 1 and set(MEASURES) <= set(query.measures)


def channel_queries(query: ReportQuery) -> tuple[ReportQuery, ReportQuery]:
    """Return the queries of both periods. Raises Invalid before the calendar begins."""
    span = compared_span(query)
    current = replace(get_subject(query), measures=MEASURES, group_by=(Group.CHANNEL,), limit=ALL_ROWS)
    return current, replace(current, start=span.start, end=span.end)


class ChannelChange(Struct, frozen=True):
    """A change from the comparison period."""

    channel: str | None
    conversions_before: float
    conversions: float
    revenue_before: float
    revenue: float
    revenue_difference: float
    by_conversions: Annotated[float, Meta(description="Part from more or fewer conversions.")]
    by_value: Annotated[float, Meta(description="Part from their average value.")]


class ChannelChangeList(Struct, frozen=True):
    """Changes by channel, which add up to the totals."""

    channels: list[ChannelChange]
    unattributed: ChannelChange | None
    totals: ChannelChange


def answer_channel_changes(reports: Sequence[ReportResult]) -> ChannelChangeList | None:
    """Return None unless the earlier period has events to compare with."""
    if not reports or not reports[1].began:
        return None
    changes = find_channel_changes(*reports)
    return ChannelChangeList(
        [_answer(channel, change) for channel, change in changes.channels],
        changes.unattributed and _answer(None, changes.unattributed),
        _answer(None, changes.total),
    )


def _answer(channel: str | None, change: SalesChange) -> ChannelChange:
    return ChannelChange(
        channel,
        number(change.previous.conversions) or 0,
        number(change.current.conversions) or 0,
        float(change.previous.revenue),
        float(change.current.revenue),
        float(change.revenue),
        float(change.by_conversions),
        float(change.by_value),
    )
