"""A report made ready: everything that adding up needs, once for all pieces of the data. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.paths.lookup import place_among
from headwater.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.reports.dimensions import Dimension, time_column
from headwater.reports.forms import FORMS, Sum
from headwater.reports.models import CREDITED, TOUCHED, DateBasis, Measure, ReportQuery
from headwater.reports.selection import EventConditions, KeyFilter, window_columns


@dataclass(frozen=True)
class FirstOrders:
    """The first order of every contact."""

    contacts: IntArray
    """Ascending."""
    event_ids: IntArray

    def include(self, paths: PathData) -> BoolArray:
        """Return which events are the first order of their contact."""
        places, first = place_among(self.contacts, paths[Column.CONTACTS])
        first[first] = self.event_ids[places[first]] == paths[Column.EVENT_IDS][first]
        return first


@dataclass(frozen=True)
class Plan:
    """Everything that a report adds up over one period."""

    query: ReportQuery
    period: range
    """The seconds of the period, since 1970."""
    conditions: EventConditions
    dimensions: tuple[Dimension, ...]
    source_ids: frozenset[int] = frozenset()
    """The sources whose credit counts; empty is all."""
    tag_sets: IntArray | None = None
    """The tag sets whose credit counts, ascending; None is all."""
    touch_keys: tuple[KeyFilter, ...] = ()
    """The groups that the touches whose credit counts are in."""
    first_orders: FirstOrders | None = None
    """Only for counting new customers."""

    @property
    def is_about_touches(self) -> bool:
        return self.query.is_about_touches

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
            *self.conditions.columns,
            *(column for dimension in self.dimensions for column in dimension.columns),
            *(column for each in self.touch_keys for column in each.dimension.columns),
        ]  # fmt: skip
        if self.needs(Measure.CONTACTS, Measure.NEW_CUSTOMERS):
            columns.append(Column.CONTACTS)
        if self.is_about_touches:
            columns += [*window_columns(self.query.window_days), Column.SOURCES]
        if self.tag_sets is not None:
            columns.append(Column.TAG_SETS)
        if self.needs(Measure.DAYS_TO_CONVERSION):
            columns.append(Column.TOUCH_SECONDS)
        if self.query.date_basis is DateBasis.TOUCH:
            columns.append(time_column(of_touch=True))
        return tuple(dict.fromkeys(columns))

    @property
    def credits(self) -> bool:
        """True when credit is added up."""
        return self.needs(*CREDITED)

    @property
    def touched(self) -> bool:
        return self.needs(*TOUCHED)
