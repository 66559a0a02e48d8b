"""Turn the sums of a row of SQL into the requested figures, and pairs of figures into changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from headwater.reports.models import Figure, Figures, Measure, MeasureChange
from headwater.reports.statement import WHOLE_EVENT

_FOUR_PLACES = Decimal("0.0001")


@dataclass(frozen=True)
class MeasureSums:
    """The sums from the database, over a group or over everything."""

    events: int = 0
    revenue: Decimal = Decimal(0)
    priced: int = 0
    """Events that have an amount."""
    credit: int = 0
    """In ten-thousandths."""
    weight: int = 0
    """In parts of WHOLE_EVENT."""
    contacts: int = 0


def sums_of(row: Iterable[Decimal | int | None]) -> MeasureSums:
    """The sums in the columns of a row; a sum of nothing is 0."""
    events, revenue, priced, credit, weight, contacts = (value or 0 for value in row)
    return MeasureSums(
        int(events), Decimal(revenue), int(priced), int(credit), int(weight), int(contacts)
    )


def nobodys(sums: MeasureSums) -> MeasureSums:
    """The sums of events without credit, as what was credited to no touch."""
    return MeasureSums(
        sums.events, sums.revenue, sums.priced, int(sums.revenue.scaleb(4)),
        sums.events * WHOLE_EVENT, sums.contacts,
    )  # fmt: skip


def figures_of(sums: MeasureSums, measures: Iterable[Measure]) -> Figures:
    """The figures of the requested measures."""
    return {measure: _figure(sums, measure) for measure in measures}


def changes_between(now: Figures, then: Figures) -> dict[Measure, MeasureChange]:
    """The change of each figure that both sets have."""
    changes: dict[Measure, MeasureChange] = {}
    for measure, new in now.items():
        old = then[measure]
        if new is not None and old is not None:
            changes[measure] = _change(new, old)
    return changes


def _figure(sums: MeasureSums, measure: Measure) -> Figure:
    match measure:
        case Measure.EVENTS:
            return sums.events
        case Measure.REVENUE:
            return _plain(sums.revenue)
        case Measure.CREDITED_EVENTS:
            return Fraction(sums.weight, WHOLE_EVENT)
        case Measure.CREDITED_REVENUE:
            return _plain(Decimal(sums.credit).scaleb(-4))
        case Measure.CONTACTS:
            return sums.contacts
        case Measure.AVERAGE_ORDER_VALUE:
            return _rounded(Fraction(sums.revenue) / sums.priced) if sums.priced else None


def _change(new: Decimal | Fraction | int, old: Decimal | Fraction | int) -> MeasureChange:
    difference = Fraction(new) - Fraction(old)
    ratio = _rounded(difference / abs(Fraction(old))) if old else None
    if isinstance(new, Decimal) and isinstance(old, Decimal):
        return MeasureChange(_plain(new - old), ratio)
    return MeasureChange(int(difference) if isinstance(new, int) else difference, ratio)


def _rounded(value: Fraction) -> Decimal:
    """Round to four decimals, halves away from zero as PostgreSQL does."""
    parts = abs(value) * 10_000 + Fraction(1, 2)
    whole = parts.numerator // parts.denominator
    return _plain(Decimal(-whole if value < 0 else whole).scaleb(-4))


def _plain(value: Decimal) -> Decimal:
    """The value without trailing zeros, and without an exponent."""
    return Decimal(f"{value.normalize():f}")
