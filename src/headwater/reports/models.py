"""Queries of reports, and their results. Money and shares are exact: no float."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from headwater.attribution.fits.choice import ChosenFit, is_needed
from headwater.attribution.models import MODELS
from headwater.http.inputs.period_words import CalendarUnit
from headwater.people.contacts.filters import Condition
from headwater.reports.left_out_money import LeftOutMoney
from headwater.reports.measure_names import CREDITED, OF_MONEY, ON_PATHS, Measure
from headwater.reports.ripeness import Ripeness


class Group(StrEnum):
    """The groups of a report, by something that events or their credited touches have in common."""

    SOURCE = "source"
    PLATFORM = "platform"
    CHANNEL = "channel"
    CAMPAIGN = "campaign"
    ADSET = "adset"
    AD = "ad"
    KEYWORD = "keyword"
    LANDING_PAGE = "landing_page"
    EVENT = "event"
    KIND = "kind"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    WEEKDAY = "weekday"
    HOUR = "hour"
    COUNTRY = "country"
    COMPANY = "company"
    CONTACT = "contact"
    CUSTOMER = "customer"
    SELF_REPORTED_SOURCE = "self_reported_source"
    PATH = "path"
    CHANNEL_PATH = "channel_path"
    FIRST_SOURCE = "first_source"
    LAST_SOURCE = "last_source"
    TOUCH_RANGE = "touch_range"
    DAYS_RANGE = "days_range"


OF_TOUCHES = frozenset(
    {
        Group.SOURCE,
        Group.PLATFORM,
        Group.CHANNEL,
        Group.CAMPAIGN,
        Group.ADSET,
        Group.AD,
        Group.KEYWORD,
        Group.LANDING_PAGE,
    }
)
OF_PATHS = frozenset(
    {
        Group.PATH,
        Group.CHANNEL_PATH,
        Group.FIRST_SOURCE,
        Group.LAST_SOURCE,
        Group.TOUCH_RANGE,
        Group.DAYS_RANGE,
    }
)
"""Groups of events by the touches in the window before them."""
STEPS = (Group.DAY, Group.WEEK, Group.MONTH)
"""Groups into which a period is cut, one after the other."""
CLOCK = (*STEPS, Group.WEEKDAY, Group.HOUR)
"""Groups that are read off the Space's clock."""


class DateBasis(StrEnum):
    """The date that puts credit into a period: the event's, or the credited touch's."""

    CONVERSION = "conversion"
    TOUCH = "touch"


@dataclass(frozen=True)
class DateTimeSpan:
    """Local date-times, both included to their whole second."""

    start: datetime
    end: datetime


class Comparison(StrEnum):
    """The other time that a report is compared with."""

    NONE = "none"
    PREVIOUS_PERIOD = "previous_period"
    PREVIOUS_YEAR = "previous_year"


ALL_ROWS = 1 << 31
"""A limit for reports that other reports are made of."""


@dataclass(frozen=True)
class KeyCondition:
    """One key of a group that events, or the touches whose credit counts, may have."""

    group: Group
    key: str | None
    """As the report's rows have it; None is of what has none."""


@dataclass(frozen=True)
class Filters:
    """Conditions on the events, and on the touches whose credit counts; empty is all."""

    event_names: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    """On the custom fields of an event's contact."""
    sources: tuple[str, ...] = ()
    campaign: str | None = None
    """A part of the campaign's id or name, in any case."""
    amount_min: Decimal | None = None
    amount_max: Decimal | None = None
    """Bounds of the event's amount, both included. With either, events without one are left out."""
    only: tuple[KeyCondition, ...] = ()
    """Of several of one group any is met, of different groups each."""

    @property
    def of_touches(self) -> bool:
        """True when the credit of only some touches counts."""
        return bool(self.sources) or self.campaign is not None or self.names(OF_TOUCHES)

    def names(self, groups: Collection[Group]) -> bool:
        """Return whether there is a condition on a key of one of these groups."""
        return any(condition.group in groups for condition in self.only)


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
    models: tuple[str, ...] = ("last_touch",)
    """Of attribution's MODELS, at least one; with several each has its own credited figures."""
    window_days: int = 30
    """One of attribution's WINDOWS."""
    by_company: bool = False
    """True when an event's path is that of its whole company, if it has one."""
    filters: Filters = Filters()
    date_basis: DateBasis = DateBasis.CONVERSION
    compare: Comparison = Comparison.NONE
    limit: int = 50
    """The most groups to list, from 1 to MOST_ROWS."""
    currency: str | None = None
    """The currency of all amounts; None is the Space's."""
    order_by: Measure | Group | None = None
    """One of the query's measures and groups; None is the first measure."""
    descending: bool = True
    ripe_on: date | None = None
    """The day, on the Space's clock, as of whose beginning recent days are judged; None to leave
    that out."""
    fit: str | None = None
    """The name of the fit of models that go by one; None is the Space's current one."""
    now: datetime | None = None
    """The present second on the Space's clock: a range that it is in is compared with the earlier
    one up to the same time. None compares whole ranges.
    """
    unit: CalendarUnit | None = None
    """The calendar unit under way that the range is: this week, this month."""

    @property
    def span(self) -> DateTimeSpan:
        """The range."""
        return DateTimeSpan(self.start, self.end)

    @property
    def is_about_money(self) -> bool:
        """True when amounts count for more than their sign."""
        bounds = (self.filters.amount_min, self.filters.amount_max)
        return not OF_MONEY.isdisjoint(self.measures) or bounds != (None, None)

    @property
    def by_touch(self) -> bool:
        """True when groups are of touches: then an event without any is in none of them."""
        return not OF_TOUCHES.isdisjoint(self.group_by)

    @property
    def of_some_touches(self) -> bool:
        """True when the credit of only some touches counts, by a filter or by their dates."""
        return self.filters.of_touches or self.date_basis is DateBasis.TOUCH

    @property
    def is_about_touches(self) -> bool:
        """True when a group, a measure or a filter is about touches, their credit or paths."""
        measured = not ON_PATHS.isdisjoint(self.measures)
        by_path = not OF_PATHS.isdisjoint(self.group_by) or self.filters.names(OF_PATHS)
        return self.by_touch or self.of_some_touches or measured or by_path

    @property
    def goes_by_age(self) -> bool:
        """True when credit depends on the time between touches."""
        return any(MODELS[model].goes_by_age for model in self.models)

    @property
    def goes_by_fit(self) -> bool:
        """True when credit depends on a fit."""
        return is_needed(self.models)


@dataclass(frozen=True)
class FigureColumn:
    """One column of figures of a report."""

    measure: Measure
    model: str | None = None
    """The model, where several are compared and the measure depends on it."""

    def __str__(self) -> str:
        return str(self.measure) if self.model is None else f"{self.measure}_{self.model}"


def columns_of(query: ReportQuery) -> tuple[FigureColumn, ...]:
    """Return the columns of figures of a report, measure by measure, each model by model."""
    columns: list[FigureColumn] = []
    for measure in query.measures:
        by_model = measure in CREDITED or (measure is Measure.SHARE and query.measures[0] in CREDITED)
        models = query.models if by_model and len(query.models) > 1 else (None,)
        columns += [FigureColumn(measure, model) for model in models]
    return tuple(columns)


Figure = int | Decimal | Fraction | None
"""Counts are int, credited events and conversions a Fraction, the others Decimal; None for the
average, or the share, of nothing.
"""
Figures = Mapping[FigureColumn, Figure]


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
    changes: Mapping[FigureColumn, MeasureChange] | None = None
    """The changes of the measures that both have."""


class NoCredit(StrEnum):
    """The reasons for which no touch of an event gets credit."""

    NO_TOUCH = "no_touch"
    """No touch came before it."""
    OUTSIDE_WINDOW = "outside_window"
    """All touches came before the window."""
    NOT_COUNTED = "not_counted"
    """The model counts none of the touches in the window."""


@dataclass(frozen=True)
class Unattributed:
    """The events without a credited touch, as credited to nobody. Where several models are
    compared, it has only the figures that each of them has of its own.
    """

    row: ReportRow
    reasons: Mapping[NoCredit, ReportRow]
    """Its parts by reason; those that add up, add up to it."""


@dataclass(frozen=True)
class Report:
    """The result of a query, the listed groups first."""

    columns: tuple[FigureColumn, ...]
    rows: tuple[ReportRow, ...]
    left_out: int
    """Groups beyond the limit."""
    total: ReportRow
    """Over everything that counts, listed or not, and each event once."""
    unattributed: Unattributed | None
    """None when the query is not about credit, is only about that of some touches, or has a period
    of touches. Otherwise credit in total and here is the overall one.
    """
    overall: ReportRow | None
    """Over every event of the period, whatever its touches; None for a period of touches."""
    event_counts: Mapping[str, int]
    """The names of the events that were added up, and how many there are of each."""
    conversion_names: tuple[str, ...]
    """Those of them that convert and bring revenue."""
    first_event: datetime | None
    last_event: datetime | None
    """The times of the Space's first and last event on its clock, where the range, or the one that
    it is compared with, reaches past them.
    """
    began: bool
    """False where the range ends before the Space's first event."""
    span: DateTimeSpan
    compared_span: DateTimeSpan | None
    is_comparable: bool
    """False where the range compared with ends before the Space's first event: then rows have no
    compared figures.
    """
    timezone: str
    currency: str
    """Of all amounts."""
    reading: str
    """The moment that it is of: with another of the same question it tells what has changed."""
    ripeness: Ripeness | None = None
    """Where the query asks for it: of the first measure, in total."""
    fit: ChosenFit | None = None
    """The fit that credit depends on."""
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """Of the events of the period, that no sum includes."""
    compared_left_out_money: tuple[LeftOutMoney, ...] | None = None
    """Likewise of the period that it is compared with."""
