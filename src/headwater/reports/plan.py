"""Reports made ready: everything that adding up needs, once for all pieces of the data. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.fits.choice import ChosenFit
from headwater.paths.lookup import NumberMap
from headwater.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.paths.survey import Survey
from headwater.reports.customers import CONTACTS, Customers
from headwater.reports.dimensions import Dimension, time_column
from headwater.reports.forms import FORMS, Sum
from headwater.reports.models import CREDITED, TOUCHED, DateBasis, Measure, ReportQuery
from headwater.reports.selection import EventConditions, KeyFilter, window_columns

NO_MARK = -(1 << 63)
"""The mark of a contact without an order: no time, and no id."""


@dataclass(frozen=True)
class FirstOrders:
    """The first order of every customer."""

    marks: NumberMap
    """The mark by which each customer's is known among its orders."""
    marked_by: Column
    """The column of the marks: times, or ids where some customer has several orders at its first
    time.
    """
    survey: Survey
    """What they were found in."""
    customers: Customers = CONTACTS

    def include(self, paths: PathData) -> BoolArray:
        """Return which events are the first order of their customer."""
        marks = self.marks.find(self.customers.keys(paths))
        return (marks == paths[self.marked_by]) & (paths[Column.AMOUNTS] > 0)


@dataclass(frozen=True, eq=False)
class ReportScope:
    """The events that some reports are about over one period, and the touches whose credit counts:
    reports that differ by their groups and measures alone have it in common.
    """

    query: ReportQuery
    """What they have in common; of measures and groups it says nothing."""
    period: range
    """The seconds of the period, since 1970."""
    conditions: EventConditions
    source_ids: frozenset[int] = frozenset()
    """The sources whose credit counts; empty is all."""
    tag_sets: IntArray | None = None
    """The tag sets whose credit counts, ascending; None is all."""
    touch_keys: tuple[KeyFilter, ...] = ()
    """The groups that the touches whose credit counts are in."""
    first_orders: FirstOrders | None = None
    """Only for counting new customers."""
    half_life_days: int | None = None
    """Of the Space; only where credit goes by the age of touches."""
    fit: ChosenFit | None = None
    """Only where credit goes by one."""

    @property
    def touch_columns(self) -> tuple[Column, ...]:
        """The columns of paths that tell which touches count."""
        columns = [column for each in self.touch_keys for column in each.dimension.columns]
        if self.tag_sets is not None:
            columns.append(Column.TAG_SETS)
        if self.query.date_basis is DateBasis.TOUCH:
            columns.append(time_column(of_touch=True))
        return tuple(columns)


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that a report adds up over one period."""

    query: ReportQuery
    scope: ReportScope
    dimensions: tuple[Dimension, ...]

    @property
    def is_about_touches(self) -> bool:
        return self.query.is_about_touches

    @property
    def paths_of_companies(self) -> bool:
        """True when an event's path is that of its whole company."""
        return self.query.by_company and self.is_about_touches

    def needs(self, *measures: Measure) -> bool:
        """Return whether the report has any of these measures."""
        return not set(measures).isdisjoint(self.query.measures)

    @property
    def event_sums(self) -> tuple[Sum, ...]:
        """The sums of whole events that its measures are made of."""
        forms = [FORMS[measure] for measure in self.query.measures if measure in FORMS]
        return tuple(dict.fromkeys(part for form in forms for part in form.sums))

    @property
    def status_sums(self) -> tuple[Sum, ...]:
        """The same for everything together, where credit is also that of nobody."""
        basis = [Sum.EVENTS, Sum.GROSS, Sum.REFUNDS]
        basis += [Sum.REACHED, Sum.REACHED_REVENUE] if self.touched else []
        return tuple(dict.fromkeys([*self.event_sums, *basis]))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of paths that the report reads."""
        columns = [
            *self.scope.conditions.columns,
            *(column for dimension in self.dimensions for column in dimension.columns),
            *self.scope.touch_columns,
        ]  # fmt: skip
        if self.needs(Measure.CONTACTS, Measure.NEW_CUSTOMERS):
            columns.append(Column.CONTACTS)
        if self.is_about_touches:
            columns += [*window_columns(self.query.window_days), Column.SOURCES]
            if self.scope.half_life_days is not None:
                columns.append(Column.TOUCH_SECONDS)
        if self.needs(Measure.DAYS_TO_CONVERSION):
            columns.append(Column.TOUCH_SECONDS)
        return tuple(dict.fromkeys(columns))

    @property
    def credits(self) -> bool:
        """True when credit is added up."""
        return self.needs(*CREDITED)

    @property
    def touched(self) -> bool:
        return self.needs(*TOUCHED)
