"""The making of every measure out of sums over events, or over their credit. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from headwater.reports.models import CREDITED, Measure


class Sum(StrEnum):
    """The sums over whole events that measures are made of."""

    EVENTS = "events"
    CONVERSIONS = "conversions"
    ORDERS = "orders"
    UPSELLS = "upsells"
    REFUND_COUNT = "refund_count"
    GROSS = "gross"
    """Of the amounts above zero, in ten-thousandths like all amounts."""
    REFUNDS = "refunds"
    """Of the amounts below zero, as a number above zero."""
    FIRST_ORDERS = "first_orders"
    REACHED = "reached"
    """Events with a touch in the window."""
    REACHED_REVENUE = "reached_revenue"
    """Their amounts."""
    SECONDS = "seconds"
    """From the first touch in the window to the event."""
    TOUCHES = "touches"
    """In the window."""


BY_KIND = frozenset({Sum.CONVERSIONS, Sum.ORDERS, Sum.UPSELLS, Sum.REFUND_COUNT})
"""The sums that count events of some kinds."""
TOUCHED_EVENTS, TOUCHED_REVENUE = "touched_events", "touched_revenue"
"""The sums over events that touches of a group reach."""


def credit_sum(measure: Measure, model: str) -> str:
    """Return the name of the sum of a credited measure."""
    return f"{measure}.{model}"


class Unit(Enum):
    """The units that figures are counted in."""

    COUNT = "count"
    MONEY = "money"
    """From ten-thousandths."""
    EVENTS = "events"
    """From parts of WHOLE_EVENT."""
    RATIO = "ratio"
    """Rounded to four decimals."""


@dataclass(frozen=True)
class MeasureForm:
    """The making of a figure out of sums: `(plus - minus) / (per * scale)`."""

    unit: Unit
    plus: str
    minus: str | None = None
    per: str | None = None
    scale: int = 1

    @property
    def sums(self) -> tuple[Sum, ...]:
        """The sums over whole events that it takes."""
        return tuple(part for part in (self.plus, self.minus, self.per) if isinstance(part, Sum))


_MONEY_UNIT, _DAY_SECONDS = 10_000, 86_400
FORMS = {
    Measure.EVENTS: MeasureForm(Unit.COUNT, Sum.EVENTS),
    Measure.CONVERSIONS: MeasureForm(Unit.COUNT, Sum.CONVERSIONS),
    Measure.ORDERS: MeasureForm(Unit.COUNT, Sum.ORDERS),
    Measure.UPSELLS: MeasureForm(Unit.COUNT, Sum.UPSELLS),
    Measure.REFUND_COUNT: MeasureForm(Unit.COUNT, Sum.REFUND_COUNT),
    Measure.NEW_CUSTOMERS: MeasureForm(Unit.COUNT, Sum.FIRST_ORDERS),
    Measure.TOUCHED_EVENTS: MeasureForm(Unit.COUNT, TOUCHED_EVENTS),
    Measure.REVENUE: MeasureForm(Unit.MONEY, Sum.GROSS, minus=Sum.REFUNDS),
    Measure.GROSS_REVENUE: MeasureForm(Unit.MONEY, Sum.GROSS),
    Measure.REFUNDS: MeasureForm(Unit.MONEY, Sum.REFUNDS),
    Measure.TOUCHED_REVENUE: MeasureForm(Unit.MONEY, TOUCHED_REVENUE),
    Measure.AVERAGE_ORDER_VALUE: MeasureForm(Unit.RATIO, Sum.GROSS, per=Sum.ORDERS, scale=_MONEY_UNIT),
    Measure.DAYS_TO_CONVERSION: MeasureForm(Unit.RATIO, Sum.SECONDS, per=Sum.REACHED, scale=_DAY_SECONDS),
    Measure.TOUCHES_TO_CONVERSION: MeasureForm(Unit.RATIO, Sum.TOUCHES, per=Sum.REACHED),
}
"""The forms of the measures that do not depend on the model. Contacts and shares have none."""


def form_of(measure: Measure, model: str) -> MeasureForm:
    """Return the form of a measure that is made of sums."""
    if measure in CREDITED:
        unit = Unit.MONEY if measure is Measure.CREDITED_REVENUE else Unit.EVENTS
        return MeasureForm(unit, credit_sum(measure, model))
    return FORMS[measure]
