"""Report queries: measures, groups, filters and period, with their rules. All questions about reports use
them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from headwater.attribution.models import MODELS, WINDOWS
from headwater.attribution.trained_models.choice import ONLY_WITH_MARKOV, TRAINED_MODEL, is_needed
from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Errors, Invalid, Problem
from headwater.http.inputs.period_words import CalendarUnit
from headwater.people.contacts.filters import Condition


class Measure(StrEnum):
    """A figure of a report; docs/reports.md defines them."""

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
    VISITS = "visits"
    CONVERSION_RATE = "conversion_rate"
    SHARE = "share"


CREDITED = frozenset({Measure.CREDITED_EVENTS, Measure.CREDITED_CONVERSIONS, Measure.CREDITED_REVENUE})
"""Credit, which depends on the model."""
BY_MODEL = CREDITED | {Measure.CONVERSION_RATE}
"""With several models, each has its own figure."""
OF_VISITS = frozenset({Measure.VISITS, Measure.CONVERSION_RATE})
TOUCHED = frozenset({Measure.TOUCHED_EVENTS, Measure.TOUCHED_REVENUE})
ON_PATHS = BY_MODEL | TOUCHED | {Measure.DAYS_TO_CONVERSION, Measure.TOUCHES_TO_CONVERSION}
"""Need the touches before an event."""
ESTIMATED = (
    Measure.EVENTS,
    Measure.CONVERSIONS,
    Measure.ORDERS,
    Measure.REVENUE,
    Measure.GROSS_REVENUE,
    Measure.CREDITED_EVENTS,
    Measure.CREDITED_CONVERSIONS,
    Measure.CREDITED_REVENUE,
)
"""Whose final figure can be estimated."""
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
AVERAGES = frozenset(
    {
        Measure.AVERAGE_ORDER_VALUE,
        Measure.DAYS_TO_CONVERSION,
        Measure.TOUCHES_TO_CONVERSION,
        Measure.CONVERSION_RATE,
    }
)


class Group(StrEnum):
    """Report dimensions of events or credited touches."""

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


TOUCH_GROUPS = (
    Group.SOURCE,
    Group.PLATFORM,
    Group.CHANNEL,
    Group.CAMPAIGN,
    Group.ADSET,
    Group.AD,
    Group.KEYWORD,
    Group.LANDING_PAGE,
)
OF_TOUCHES = frozenset(TOUCH_GROUPS)
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
STEPS = (Group.DAY, Group.WEEK, Group.MONTH)
CLOCK = (*STEPS, Group.WEEKDAY, Group.HOUR)
VISIT_GROUPS = (*TOUCH_GROUPS, *CLOCK)
"""Groups that visits have, too."""


class DateBasis(StrEnum):
    """True if the event's or the credited touch's date decides the period."""

    CONVERSION = "conversion"
    TOUCH = "touch"


@dataclass(frozen=True)
class DateTimeSpan:
    """A local range; `end` is included to the whole second."""

    start: datetime
    end: datetime


class Comparison(StrEnum):
    NONE = "none"
    PREVIOUS_PERIOD = "previous_period"
    PREVIOUS_YEAR = "previous_year"


ALL_ROWS = 1 << 31
"""The limit of reports that other reports use."""
MOST_CREDITED_GROUPS = 10_000
"""The same of reports of credit that are joined with spend, which takes about 0.1 ms a group."""


@dataclass(frozen=True)
class KeyCondition:
    group: Group
    key: str | None
    """As in the report's rows; None for a missing value."""


@dataclass(frozen=True)
class Filters:
    """Conditions on events and on touches whose credit counts."""

    event_names: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    """On custom fields of the contact."""
    sources: tuple[str, ...] = ()
    campaign: str | None = None
    """Part of an id or name, ignoring case."""
    amount_min: Decimal | None = None
    amount_max: Decimal | None = None
    """Bounds are included. Events without an amount don't meet them."""
    only: tuple[KeyCondition, ...] = ()
    """Any key of a group, and all groups, must match."""

    @property
    def of_touches(self) -> bool:
        """True if only some touches' credit counts."""
        return bool(self.sources) or self.campaign is not None or self.names(OF_TOUCHES)

    def names(self, groups: Collection[Group]) -> bool:
        return any(condition.group in groups for condition in self.only)


class Question(Protocol):
    @property
    def filters(self) -> Filters: ...


@dataclass(frozen=True)
class ReportQuery:
    """A report query. `query_report` checks the rules."""

    start: datetime
    end: datetime
    """The last local second, included."""
    measures: tuple[Measure, ...]
    group_by: tuple[Group, ...] = ()
    models: tuple[str, ...] = ("last_touch",)
    """From MODELS; with several, each has its own credited figures."""
    window_days: int = 30
    """One of WINDOWS."""
    by_company: bool = False
    """True if paths are the companies'."""
    filters: Filters = Filters()
    date_basis: DateBasis = DateBasis.CONVERSION
    compare: Comparison = Comparison.NONE
    limit: int = 50
    """The most groups to list, from 1 to MOST_ROWS."""
    currency: str | None = None
    """By default, the Space's."""
    order_by: Measure | Group | None = None
    """By default, the first measure."""
    descending: bool = True
    complete_on: date | None = None
    """Estimate incomplete days at the beginning of this local day."""
    trained_model: str | None = None
    """By default the current one."""
    now: datetime | None = None
    """The current local second: a range in progress is compared up to the same time. None compares whole
    ranges.
    """
    unit: CalendarUnit | None = None
    """The unit in progress that the range covers."""

    @property
    def span(self) -> DateTimeSpan:
        return DateTimeSpan(self.start, self.end)

    @property
    def is_about_money(self) -> bool:
        """True if more than amounts' sign matters."""
        bounds = (self.filters.amount_min, self.filters.amount_max)
        return not OF_MONEY.isdisjoint(self.measures) or bounds != (None, None)

    @property
    def by_touch(self) -> bool:
        """True if a group is about touches; events without any then have no row."""
        return not OF_TOUCHES.isdisjoint(self.group_by)

    @property
    def of_touch_dates(self) -> bool:
        """True if the period and its buckets are about credited touches."""
        return self.date_basis is DateBasis.TOUCH

    @property
    def of_some_touches(self) -> bool:
        """True if only some touches count, by filter or date."""
        return self.filters.of_touches or self.of_touch_dates

    @property
    def is_about_touches(self) -> bool:
        """True if a group, measure or filter depends on touches."""
        measured = not ON_PATHS.isdisjoint(self.measures)
        by_path = not OF_PATHS.isdisjoint(self.group_by) or self.filters.names(OF_PATHS)
        return self.by_touch or self.of_some_touches or measured or by_path

    @property
    def goes_by_age(self) -> bool:
        """True if credit depends on time between touches."""
        return any(MODELS[model].goes_by_age for model in self.models)

    @property
    def needs_trained_model(self) -> bool:
        """True if credit depends on a trained model."""
        return is_needed(self.models)


@dataclass(frozen=True)
class FigureColumn:
    measure: Measure
    model: str | None = None
    """Only for one of several models."""

    def __str__(self) -> str:
        return str(self.measure) if self.model is None else f"{self.measure}_{self.model}"


def list_columns(query: ReportQuery) -> tuple[FigureColumn, ...]:
    """Order by measure, then by model."""
    columns: list[FigureColumn] = []
    for measure in query.measures:
        by_model = measure in BY_MODEL or (measure is Measure.SHARE and query.measures[0] in BY_MODEL)
        models = query.models if by_model and len(query.models) > 1 else (None,)
        columns += [FigureColumn(measure, model) for model in models]
    return tuple(columns)


MOST_ROWS = 1_000
MOST_GROUPS = 2
LONGEST_CAMPAIGN = 512
Rule = tuple[str, bool, str]
"""A field, whether its rule holds, and the rule's text."""


def check(query: ReportQuery) -> None:
    """Raise Invalid with every broken rule."""
    is_completeness_allowed = query.complete_on is None or query.measures[0] in ESTIMATED
    rule = f"must begin with one of {', '.join(ESTIMATED)} for completeness."
    refuse_broken_rules(
        [
            *common_rules(query),
            *column_rules(query),
            *_visit_rules(query),
            ("measures", is_completeness_allowed, rule),
            _trained_model_rule(query),
        ]
    )


def refuse_broken_rules(rules: list[Rule]) -> None:
    errors: Errors = {}
    for field, holds, rule in rules:
        if not holds:
            errors.setdefault(field, []).append(f"The {field} {rule}")
    if errors:
        raise Invalid(errors)


def common_rules(query: ReportQuery) -> list[Rule]:
    return [
        *_time_rules(query),
        *_filter_rules(query.filters),
        (
            "attribution_window",
            query.window_days in WINDOWS,
            f"must be one of {', '.join(map(str, WINDOWS))}.",
        ),
        (
            "limit",
            1 <= query.limit <= MOST_ROWS or query.limit in (ALL_ROWS, MOST_CREDITED_GROUPS),
            f"must be from 1 to {MOST_ROWS}.",
        ),
    ]


def single_model_rules(query: ReportQuery) -> list[Rule]:
    """Return the rules of a question about one model."""
    (model,) = query.models
    return [
        ("attribution_model", model in MODELS, f"must be one of {', '.join(MODELS)}."),
        _trained_model_rule(query),
    ]


def _trained_model_rule(query: ReportQuery) -> Rule:
    is_allowed = query.trained_model is None or query.needs_trained_model
    return TRAINED_MODEL.name, is_allowed, ONLY_WITH_MARKOV


def _time_rules(query: ReportQuery) -> list[Rule]:
    naive = query.start.tzinfo is None and query.end.tzinfo is None
    return [
        ("start_date", naive, "must be in the Space's time zone, without an offset."),
        ("end_date", not naive or query.end > query.start, "must be after start_date."),
    ]


def column_rules(query: ReportQuery) -> list[Rule]:
    measures, groups, models = query.measures, query.group_by, query.models
    return [
        ("measures", bool(measures), "must include at least one measure."),
        ("measures", len(set(measures)) == len(measures), "must not name a measure twice."),
        (
            "measures",
            not measures or measures[0] not in _WITHOUT_SHARE or Measure.SHARE not in measures,
            "must begin with a measure that adds up if share is included.",
        ),
        (
            "measures",
            len(models) <= 1
            or _OF_ANY_MODEL.issuperset(measures)
            or not (query.by_touch or query.of_some_touches),
            f"must be from {', '.join(sorted(_OF_ANY_MODEL))} if several models are compared.",
        ),
        ("group_by", len(groups) <= MOST_GROUPS, f"must not name more than {MOST_GROUPS} groups."),
        ("group_by", len(set(groups)) == len(groups), "must not name a group twice."),
        ("attribution_models", bool(models), "must name at least one model."),
        ("attribution_models", len(set(models)) == len(models), "must not name a model twice."),
        ("attribution_models", set(models) <= set(MODELS), f"must be one of {', '.join(MODELS)}."),
        (
            "order_by",
            query.order_by in {None, *measures, *groups},
            "must be one of the requested measures or groups.",
        ),
    ]


def _visit_rules(query: ReportQuery) -> list[Rule]:
    if OF_VISITS.isdisjoint(query.measures):
        return []
    filters, rule = query.filters, f"must be from {', '.join(VISIT_GROUPS)} if visits are measured."
    condition_groups = {condition.group for condition in filters.only}
    return [
        ("group_by", set(query.group_by) <= set(VISIT_GROUPS), rule),
        ("only", condition_groups <= set(VISIT_GROUPS), rule),
        ("custom_field_filters", not filters.conditions, "must be left out if visits are measured."),
    ]


def _filter_rules(filters: Filters) -> list[Rule]:
    campaign, low, high = filters.campaign, filters.amount_min, filters.amount_max
    return [
        ("event_names", set(filters.event_names) <= set(EVENT_NAMES), "must be names of events."),
        (
            "campaign",
            campaign is None or 0 < len(campaign.strip()) <= LONGEST_CAMPAIGN,
            f"must have 1 to {LONGEST_CAMPAIGN} characters.",
        ),
        ("campaign", "\0" not in (campaign or ""), "must not contain NUL."),
        ("amount_max", low is None or high is None or low <= high, "must not be less than amount_min."),
    ]


_WITHOUT_SHARE = AVERAGES | {Measure.SHARE}
_OF_ANY_MODEL = CREDITED | TOUCHED | OF_VISITS | {Measure.SHARE}


class ReportProblem(StrEnum):
    TOO_MUCH = "too_much"
    OTHER_QUESTION = "other_question"
    SETTINGS_CHANGED = "settings_changed"
    OTHER_PAST = "other_past"
    MODEL_DELETED = "trained_model_deleted"
    UNCOUNTED = "uncounted"
    TOO_OLD = "too_old"


class ReportRefused(Problem):
    """422: the report can't be made."""


class ReportTooLarge(ReportRefused):
    """422: the report takes too long, or has too many groups."""

    def __init__(self, message: str = "This report takes too long. Narrow the range.") -> None:
        super().__init__(message, 422, {"reason": ReportProblem.TOO_MUCH})
