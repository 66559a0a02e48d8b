"""Queries of the events behind a figure, and their results. No float."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from headwater.attribution.fits.choice import ChosenFit
from headwater.http.inputs.pagination import Position
from headwater.reports.cohort_models import Acquisition
from headwater.reports.left_out_money import LeftOutMoney
from headwater.reports.models import DateBasis, DateTimeSpan, Filters, Measure, NoCredit, ReportQuery


class CreditFilter(StrEnum):
    """The events that are listed, by what became of their credit."""

    ALL = "all"
    CREDITED = "credited"
    """Of which a touch whose credit counts is credited."""
    UNATTRIBUTED = "unattributed"
    """Of which the model credits no touch."""
    NO_TOUCH = "no_touch"
    OUTSIDE_WINDOW = "outside_window"
    NOT_COUNTED = "not_counted"
    TOUCHED = "touched"
    """With a touch in the window whose credit would count, whatever the model credits."""

    @property
    def reasons(self) -> tuple[NoCredit, ...]:
        """The reasons for which the events have no credit; empty for a list of others."""
        if self is CreditFilter.UNATTRIBUTED:
            return tuple(NoCredit)
        return tuple(reason for reason in NoCredit if reason == self.value)


@dataclass(frozen=True)
class CreditsQuery:
    """One page of the events behind a figure. `query_credits` refuses what does not fit together.

    What several queries have in common means the same as in a ReportQuery.
    """

    start: datetime
    end: datetime
    model: str = "last_touch"
    window_days: int = 30
    by_company: bool = False
    filters: Filters = field(default_factory=Filters)
    date_basis: DateBasis = DateBasis.CONVERSION
    acquired: Acquisition | None = None
    """Only events of customers of one cohort; None is of anybody."""
    credit: CreditFilter | None = None
    """None is credited events where the credit of only some touches counts, else all."""
    per_page: int = 200
    at: Position | None = None
    """A second since 1970 and an event's id; None for the first page."""
    fit: str | None = None

    @property
    def listed(self) -> CreditFilter:
        """The events that are listed."""
        some = self.report.of_some_touches
        return self.credit or (CreditFilter.CREDITED if some else CreditFilter.ALL)

    @property
    def report(self) -> ReportQuery:
        """The report whose figures the totals are."""
        measures = [Measure.EVENTS, Measure.REVENUE]
        measures += [Measure.CREDITED_EVENTS, Measure.CREDITED_REVENUE]
        if self.credit is CreditFilter.TOUCHED:
            measures += [Measure.TOUCHED_EVENTS, Measure.TOUCHED_REVENUE]
        return ReportQuery(
            self.start,
            self.end,
            tuple(measures),
            models=(self.model,),
            window_days=self.window_days,
            by_company=self.by_company,
            filters=self.filters,
            date_basis=self.date_basis,
            fit=self.fit,
        )


@dataclass(frozen=True)
class TouchTags:
    """The ad, keyword and landing page of a touch; None where it says nothing. Names are the
    catalogue's where the touch has none.
    """

    campaign_id: str | None = None
    campaign_name: str | None = None
    adset_id: str | None = None
    adset_name: str | None = None
    ad_id: str | None = None
    ad_name: str | None = None
    keyword: str | None = None
    landing_page: str | None = None


@dataclass(frozen=True)
class TouchCredit:
    """A touch on the path to an event, and its credit."""

    occurred_at: datetime
    """In UTC, to the second."""
    source: str
    channel: str
    tags: TouchTags
    credited_events: Fraction
    credited_revenue: Decimal


@dataclass(frozen=True)
class EventCredit:
    """An event, and the credit of its touches that counts."""

    event_id: int
    event_name: str
    configured_name: str
    """The Space's name for such events."""
    event_time: datetime
    """In UTC."""
    contact_id: int
    contact_name: str | None
    company_id: int | None
    company_name: str | None
    order_id: str | None
    order_name: str | None
    """What people call the order, such as #1001."""
    amount: Decimal | None
    """In the currency of the list."""
    original_amount: Decimal | None
    original_currency: str
    """What the event itself says."""
    credited_events: Fraction
    """The part of the event that is credited to touches that count."""
    credited_revenue: Decimal
    """The same part of its amount."""
    reason: NoCredit | None
    """Why no touch is credited; None when one is, or when only some touches count."""
    touches: tuple[TouchCredit, ...]
    """The credited touches that count, in their order; in a list of touched events, all touches of
    the window that count. Of very many both ends.
    """
    left_out: int
    """Touches between these ends."""


@dataclass(frozen=True)
class CreditTotals:
    """Figures of all events of the list, as the report has them."""

    events: int
    amount: Decimal
    credited_events: Fraction = Fraction(0)
    credited_revenue: Decimal = Decimal(0)


@dataclass(frozen=True)
class CreditsPage:
    """One page of a list, the newest event first, and the totals of all of it."""

    rows: tuple[EventCredit, ...]
    totals: CreditTotals
    credit: CreditFilter
    next: Position | None
    previous: Position | None
    span: DateTimeSpan
    timezone: str
    currency: str
    """The Space's."""
    fit: ChosenFit | None = None
    """The fit that credit depends on."""
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """Of all pages together."""
