"""The measures of a report by name, and what some of them have in common."""

from __future__ import annotations

from enum import StrEnum


class Measure(StrEnum):
    """The measures of a report. What each means: docs/reports.md."""

    EVENTS = "events"
    CONVERSIONS = "conversions"
    ORDERS = "orders"
    UPSELLS = "upsells"
    REFUND_COUNT = "refund_count"
    REVENUE = "revenue"
    GROSS_REVENUE = "gross_revenue"
    REFUNDS = "refunds"
    AVERAGE_ORDER_VALUE = "average_order_value"
    CONTACTS = "contacts"
    NEW_CUSTOMERS = "new_customers"
    CREDITED_EVENTS = "credited_events"
    CREDITED_CONVERSIONS = "credited_conversions"
    CREDITED_REVENUE = "credited_revenue"
    TOUCHED_EVENTS = "touched_events"
    TOUCHED_REVENUE = "touched_revenue"
    DAYS_TO_CONVERSION = "days_to_conversion"
    TOUCHES_TO_CONVERSION = "touches_to_conversion"
    SHARE = "share"


CREDITED = frozenset({Measure.CREDITED_EVENTS, Measure.CREDITED_CONVERSIONS, Measure.CREDITED_REVENUE})
"""Measures that depend on the model wherever they are."""
TOUCHED = frozenset({Measure.TOUCHED_EVENTS, Measure.TOUCHED_REVENUE})
ON_PATHS = CREDITED | TOUCHED | {Measure.DAYS_TO_CONVERSION, Measure.TOUCHES_TO_CONVERSION}
"""Measures that need the touches before an event."""
JUDGED = (
    Measure.EVENTS,
    Measure.CONVERSIONS,
    Measure.ORDERS,
    Measure.REVENUE,
    Measure.GROSS_REVENUE,
    Measure.CREDITED_EVENTS,
    Measure.CREDITED_CONVERSIONS,
    Measure.CREDITED_REVENUE,
)
"""Measures whose final figure can be told in advance."""
OF_MONEY = frozenset(
    {
        Measure.REVENUE,
        Measure.GROSS_REVENUE,
        Measure.REFUNDS,
        Measure.AVERAGE_ORDER_VALUE,
        Measure.CREDITED_REVENUE,
        Measure.TOUCHED_REVENUE,
    }
)
AVERAGES = frozenset({Measure.AVERAGE_ORDER_VALUE, Measure.DAYS_TO_CONVERSION, Measure.TOUCHES_TO_CONVERSION})
