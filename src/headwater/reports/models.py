"""Queries of reports, and their results. Money and shares are exact: no float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from headwater.contacts.filters import Condition


class Measure(StrEnum):
    """The measures that a report can add up."""

    EVENTS = "events"
    REVENUE = "revenue"
    CREDITED_EVENTS = "credited_events"
    CREDITED_REVENUE = "credited_revenue"
    CONTACTS = "contacts"
    AVERAGE_ORDER_VALUE = "average_order_value"


CREDITED = frozenset({Measure.CREDITED_EVENTS, Measure.CREDITED_REVENUE})


class Group(StrEnum):
    """The groups of a report, by something that events or their credited touches have in common."""

    SOURCE = "source"
    CHANNEL = "channel"
    CAMPAIGN = "campaign"
    ADSET = "adset"
    AD = "ad"
    KEYWORD = "keyword"
    EVENT = "event"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    COUNTRY = "country"
    COMPANY = "company"


class Comparison(StrEnum):
    """The other time that a report is compared with."""

    NONE = "none"
    PREVIOUS_PERIOD = "previous_period"
    PREVIOUS_YEAR = "previous_year"


@dataclass(frozen=True)
class Filters:
    """Conditions on the events, and on the touches whose credit counts; empty is all."""

    event_names: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    """On the custom fields of an event's contact."""
    sources: tuple[str, ...] = ()
    campaign: str | None = None
    """A part of the campaign's id or name, in any case."""

    @property
    def of_touches(self) -> bool:
        """True when the credit of only some touches counts."""
        return bool(self.sources) or self.campaign is not None


@dataclass(frozen=True)
class ReportQuery:
    """One report. `query_report` refuses what does not fit together."""

    start: datetime
    """First second of the range, on the clock of the Space's zone, without a zone of its own."""
    end: datetime
    """Last second of the range, included."""
    measures: tuple[Measure, ...]
    group_by: tuple[Group, ...] = ()
    """At most two."""
    model: str = "last_touch"
    """One of attribution's MODELS."""
    window_days: int = 30
    """One of attribution's WINDOWS."""
    by_company: bool = False
    """True when an event's path is that of its whole company, if it has one."""
    filters: Filters = Filters()
    compare: Comparison = Comparison.NONE
    limit: int = 50
    """The most groups to list, from 1 to MOST_ROWS."""
    order_by: Measure | Group | None = None
    """One of the query's measures and groups; None is the first measure."""
    descending: bool = True


Figure = int | Decimal | Fraction | None
"""`events` and `contacts` are int, `credited_events` a Fraction, the others Decimal; None for the
average of nothing.
"""
Figures = Mapping[Measure, Figure]


@dataclass(frozen=True)
class MeasureChange:
    """From the compared figure to the present one."""

    difference: Decimal | Fraction | int
    ratio: Decimal | None
    """The difference over the compared figure's absolute value, to four decimals; None from 0."""


@dataclass(frozen=True)
class GroupKey:
    """One property that a group has in common."""

    value: str | None
    """An id or a name; the first day for days, weeks and months. None: has none."""
    label: str | None
    """The name that people know it by."""


@dataclass(frozen=True)
class ReportRow:
    """A group, or everything, and its figures."""

    keys: tuple[GroupKey, ...]
    """One key for each of `group_by`; empty for rows that are not of one group."""
    figures: Figures
    compared: Figures | None = None
    """None without a comparison, and where the other time has no counterpart."""
    changes: Mapping[Measure, MeasureChange] | None = None
    """The changes of the measures that both have."""


@dataclass(frozen=True)
class DateTimeSpan:
    """Local date-times, both included to their whole second."""

    start: datetime
    end: datetime


@dataclass(frozen=True)
class Report:
    """The result of a query, the listed groups first."""

    rows: tuple[ReportRow, ...]
    left_out: int
    """Groups beyond the limit."""
    total: ReportRow
    """Over everything, listed or not, and each event once."""
    unattributed: ReportRow | None
    """The events without a credited touch; None when the query is not about credit, or only about
    that of some touches. The total's `credited_revenue` and this row's `revenue` are its `revenue`.
    """
    span: DateTimeSpan
    compared_span: DateTimeSpan | None
    timezone: str
    currency: str
    """The Space's. Amounts are added as they are, whatever currency an event says."""
