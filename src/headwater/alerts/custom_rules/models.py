"""Alert rules that members make: a figure of a report and the value that opens an alert. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from headwater.reports.query import OF_MONEY, Group, Measure, refuse_broken_rules
from headwater.spaces.currencies import count_decimals

COST_TITLES = {"roas": "ROAS", "cpa": "CPA", "cac": "CAC", "spend": "Ad spend", "contribution": "Profit"}
"""Figures of `GET /reports/spend`."""
REPORT_TITLES = {
    Measure.REVENUE: "Revenue",
    Measure.CREDITED_REVENUE: "Credited revenue",
    Measure.GROSS_REVENUE: "Revenue before refunds",
    Measure.REFUNDS: "Refunds",
    Measure.ORDERS: "Orders",
    Measure.CONVERSIONS: "Conversions",
    Measure.CREDITED_CONVERSIONS: "Credited conversions",
    Measure.AVERAGE_ORDER_VALUE: "Average order",
    Measure.NEW_CUSTOMERS: "New customers",
    Measure.CONTACTS: "People",
    Measure.VISITS: "Visits",
    Measure.CONVERSION_RATE: "Conversion rate",
    Measure.UPSELLS: "Upsells",
    Measure.REFUND_COUNT: "Number of refunds",
    Measure.EVENTS: "Events",
    Measure.CREDITED_EVENTS: "Credited events",
    Measure.TOUCHED_EVENTS: "Touched events",
    Measure.TOUCHED_REVENUE: "Touched revenue",
    Measure.DAYS_TO_CONVERSION: "Days to conversion",
    Measure.TOUCHES_TO_CONVERSION: "Touchpoints before it",
}
"""Figures of `GET /reports`."""
MEASURE_TITLES: Mapping[str, str] = COST_TITLES | {str(name): text for name, text in REPORT_TITLES.items()}
MONEY = frozenset({"cpa", "cac", "spend", "contribution", *OF_MONEY})
PERCENTAGES = frozenset({Measure.CONVERSION_RATE})
"""Figures and thresholds in per cent."""
PERIODS = {1: "yesterday", 7: "the last 7 full days", 30: "the last 30 full days"}
SPENDER_GROUPS = (Group.PLATFORM, Group.CAMPAIGN)
_MOST_DECIMALS = 4
_THRESHOLD = re.compile(rf"-?[0-9]{{1,9}}(\.[0-9]{{1,{_MOST_DECIMALS}}})?")
_DAY = timedelta(days=1)


class RuleCondition(StrEnum):
    BELOW = "below"
    ABOVE = "above"
    WITHOUT_ORDERS = "without_orders"
    """A row spent at least the threshold and has no credited order."""


@dataclass(frozen=True)
class RuleTerms:
    measure: str
    condition: RuleCondition
    threshold: Decimal
    currency: str
    days: int
    filter: str
    """`group:key`; empty for everything."""
    filter_name: str
    group_by: Group | None
    """The rows of a rule about spend without orders."""

    @property
    def title(self) -> str:
        """Return a sentence without full stop."""
        filter_text = f" of {self.filter_name}" if self.filter else ""
        threshold = self.format(self.threshold)
        if self.group_by is not None:
            return f"A {self.group_by}{filter_text} spent {threshold} or more without orders"
        return f"{MEASURE_TITLES[self.measure]}{filter_text} is {self.condition} {threshold}"

    @property
    def needs_spend_report(self) -> bool:
        return self.measure in COST_TITLES

    def format(self, figure: Decimal) -> str:
        """Return a figure with its unit, and with enough decimals to tell it from the threshold."""
        is_money = self.measure in MONEY
        decimals = count_decimals(figure, self.currency) if is_money else 2
        is_near = round(figure, decimals) == round(self.threshold, decimals)
        text = f"{figure:,.{_MOST_DECIMALS if is_near else decimals}f}"
        integer_digits, _, fraction = text.partition(".")
        fraction = fraction.rstrip("0").ljust(decimals if is_money else 0, "0")
        number = f"{integer_digits}.{fraction}" if fraction else integer_digits
        unit = self.currency if is_money else "%" if self.measure in PERCENTAGES else ""
        return f"{number} {unit}".rstrip()

    def find_days(self, today: date) -> tuple[date, date]:
        """Return the first and the last day of the period."""
        return today - self.days * _DAY, today - _DAY


class CustomRule(Struct, frozen=True):
    id: int
    terms: RuleTerms
    changed_at: datetime
    muted_until: datetime | None
    checked_at: datetime | None
    figure: Decimal | None
    note: str

    def is_muted(self, current_time: datetime) -> bool:
        return self.muted_until is not None and self.muted_until > current_time


def read_terms(form: Mapping[str, str], filters: Mapping[str, str], currency: str) -> RuleTerms:
    """Read a form; `filters` are the names of the selectable filters. Raise Invalid with every error."""
    is_without_orders = form["condition"] == RuleCondition.WITHOUT_ORDERS
    measure = "spend" if is_without_orders else form["measure"]
    threshold = form["threshold"].strip()
    is_number = _THRESHOLD.fullmatch(threshold) is not None
    groups = SPENDER_GROUPS if is_without_orders else ("",)
    refuse_broken_rules(
        [
            ("measure", measure in MEASURE_TITLES, "must be a figure from the list."),
            (
                "condition",
                form["condition"] in frozenset(RuleCondition),
                f"must be one of {', '.join(RuleCondition)}.",
            ),
            ("threshold", is_number, "must be a number such as 2 or 2.5, with at most four decimals."),
            (
                "threshold",
                not (is_without_orders and is_number) or Decimal(threshold) > 0,
                "must be above 0 for spend without orders.",
            ),
            ("days", form["days"] in map(str, PERIODS), f"must be one of {', '.join(map(str, PERIODS))}."),
            ("filter", form["filter"] in ("", *filters), "must be a platform, source, channel or campaign."),
            ("group_by", form["group_by"] in groups, f"must be {' or '.join(groups) or 'empty'}."),
        ]
    )
    return RuleTerms(
        measure,
        RuleCondition(form["condition"]),
        Decimal(threshold),
        currency,
        int(form["days"]),
        form["filter"],
        filters.get(form["filter"], ""),
        Group(form["group_by"]) if is_without_orders else None,
    )


def is_broken(terms: RuleTerms, figure: Decimal) -> bool:
    """Return whether a figure opens an alert. The threshold itself does not."""
    return figure < terms.threshold if terms.condition is RuleCondition.BELOW else figure > terms.threshold
