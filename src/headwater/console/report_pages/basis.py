"""Measures: money if the conversions are sales, counts otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.console.report_pages.view import ANY, SALES, ReportView
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.engine.report import ReportResult, ReportRow
from headwater.reports.query import VISIT_GROUPS, FigureColumn, Measure
from headwater.spaces.models import Space

SMALLEST_AMOUNT = "0.0001"


@dataclass(frozen=True)
class HeadlineMeasure:
    measure: Measure
    title: str
    made_of: MadeOf
    """Parameters that select the events in the figure."""


@dataclass(frozen=True)
class Basis:
    credited: Measure
    """The credited share."""
    whole: Measure
    """The same over complete events."""
    touched: Measure
    """The same over complete events with any credit."""
    columns: tuple[Measure, ...]
    """Table columns, `credited` first."""
    headlines: tuple[HeadlineMeasure, ...]

    @property
    def counted(self) -> Measure:
        """The count of complete events."""
        return Measure.CONVERSIONS if self.credited is Measure.CREDITED_REVENUE else self.whole

    @property
    def column(self) -> FigureColumn:
        return FigureColumn(self.credited)

    @property
    def whole_column(self) -> FigureColumn:
        return FigureColumn(self.whole)

    @property
    def measures(self) -> tuple[Measure, ...]:
        top = (headline.measure for headline in self.headlines)
        return tuple(dict.fromkeys([*self.columns, self.whole, *top]))


MadeOf = Mapping[str, str | tuple[str, ...]]
_ORDERS: MadeOf = {"only": "kind:order"}
_PAID: MadeOf = {"amount_min": SMALLEST_AMOUNT}
NEW: MadeOf = {"only": "customer:new", "amount_min": SMALLEST_AMOUNT}
"""First orders of customers. The minimum amount excludes refunds."""
CONVERTING: MadeOf = {"only": ("kind:order", "kind:conversion")}
MADE_OF: Mapping[Measure, MadeOf] = {
    Measure.NEW_CUSTOMERS: NEW,
    Measure.CREDITED_CONVERSIONS: CONVERTING,
    Measure.CONVERSIONS: CONVERTING,
}
"""Parameters that select the events in a column, if not all count."""
MONEY = Basis(
    Measure.CREDITED_REVENUE,
    Measure.REVENUE,
    Measure.TOUCHED_REVENUE,
    (Measure.CREDITED_REVENUE, Measure.SHARE, Measure.CREDITED_CONVERSIONS, Measure.NEW_CUSTOMERS),
    (
        HeadlineMeasure(Measure.REVENUE, "Revenue", {}),
        HeadlineMeasure(Measure.ORDERS, "Orders", _ORDERS),
        HeadlineMeasure(Measure.AVERAGE_ORDER_VALUE, "Average order", _PAID),
        HeadlineMeasure(Measure.NEW_CUSTOMERS, "New customers", NEW),
    ),
)
CONVERSIONS = Basis(
    Measure.CREDITED_CONVERSIONS,
    Measure.CONVERSIONS,
    Measure.TOUCHED_EVENTS,
    (Measure.CREDITED_CONVERSIONS, Measure.SHARE, Measure.CONTACTS),
    (
        HeadlineMeasure(Measure.CONVERSIONS, "Conversions", CONVERTING),
        HeadlineMeasure(Measure.CONTACTS, "People", {}),
        HeadlineMeasure(Measure.DAYS_TO_CONVERSION, "Days to conversion", {}),
        HeadlineMeasure(Measure.TOUCHES_TO_CONVERSION, "Touchpoints before it", {}),
    ),
)
EVENTS = Basis(
    Measure.CREDITED_EVENTS,
    Measure.EVENTS,
    Measure.TOUCHED_EVENTS,
    (Measure.CREDITED_EVENTS, Measure.SHARE, Measure.CONTACTS),
    (
        HeadlineMeasure(Measure.EVENTS, "Events", {}),
        HeadlineMeasure(Measure.CONTACTS, "People", {}),
        HeadlineMeasure(Measure.DAYS_TO_CONVERSION, "Days to conversion", {}),
        HeadlineMeasure(Measure.TOUCHES_TO_CONVERSION, "Touchpoints before it", {}),
    ),
)
_TITLES = {
    Measure.CREDITED_REVENUE: "Revenue",
    Measure.REVENUE: "Revenue",
    Measure.CREDITED_EVENTS: "Events",
    Measure.EVENTS: "Events",
    Measure.SHARE: "Share",
    Measure.NEW_CUSTOMERS: "New customers",
    Measure.CONTACTS: "People",
    Measure.TOUCHED_REVENUE: "Touched revenue",
    Measure.TOUCHED_EVENTS: "Touched events",
    Measure.DAYS_TO_CONVERSION: "Days to conversion",
    Measure.VISITS: "Visits",
    Measure.CONVERSION_RATE: "Conversion rate",
}
"""Column headers, except conversion counts."""
_CONVERSION_TITLES = {
    SALES: "Orders",
    ANY: "Conversions",
    "lead_generated": "Leads",
    "sign_up": "Sign-ups",
    "start_trial": "Trials",
    "subscribe": "Subscriptions",
    "contact": "Enquiries",
    "complete_registration": "Registrations",
    "submit_application": "Applications",
    "schedule": "Appointments",
    "webinar_registration": "Webinar registrations",
    "view_content": "Content views",
    "add_to_cart": "Adds to cart",
    "initiate_checkout": "Checkouts",
    "add_payment_info": "Payment details",
}


def choose_basis(view: ReportView) -> Basis:
    """Choose the measures. Visits are among them unless a filter is on a group that visits don't have."""
    basis = EVENTS if view.conversion == ANY else CONVERSIONS
    if view.is_monetary:
        basis = MONEY
    if {text.partition(":")[0] for text in view.only} <= set(VISIT_GROUPS):
        basis = replace(basis, columns=(*basis.columns, Measure.VISITS, Measure.CONVERSION_RATE))
    return basis


def describe_no_credit(window: str, noun: str) -> dict[NoCredit, str]:
    """Return why an event has no credit, by reason. `window` is in words."""
    return {
        NoCredit.NO_TOUCH: f"no visit seen before the {noun}",
        NoCredit.OUTSIDE_WINDOW: f"last visit more than {window} before",
        NoCredit.NOT_COUNTED: "only visits that the model ignores",
    }


def conversions_title(space: Space, conversion: str) -> str:
    """Return a plural label: Orders, Leads."""
    label = space.event_labels.get(conversion)
    return label or _CONVERSION_TITLES.get(conversion) or conversion.replace("_", " ").capitalize()


def title_columns(space: Space, view: ReportView) -> dict[Measure, str]:
    conversions = conversions_title(space, view.conversion)
    conversion_measures = (Measure.CONVERSIONS, Measure.CREDITED_CONVERSIONS)
    return {**_TITLES, **dict.fromkeys(conversion_measures, conversions)}


def get_total_row(report: ReportResult) -> ReportRow:
    """Count only credited events with touchpoint filters."""
    return report.total if report.overall is None or report.unattributed is None else report.overall


def is_space_empty(report: ReportResult) -> bool:
    """Return whether the Space has no event of any time."""
    return not (report.event_counts or report.first_event or report.last_event)
