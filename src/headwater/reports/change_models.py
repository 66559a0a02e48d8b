"""Queries of changes between two readings of a report, and their results. Exact: no float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from headwater.attribution.fits.choice import ChosenFit
from headwater.attribution.history.revisions import ChangeCause
from headwater.reports.engine.conversion import LeftOutMoney
from headwater.reports.engine.measures import Figures
from headwater.reports.engine.readings import ReportReading
from headwater.reports.engine.report import GroupKey
from headwater.reports.query import (
    OF_PATHS,
    OF_TOUCHES,
    DateTimeSpan,
    FigureColumn,
    Filters,
    Group,
    Measure,
    ReportQuery,
    column_rules,
    common_rules,
    refuse_broken_rules,
)

SPLIT_MEASURES = (
    Measure.EVENTS,
    Measure.CONVERSIONS,
    Measure.ORDERS,
    Measure.UPSELLS,
    Measure.REFUND_COUNT,
    Measure.REVENUE,
    Measure.GROSS_REVENUE,
    Measure.REFUNDS,
    Measure.CREDITED_EVENTS,
    Measure.CREDITED_CONVERSIONS,
    Measure.CREDITED_REVENUE,
    Measure.TOUCHED_EVENTS,
    Measure.TOUCHED_REVENUE,
    Measure.NEW_CUSTOMERS,
)
"""Measures whose differences add up. Of an average or a share, its two parts can be asked for."""
SPLIT_GROUPS = frozenset(
    {
        *OF_TOUCHES,
        *OF_PATHS,
        Group.EVENT,
        Group.KIND,
        Group.DAY,
        Group.WEEK,
        Group.MONTH,
        Group.WEEKDAY,
        Group.HOUR,
        Group.CONTACT,
        Group.CUSTOMER,
    }
)
"""Groups that follow from events and touchpoints alone. Of what contacts are like, and of the
companies that they belong to, no former state is kept.
"""
MOST_LARGEST = 5
MOST_GROUPS = 10
"""Groups of one event that are named."""


@dataclass(frozen=True)
class ChangeQuery:
    """The changes of a report between two readings."""

    report: ReportQuery
    start: ReportReading | datetime
    """A reading, or a moment on the Space's clock."""
    end: ReportReading | datetime | None = None
    """None is now."""

    @property
    def filters(self) -> Filters:
        return self.report.filters


@dataclass(frozen=True)
class FigureChange:
    """The figures of a group, or of everything, at both readings, and what has led from one to the
    other.
    """

    start: Figures
    end: Figures
    difference: Figures
    causes: Mapping[ChangeCause, Figures]
    """The parts of the difference, which add up to it; those that are all 0 are left out."""

    @property
    def has_changed(self) -> bool:
        return bool(self.causes)


@dataclass(frozen=True)
class ChangedRow:
    """A group whose figures have changed."""

    keys: tuple[GroupKey, ...]
    change: FigureChange


@dataclass(frozen=True)
class ChangedEvent:
    """An event that has changed figures."""

    event_id: int
    name: str
    at: datetime
    """On the Space's clock."""
    contact_id: int
    """Whose it is, or was last."""
    is_stored: bool
    """False of one that is gone."""
    events: int
    """The events that there are more, 1, 0 or -1 for each time."""
    revenue: Decimal
    """The difference of its amount."""
    rows: tuple[tuple[tuple[GroupKey, ...], Figures], ...]
    """The differences that it makes to groups."""


@dataclass(frozen=True)
class CauseShare:
    """One cause of the differences."""

    cause: ChangeCause
    events: int | None
    """The number of events that it has changed something of; None for what changes none of them,
    but what all are measured by.
    """
    largest: tuple[ChangedEvent, ...]
    """Those that have moved the most of the first measure, at most MOST_LARGEST."""


@dataclass(frozen=True)
class LeftOutSides:
    """Money that the sums at both readings leave out."""

    start: tuple[LeftOutMoney, ...]
    end: tuple[LeftOutMoney, ...]


@dataclass(frozen=True)
class ChangeReport:
    """The result of a query."""

    columns: tuple[FigureColumn, ...]
    start: ReportReading
    end: ReportReading
    fits: tuple[ChosenFit | None, ChosenFit | None]
    """What credit went by at both, where it goes by one."""
    total: FigureChange
    overall: FigureChange | None
    """None for a period of touches."""
    unattributed: FigureChange | None
    """None where a report has none."""
    rows: tuple[ChangedRow, ...]
    """Those whose first measure differs most come first."""
    left_out: int
    """Changed groups beyond the limit."""
    causes: tuple[CauseShare, ...]
    unexplained: Figures
    """What of the overall difference, or of that in total, is put down to no cause."""
    span: DateTimeSpan
    timezone: str
    currency: str
    left_out_money: LeftOutSides


def check_changes(query: ChangeQuery) -> None:
    """The same for a query of what has changed: of what cannot be split by cause, it says so."""
    report, filters = query.report, query.report.filters
    listed = ", ".join(SPLIT_MEASURES)
    kept = "must not depend on what contacts are like, or on companies: no former state is kept."
    refuse_broken_rules(
        [
            *common_rules(report),
            *column_rules(report),
            (
                "measures",
                set(report.measures) <= set(SPLIT_MEASURES),
                f"must add up, so that differences can be split by cause: {listed}.",
            ),
            ("group_by", set(report.group_by) <= SPLIT_GROUPS, kept),
            ("only", {condition.group for condition in filters.only} <= SPLIT_GROUPS, kept),
            ("custom_field_filters", not filters.conditions, kept),
            (
                "campaign",
                filters.campaign is None,
                "must be left out: no former names of campaigns are kept. Use only=campaign:<key>.",
            ),
            ("query_mode", not report.by_company, "must be profile, as no former state is kept."),
        ]
    )
