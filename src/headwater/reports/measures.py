"""Turn sums into the requested figures, and pairs of figures into changes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from headwater.reports.addition import TOUCHED_EVENTS, TOUCHED_REVENUE, WHOLE_EVENT, credit_sum
from headwater.reports.models import (
    CREDITED,
    Figure,
    FigureColumn,
    Figures,
    Measure,
    MeasureChange,
    ReportQuery,
    columns_of,
)
from headwater.reports.plan import Sum
from headwater.reports.tally import Tally

_SECONDS = 86_400
_SUMMED = {
    Measure.EVENTS: Sum.EVENTS, Measure.ORDERS: Sum.ORDERS,
    Measure.REFUND_COUNT: Sum.REFUND_COUNT, Measure.NEW_CUSTOMERS: Sum.FIRST_ORDERS,
    Measure.TOUCHED_EVENTS: TOUCHED_EVENTS,
}  # fmt: skip
"""Measures that are a sum as it is."""


@dataclass(frozen=True)
class Sums:
    """The sums over a group, or over everything."""

    by_name: Mapping[str, int]
    contacts: int = 0

    def __getitem__(self, name: str) -> int:
        return self.by_name.get(name, 0)

    @property
    def revenue(self) -> int:
        return self[Sum.GROSS] - self[Sum.REFUNDS]

    def with_credit_of_all(self, models: Iterable[str]) -> Sums:
        """Return the same with all of the events credited, and touched."""
        sums = dict(self.by_name)
        for model in models:
            sums[credit_sum(Measure.CREDITED_EVENTS, model)] = self[Sum.EVENTS] * WHOLE_EVENT
            sums[credit_sum(Measure.CREDITED_REVENUE, model)] = self.revenue
        sums |= {TOUCHED_EVENTS: self[Sum.EVENTS], TOUCHED_REVENUE: self.revenue}
        return Sums(sums, self.contacts)


def sums_at(tally: Tally, at: int, contacts: int) -> Sums:
    """Return the sums of the group at a place."""
    return Sums({name: sums.number(at) for name, sums in tally.sums.items()}, contacts)


def total_of(tally: Tally) -> Sums:
    """Return the sums of all groups together."""
    sums = {name: sums.total() for name, sums in tally.sums.items()}
    return Sums(sums, tally.contact_total())


def figures_of(query: ReportQuery, sums: Sums, whole: Sums) -> Figures:
    """Return the figures of sums; `whole` is what a share is of."""
    return {column: figure_of(query, column, sums, whole) for column in columns_of(query)}


def figure_of(query: ReportQuery, column: FigureColumn, sums: Sums, whole: Sums) -> Figure:
    """Return one figure."""
    measure, model = column.measure, column.model or query.models[0]
    if measure in _SUMMED:
        return sums[_SUMMED[measure]]
    if measure in CREDITED:
        credit = sums[credit_sum(measure, model)]
        return (
            Fraction(credit, WHOLE_EVENT) if measure is Measure.CREDITED_EVENTS else _money(credit)
        )
    match measure:
        case Measure.CONTACTS:
            return sums.contacts
        case Measure.REVENUE:
            return _money(sums.revenue)
        case Measure.GROSS_REVENUE:
            return _money(sums[Sum.GROSS])
        case Measure.REFUNDS:
            return _money(sums[Sum.REFUNDS])
        case Measure.TOUCHED_REVENUE:
            return _money(sums[TOUCHED_REVENUE])
        case Measure.AVERAGE_ORDER_VALUE:
            return _ratio(sums[Sum.GROSS], 10_000 * sums[Sum.ORDERS])
        case Measure.DAYS_TO_CONVERSION:
            return _ratio(sums[Sum.SECONDS], _SECONDS * sums[Sum.REACHED])
        case Measure.TOUCHES_TO_CONVERSION:
            return _ratio(sums[Sum.TOUCHES], sums[Sum.REACHED])
        case _:
            return _share(query, column, sums, whole)


def rough_figures(query: ReportQuery, measure: Measure, tally: Tally) -> NDArray[np.float64]:
    """Return a figure of every group, but for the last digits; NaN for none."""

    def rough(name: str) -> NDArray[np.float64]:
        return tally.sum(name).rough()

    with np.errstate(divide="ignore", invalid="ignore"):
        match measure:
            case Measure.CONTACTS:
                return tally.contact_counts().astype(np.float64)
            case Measure.REVENUE:
                return rough(Sum.GROSS) - rough(Sum.REFUNDS)
            case Measure.GROSS_REVENUE:
                return rough(Sum.GROSS)
            case Measure.REFUNDS:
                return rough(Sum.REFUNDS)
            case Measure.AVERAGE_ORDER_VALUE:
                return rough(Sum.GROSS) / _or_nan(rough(Sum.ORDERS))
            case Measure.DAYS_TO_CONVERSION:
                return rough(Sum.SECONDS) / _or_nan(rough(Sum.REACHED))
            case Measure.TOUCHES_TO_CONVERSION:
                return rough(Sum.TOUCHES) / _or_nan(rough(Sum.REACHED))
            case Measure.TOUCHED_REVENUE:
                return rough(TOUCHED_REVENUE)
            case Measure.SHARE:
                return rough_figures(query, query.measures[0], tally)
            case Measure.CREDITED_EVENTS | Measure.CREDITED_REVENUE:
                return rough(credit_sum(measure, query.models[0]))
            case _:
                return rough(_SUMMED[measure])


def _or_nan(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values == 0, np.nan, values)


def changes_between(now: Figures, then: Figures) -> dict[FigureColumn, MeasureChange]:
    """Return the change of each figure that both sets have."""
    changes: dict[FigureColumn, MeasureChange] = {}
    for column, new in now.items():
        old = then[column]
        if new is not None and old is not None:
            changes[column] = _change(new, old)
    return changes


def _share(query: ReportQuery, column: FigureColumn, sums: Sums, whole: Sums) -> Figure:
    first = FigureColumn(query.measures[0], column.model)
    part, of = (figure_of(query, first, each, whole) for each in (sums, whole))
    return _rounded(Fraction(part) / Fraction(of)) if part is not None and of else None


def _change(new: Decimal | Fraction | int, old: Decimal | Fraction | int) -> MeasureChange:
    difference = Fraction(new) - Fraction(old)
    ratio = _rounded(difference / abs(Fraction(old))) if old else None
    if isinstance(new, Decimal) and isinstance(old, Decimal):
        return MeasureChange(_plain(new - old), ratio)
    return MeasureChange(int(difference) if isinstance(new, int) else difference, ratio)


def _ratio(part: int, of: int) -> Decimal | None:
    return _rounded(Fraction(part, of)) if of else None


def _money(ten_thousandths: int) -> Decimal:
    return _plain(Decimal(ten_thousandths).scaleb(-4))


def _rounded(value: Fraction) -> Decimal:
    """Round to four decimals, halves away from zero as PostgreSQL does."""
    parts = abs(value) * 10_000 + Fraction(1, 2)
    whole = parts.numerator // parts.denominator
    return _plain(Decimal(-whole if value < 0 else whole).scaleb(-4))


def _plain(value: Decimal) -> Decimal:
    """The value without trailing zeros, and without an exponent."""
    return Decimal(f"{value.normalize():f}")
