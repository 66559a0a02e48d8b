"""Formatted figures with their exact values from the API. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal

from markupsafe import Markup

from headwater.base.dates import format_day_and_time, format_days
from headwater.console.tables import NO_FIGURE, write_missing
from headwater.reports.engine import measures
from headwater.reports.engine.measures import Figure, MeasureChange, rounded
from headwater.reports.engine.report import ReportRow
from headwater.reports.query import OF_MONEY, DateTimeSpan, FigureColumn, Measure
from headwater.reports.questions.shared import format_figure, number
from headwater.spaces.currencies import round_half_up, write_amount

MONEY = OF_MONEY
RATIO: Final = "ratio"
"""The form of ROAS."""
FigureForm = Measure | Literal["ratio"]
_DECIMALS: dict[str, int] = {RATIO: 2, Measure.DAYS_TO_CONVERSION: 1, Measure.TOUCHES_TO_CONVERSION: 1}

_NO_REASON = "Not known here"
_REASONS: dict[str, str] = {
    Measure.AVERAGE_ORDER_VALUE: "No orders",
    Measure.CONVERSION_RATE: "No visits",
    Measure.DAYS_TO_CONVERSION: "No conversion with a visit before it",
    Measure.TOUCHES_TO_CONVERSION: "No conversion with a visit before it",
    Measure.SHARE: "The total is 0",
    Measure.CONTACTS: "One person can be in several rows",
    Measure.REVENUE: "No amount",
    Measure.CREDITED_REVENUE: "No amount",
    Measure.VISITS: "No visits are counted here",
}
"""Why a figure may be missing, unless the page knows better."""


@dataclass(frozen=True)
class Change:
    text: str
    direction: str
    """`up`, `down` or `same`."""
    is_ratio: bool = True
    """False for words."""


def figure(form: FigureForm, value: Figure, currency: str, reason: str = "") -> Markup:
    """Format a figure with its exact value. `reason` says why it may be missing, unless the measure does."""
    if value is None:
        return write_missing(reason or _REASONS.get(form, _NO_REASON))
    return Markup('<data value="{}">{}</data>').format(digits(value), written(form, value, currency))


def digits(value: Figure) -> str:
    """Return all digits for money, four decimals for parts of events."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else format_figure(number(value))


def written(form: FigureForm, value: Figure, currency: str) -> str:
    """Format money with the decimals of its currency, and parts of events to two decimals."""
    if value is None:
        return NO_FIGURE
    if form in MONEY:
        return write_amount(value, currency)
    if form in (Measure.SHARE, Measure.CONVERSION_RATE):
        return percent(value)
    has_parts = isinstance(value, Fraction) and value.denominator > 1
    return f"{round_half_up(value, _DECIMALS.get(form, 2 if has_parts else 0)):,f}"


def short(value: float) -> str:
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def percent(numerator: Fraction | Decimal | int) -> str:
    """Return one decimal."""
    return f"{round_half_up(Fraction(numerator) * 100, 1):,f} %"


def change(row: ReportRow, column: FigureColumn) -> Change | None:
    return written_change(row.changes.get(column)) if row.changes is not None else None


def written_change(measured: MeasureChange | None) -> Change | None:
    if measured is None:
        return None
    if measured.ratio is None:
        difference = measured.difference
        return Change("new", "up" if difference > 0 else "down", is_ratio=False) if difference else None
    if not measured.difference:
        return Change("no change", "same")
    direction = "up" if measured.difference > 0 else "down"
    return Change(percent(abs(measured.ratio)), direction)


def change_between(current: Fraction | None, previous: Fraction | None) -> Change | None:
    """Return None if either whole is zero."""
    if current is None or previous is None:
        return None
    return written_change(measures.change_between(current, previous))


def share(numerator: Figure, denominator: Figure) -> Fraction | None:
    """Return None if the whole is zero."""
    return Fraction(numerator) / Fraction(denominator) if numerator is not None and denominator else None


def difference(total: Figure, parts: Iterable[Figure]) -> Figure:
    """Return the total minus its parts, exactly."""
    remainder = Fraction(total or 0) - sum((Fraction(figure or 0) for figure in parts), Fraction())
    return rounded(remainder) if isinstance(total, Decimal) else remainder


def dates(span: DateTimeSpan) -> str:
    """Return the days, and the times if the span begins or ends within a day."""
    first, last = span.start.date(), span.end.date()
    if span.start.time() == time() and span.end.time() >= time(23, 59, 59):
        return format_days(first, last)
    end = f"{span.end:%H:%M}"
    if first == last:
        return f"{format_day_and_time(span.start)} \u2013 {end}"
    if span.start.time() == time():
        return f"{format_days(first, last)}, until {end}"
    return f"{format_day_and_time(span.start)} \u2013 {format_day_and_time(span.end)}"
