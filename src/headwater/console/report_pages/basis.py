"""The measures of a page of reports: money where conversions are sales, else the conversions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.reports.models import FigureColumn, Measure, NoCredit

REASONS = {
    NoCredit.NO_TOUCH: "no touchpoint before it",
    NoCredit.OUTSIDE_WINDOW: "touchpoints only before the window",
    NoCredit.NOT_COUNTED: "only touchpoints that the model does not count",
}
"""Why an event is unattributed, in words."""
SMALLEST_AMOUNT = "0.0001"
"""The least amount of an order, as a parameter."""


@dataclass(frozen=True)
class HeadlineMeasure:
    """A figure at the top of a page."""

    measure: Measure
    title: str
    made_of: Mapping[str, str]
    """The parameters that leave only the events that it is made of."""


@dataclass(frozen=True)
class Basis:
    """The measures of a page."""

    credited: Measure
    """What is shared out between touchpoints."""
    whole: Measure
    """The same of whole events."""
    touched: Measure
    """The same of whole events that something had a part in."""
    columns: tuple[Measure, ...]
    """Of tables, the first being `credited`."""
    headlines: tuple[HeadlineMeasure, ...]

    @property
    def column(self) -> FigureColumn:
        """The column of what is shared out."""
        return FigureColumn(self.credited)

    @property
    def whole_column(self) -> FigureColumn:
        """The column of the same of whole events."""
        return FigureColumn(self.whole)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Everything that is in tables and at the top."""
        top = (headline.measure for headline in self.headlines)
        return tuple(dict.fromkeys([*self.columns, self.whole, *top]))


_ORDERS = {"amount_min": SMALLEST_AMOUNT}
_NEW = {"only": "customer:new"}
MADE_OF: Mapping[Measure, Mapping[str, str]] = {Measure.NEW_CUSTOMERS: _NEW}
"""The parameters that leave only what a column counts, where that is not every event."""
MONEY = Basis(
    Measure.CREDITED_REVENUE,
    Measure.REVENUE,
    Measure.TOUCHED_REVENUE,
    (Measure.CREDITED_REVENUE, Measure.SHARE, Measure.CREDITED_EVENTS, Measure.NEW_CUSTOMERS),
    (
        HeadlineMeasure(Measure.REVENUE, "Revenue", {}),
        HeadlineMeasure(Measure.ORDERS, "Orders", _ORDERS),
        HeadlineMeasure(Measure.AVERAGE_ORDER_VALUE, "Average order", _ORDERS),
        HeadlineMeasure(Measure.NEW_CUSTOMERS, "New customers", _NEW),
    ),
)
EVENTS = Basis(
    Measure.CREDITED_EVENTS,
    Measure.EVENTS,
    Measure.TOUCHED_EVENTS,
    (Measure.CREDITED_EVENTS, Measure.SHARE, Measure.CONTACTS),
    (
        HeadlineMeasure(Measure.EVENTS, "Conversions", {}),
        HeadlineMeasure(Measure.CONTACTS, "People", {}),
        HeadlineMeasure(Measure.DAYS_TO_CONVERSION, "Days to conversion", {}),
        HeadlineMeasure(Measure.TOUCHES_TO_CONVERSION, "Touchpoints before it", {}),
    ),
)
TITLES = {
    Measure.CREDITED_REVENUE: "Revenue",
    Measure.CREDITED_EVENTS: "Conversions",
    Measure.SHARE: "Share",
    Measure.NEW_CUSTOMERS: "New customers",
    Measure.CONTACTS: "People",
    Measure.TOUCHED_REVENUE: "Touched revenue",
    Measure.TOUCHED_EVENTS: "Touched conversions",
}
"""The heads of columns."""
