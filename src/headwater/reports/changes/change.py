"""Changed figures between two report snapshots. The differences of all causes add up exactly: no floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Generic, TypeVar

from msgspec import Struct

from headwater.attribution.history.revisions import ChangeCause
from headwater.attribution.trained_models.choice import ChosenModel
from headwater.reports.engine.conversion import LeftOutMoney, LeftOutSpend
from headwater.reports.engine.measures import Figure, change_between
from headwater.reports.engine.report import GroupKey
from headwater.reports.engine.snapshots import ReportSnapshot
from headwater.reports.query import (
    OF_PATHS,
    OF_TOUCHES,
    DateTimeSpan,
    Filters,
    Group,
    Measure,
    ReportQuery,
    column_rules,
    common_rules,
    refuse_broken_rules,
)
from headwater.spend.changes import ChangedSpend

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
"""Measures whose differences add up; averages and shares have two sums."""
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
"""Groups that depend only on events and touchpoints; former contact fields aren't stored."""
MAX_LARGEST = 5
"""Events and spend rows named for each cause."""
MAX_EVENT_GROUPS = 10

T = TypeVar("T")
U = TypeVar("U")
Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class ChangeQuery:
    report: ReportQuery
    start: ReportSnapshot | datetime
    """A snapshot or a local time."""
    end: ReportSnapshot | datetime | None = None
    """None means now."""

    @property
    def filters(self) -> Filters:
        return self.report.filters


def check_changes(query: ChangeQuery) -> None:
    """Raise Invalid with every broken rule."""
    report, filters = query.report, query.report.filters
    measure_names = ", ".join(SPLIT_MEASURES)
    rule = "must not depend on contact fields or companies: their former states are not stored."
    refuse_broken_rules(
        [
            *common_rules(report),
            *column_rules(report),
            (
                "measures",
                set(report.measures) <= set(SPLIT_MEASURES),
                f"must add up, so that differences can be split by cause: {measure_names}.",
            ),
            ("group_by", set(report.group_by) <= SPLIT_GROUPS, rule),
            ("only", {condition.group for condition in filters.only} <= SPLIT_GROUPS, rule),
            ("custom_field_filters", not filters.conditions, rule),
            (
                "campaign",
                filters.campaign is None,
                "must be left out: former campaign names are not stored. Use only=campaign:<key>.",
            ),
            ("query_mode", not report.by_company, "must be profile: former companies are not stored."),
        ]
    )


@dataclass(frozen=True)
class ExplainedChange(Generic[T]):
    start: T
    end: T
    causes: Mapping[ChangeCause, T]

    def map(self, make: Callable[[T], U]) -> ExplainedChange[U]:
        causes = {cause: make(value) for cause, value in self.causes.items()}
        return ExplainedChange(make(self.start), make(self.end), causes)

    @property
    def sides(self) -> list[T]:
        return [self.start, self.end, *self.causes.values()]


def zip_changes(changes: Sequence[ExplainedChange[T]]) -> ExplainedChange[tuple[T, ...]]:
    return ExplainedChange(
        tuple(change.start for change in changes),
        tuple(change.end for change in changes),
        {cause: tuple(change.causes[cause] for change in changes) for cause in changes[0].causes},
    )


@dataclass(frozen=True)
class FigureChange(ExplainedChange[Figures]):
    @classmethod
    def of(cls, change: ExplainedChange[Figures]) -> FigureChange:
        """Omit causes that moved no figure."""
        causes = {cause: parts for cause, parts in change.causes.items() if any(parts.values())}
        return cls(change.start, change.end, causes)

    @cached_property
    def difference(self) -> Figures:
        """None if a figure is missing at a snapshot."""
        return {name: _subtract(figure, self.start[name]) for name, figure in self.end.items()}

    @property
    def unexplained(self) -> Figures:
        """The differences less all causes' parts: 0 for every sum."""
        unexplained = dict(self.difference)
        for parts in self.causes.values():
            unexplained |= {name: _subtract(unexplained[name], value) for name, value in parts.items()}
        return unexplained


def _subtract(figure: Figure, subtrahend: Figure) -> Figure:
    return None if figure is None or subtrahend is None else change_between(figure, subtrahend).difference


class ChangedRow(Struct, frozen=True):
    keys: tuple[GroupKey, ...]
    change: FigureChange


class ChangedEvent(Struct, frozen=True):
    event_id: int
    name: str
    at: datetime
    """Local."""
    contact_id: int
    """The event's current or last contact."""
    is_stored: bool
    """False if the event was deleted or replaced."""
    events: int
    """The change in the number of events: usually 1, 0 or -1."""
    revenue: Decimal
    rows: tuple[tuple[tuple[GroupKey, ...], Figures], ...]
    """Differences by group, largest first."""


class CauseShare(Struct, frozen=True):
    cause: ChangeCause
    events: int | None
    largest_events: tuple[ChangedEvent, ...] = ()
    """At most MAX_LARGEST."""
    rows: int | None = None
    largest_rows: tuple[ChangedSpend, ...] = ()
    """At most MAX_LARGEST."""


NONE_CHANGED: tuple[None, tuple[()]] = None, ()
"""For a cause that changes no events or no rows."""


@dataclass(frozen=True, kw_only=True)
class ChangeReport:
    start: ReportSnapshot
    end: ReportSnapshot
    trained_models: tuple[ChosenModel | None, ChosenModel | None]
    total: FigureChange
    rows: tuple[ChangedRow, ...]
    """Largest differences first."""
    left_out: int
    """Changed groups beyond the limit."""
    causes: tuple[CauseShare, ...]
    span: DateTimeSpan
    timezone: str
    currency: str
    left_out_money: tuple[LeftOutMoney, ...]
    left_out_money_before: tuple[LeftOutMoney, ...]


@dataclass(frozen=True, kw_only=True)
class CreditChangeReport(ChangeReport):
    columns: tuple[str, ...]
    overall: FigureChange | None
    """All events; None for a period of touches."""
    unattributed: FigureChange | None

    @property
    def unexplained(self) -> Figures:
        return (self.overall or self.total).unexplained


@dataclass(frozen=True, kw_only=True)
class SpendChangeReport(ChangeReport):
    group: Group | None
    unmatched: FigureChange
    """Spend that belongs to no row."""
    cost_rate: Decimal | None
    """The current cost rate, used for both snapshots."""
    left_out_spend: tuple[LeftOutSpend, ...]
    left_out_spend_before: tuple[LeftOutSpend, ...]
