"""The sums and formulas of each measure. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from math import lcm

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headwater.reports.engine.group_sums import GroupSums, sum_all
from headwater.reports.query import CREDITED, FigureColumn, Measure, ReportQuery, list_columns

WHOLE_EVENT = 5 * lcm(*range(1, 41))
"""The units of an event. A path of up to 40 touches shares whole units, a longer one nearly; either way they
add up to the event.
"""


class Sum(StrEnum):
    EVENTS = "events"
    CONVERSIONS = "conversions"
    ORDERS = "orders"
    UPSELLS = "upsells"
    REFUND_COUNT = "refund_count"
    GROSS = "gross"
    """Positive amounts, in ten-thousandths like all."""
    REFUNDS = "refunds"
    """Negative amounts, as a positive number."""
    FIRST_ORDERS = "first_orders"
    REACHED = "reached"
    REACHED_REVENUE = "reached_revenue"
    LED = "led"
    """Conversions with a touch in the window."""
    SECONDS = "seconds"
    """From the first touch in the window, over LED."""
    TOUCHES = "touches"
    """In the window, over LED."""


BY_KIND = frozenset(
    {Sum.CONVERSIONS, Sum.ORDERS, Sum.UPSELLS, Sum.REFUND_COUNT, Sum.LED, Sum.SECONDS, Sum.TOUCHES}
)
TOUCHED_EVENTS, TOUCHED_REVENUE = "touched_events", "touched_revenue"
"""Over events reached by a group's touches."""
VISITS = "visits"
"""By their own sources."""


def credit_sum(measure: Measure, model: str) -> str:
    return f"{measure}.{model}"


class Unit(Enum):
    COUNT = "count"
    MONEY = "money"
    """In ten-thousandths."""
    EVENTS = "events"
    """In parts of WHOLE_EVENT."""
    RATIO = "ratio"
    """Rounded to four decimals."""
    RATE = "rate"
    """Exact, because it is written as a percentage with fewer decimals."""


class MeasureForm(Struct, frozen=True):
    """The formula `(plus - minus) / (per * scale)`."""

    unit: Unit
    plus: str
    minus: str | None = None
    per: str | None = None
    scale: int = 1

    @property
    def sums(self) -> tuple[Sum, ...]:
        return tuple(sums_ for sums_ in (self.plus, self.minus, self.per) if isinstance(sums_, Sum))


_MONEY_UNIT, _DAY_SECONDS = 10_000, 86_400
FORMS = {
    Measure.EVENTS: MeasureForm(Unit.COUNT, Sum.EVENTS),
    Measure.CONVERSIONS: MeasureForm(Unit.COUNT, Sum.CONVERSIONS),
    Measure.ORDERS: MeasureForm(Unit.COUNT, Sum.ORDERS),
    Measure.UPSELLS: MeasureForm(Unit.COUNT, Sum.UPSELLS),
    Measure.REFUND_COUNT: MeasureForm(Unit.COUNT, Sum.REFUND_COUNT),
    Measure.NEW_CUSTOMERS: MeasureForm(Unit.COUNT, Sum.FIRST_ORDERS),
    Measure.VISITS: MeasureForm(Unit.COUNT, VISITS),
    Measure.TOUCHED_EVENTS: MeasureForm(Unit.COUNT, TOUCHED_EVENTS),
    Measure.REVENUE: MeasureForm(Unit.MONEY, Sum.GROSS, minus=Sum.REFUNDS),
    Measure.GROSS_REVENUE: MeasureForm(Unit.MONEY, Sum.GROSS),
    Measure.REFUNDS: MeasureForm(Unit.MONEY, Sum.REFUNDS),
    Measure.TOUCHED_REVENUE: MeasureForm(Unit.MONEY, TOUCHED_REVENUE),
    Measure.AVERAGE_ORDER_VALUE: MeasureForm(Unit.RATIO, Sum.GROSS, per=Sum.ORDERS, scale=_MONEY_UNIT),
    Measure.DAYS_TO_CONVERSION: MeasureForm(Unit.RATIO, Sum.SECONDS, per=Sum.LED, scale=_DAY_SECONDS),
    Measure.TOUCHES_TO_CONVERSION: MeasureForm(Unit.RATIO, Sum.TOUCHES, per=Sum.LED),
}
"""Independent of the model. Contacts and shares have no formula."""


def get_form(measure: Measure, model: str) -> MeasureForm:
    if measure in CREDITED:
        unit = Unit.MONEY if measure is Measure.CREDITED_REVENUE else Unit.EVENTS
        return MeasureForm(unit, credit_sum(measure, model))
    if measure is Measure.CONVERSION_RATE:
        return MeasureForm(Unit.RATE, credit_sum(measure, model), per=VISITS, scale=WHOLE_EVENT)
    return FORMS[measure]


Figure = int | Decimal | Fraction | None
"""int for counts, Fraction for credited events and conversions, shares and rates, else Decimal. None for a
ratio over 0.
"""
Figures = Mapping[FigureColumn, Figure]


@dataclass(frozen=True)
class MeasureChange:
    difference: Decimal | Fraction | int
    ratio: Fraction | None
    """Relative to the absolute compared figure; None for 0."""


class Sums(Struct, frozen=True):
    by_name: Mapping[str, int]
    contacts: int = 0

    def __getitem__(self, name: str) -> int:
        return self.by_name.get(name, 0)

    @property
    def revenue(self) -> int:
        return self[Sum.GROSS] - self[Sum.REFUNDS]

    def with_total_credit(self, models: Iterable[str]) -> Sums:
        """Credit all events, and touch reached ones."""
        sums = dict(self.by_name)
        for model in models:
            sums[credit_sum(Measure.CREDITED_EVENTS, model)] = self[Sum.EVENTS] * WHOLE_EVENT
            conversions = self[Sum.CONVERSIONS] * WHOLE_EVENT
            sums[credit_sum(Measure.CREDITED_CONVERSIONS, model)] = conversions
            sums[credit_sum(Measure.CREDITED_REVENUE, model)] = self.revenue
        sums |= {TOUCHED_EVENTS: self[Sum.REACHED], TOUCHED_REVENUE: self[Sum.REACHED_REVENUE]}
        return Sums(sums, self.contacts)


def sums_at(group_sums: GroupSums, index: int, contacts: int) -> Sums:
    return Sums({name: int(sums[index]) for name, sums in group_sums.sums.items()}, contacts)


def sum_groups(group_sums: GroupSums) -> Sums:
    sums = {name: sum_all(sums) for name, sums in group_sums.sums.items()}
    return Sums(sums, group_sums.contact_total())


def compute_figures(
    query: ReportQuery, sums: Sums, total: Sums, columns: Iterable[FigureColumn] | None = None
) -> Figures:
    """Shares are relative to `total`."""
    figure_columns = list_columns(query) if columns is None else columns
    return {column: compute_figure(query, column, sums, total) for column in figure_columns}


def compute_figure(query: ReportQuery, column: FigureColumn, sums: Sums, total: Sums) -> Figure:
    if column.measure is Measure.CONTACTS:
        return sums.contacts
    if column.measure is Measure.SHARE:
        return _share(query, column, sums, total)
    form = get_form(column.measure, column.model or query.models[0])
    amount = sums[form.plus] - (sums[form.minus] if form.minus else 0)
    match form.unit:
        case Unit.COUNT:
            return amount
        case Unit.MONEY:
            return as_money(amount)
        case Unit.EVENTS:
            return Fraction(amount, WHOLE_EVENT)
        case Unit.RATIO | Unit.RATE:
            return _ratio(form, amount, sums)


def _ratio(form: MeasureForm, amount: int, sums: Sums) -> Decimal | Fraction | None:
    per = form.scale * sums[form.per or ""]
    if not per or form.plus not in sums.by_name:
        return None
    ratio = Fraction(amount, per)
    return rounded(ratio) if form.unit is Unit.RATIO else ratio


def rough_figures(query: ReportQuery, measure: Measure, group_sums: GroupSums) -> NDArray[np.float64]:
    """Return approximate figures up to a constant factor; NaN if undefined."""
    if measure is Measure.CONTACTS:
        return group_sums.contact_counts().astype(np.float64)
    if measure is Measure.SHARE:
        return rough_figures(query, query.measures[0], group_sums)
    form = get_form(measure, query.models[0])
    amounts = group_sums.sum(form.plus).astype(np.float64)
    if form.minus:
        amounts = amounts - group_sums.sum(form.minus).astype(np.float64)
    if form.per is None:
        return amounts
    per = group_sums.sum(form.per).astype(np.float64)
    return np.divide(amounts, per, out=np.full(len(per), np.nan), where=per != 0)


def changes_between(current: Figures, previous: Figures) -> dict[FigureColumn, MeasureChange]:
    changes: dict[FigureColumn, MeasureChange] = {}
    for column, new in current.items():
        old = previous[column]
        if new is not None and old is not None:
            changes[column] = change_between(new, old)
    return changes


def _share(query: ReportQuery, column: FigureColumn, sums: Sums, total: Sums) -> Figure:
    first = FigureColumn(query.measures[0], column.model)
    numerator, denominator = (
        compute_figure(query, first, sums_of_row, total) for sums_of_row in (sums, total)
    )
    return Fraction(numerator) / Fraction(denominator) if numerator is not None and denominator else None


def change_between(new: Decimal | Fraction | int, old: Decimal | Fraction | int) -> MeasureChange:
    difference = Fraction(new) - Fraction(old)
    ratio = difference / abs(Fraction(old)) if old else None
    if isinstance(new, Decimal) and isinstance(old, Decimal):
        return MeasureChange(strip_zeros(new - old), ratio)
    return MeasureChange(int(difference) if isinstance(new, int) else difference, ratio)


def rounded(value: Fraction) -> Decimal:
    """Round to four decimals, halves away from zero like PostgreSQL."""
    parts = abs(value) * 10_000 + Fraction(1, 2)
    quotient = parts.numerator // parts.denominator
    return strip_zeros(Decimal(-quotient if value < 0 else quotient).scaleb(-4))


def as_money(amount: int) -> Decimal:
    """Convert from ten-thousandths."""
    return strip_zeros(Decimal(amount).scaleb(-4))


def round_money(amount: Fraction) -> Decimal:
    """Cut after four decimals, like stored amounts."""
    return Decimal(int(amount * _MONEY_UNIT)) / _MONEY_UNIT


def strip_zeros(value: Decimal) -> Decimal:
    """Remove trailing zeros and the exponent."""
    return Decimal(f"{value.normalize():f}")
