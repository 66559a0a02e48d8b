"""The parameters of a report, as the API, assistants and pages give them. What is left out has the
default that most questions mean.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time
from typing import NamedTuple

from headwater.attribution.fits.choice import FIT
from headwater.attribution.models import MODELS
from headwater.events.parameters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.events.source_filter import read_sources, sources_parameter
from headwater.http.inputs.date_range import MOMENT_OR_BLANK, date_range
from headwater.http.inputs.fields import one_of, whole_number, written
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.http.inputs.period_words import EXAMPLES, CalendarUnit, read_dates, read_period
from headwater.people.contacts import filters
from headwater.reports.explanation_answer import WINDOW
from headwater.reports.key_parameters import ONLY, read_keys
from headwater.reports.measure_names import TOUCHED
from headwater.reports.models import (
    CLOCK,
    CREDITED,
    Comparison,
    DateBasis,
    DateTimeSpan,
    Filters,
    Group,
    Measure,
    ReportQuery,
)
from headwater.reports.validation import LONGEST_CAMPAIGN, MOST_GROUPS, MOST_ROWS
from headwater.sources.catalogue import SOURCES
from headwater.spaces.currencies import parse_currency
from headwater.spaces.known_values import REPORT_SOURCE
from headwater.spaces.models import Space
from headwater.spaces.networks import MAX_NETWORKS

DEFAULT_PERIOD = "last 30 days"
NO_GROUPS = "none"
DEFAULT_MODEL = "last_non_direct_touch"
"""Of our own questions: credit passes over direct visits, as in docs/models.md."""
_LAST = time(23, 59, 59)

MEASURES = ListParameter(
    name="measures",
    kind=one_of([str(measure) for measure in Measure]),
    most=len(Measure),
    default=[Measure.CREDITED_REVENUE, Measure.CREDITED_CONVERSIONS],
    description=(
        "credited_*: by the model. touched_*: events with any touchpoint of the group. "
        "conversions: no refunds, no upsells; orders: purchases among them. revenue: net, with "
        "upsells. share: of the first measure."
    ),
)
GROUP_BY = ListParameter(
    name="group_by",
    kind=one_of([*(str(group) for group in Group), NO_GROUPS]),
    most=MOST_GROUPS,
    description=(
        "At most two; none for totals. If left out: source where credit is measured, else none. "
        "Channels: paid, ai, organic, email, sms, referral, direct."
    ),
)
PERIOD = Parameter(
    name="period",
    kind=written({"type": "string", "maxLength": 100}, str),
    default=DEFAULT_PERIOD,
    description=f"In words, instead of start_date and end_date: {EXAMPLES}.",
)
TIME = date_range(
    "First second, on the Space's clock; with end_date.",
    "Last second, included; with start_date.",
    kind=MOMENT_OR_BLANK,
)
MODEL = Parameter(
    name="attribution_model",
    kind=one_of(tuple(MODELS)),
    default=DEFAULT_MODEL,
    description="How credit is shared out.",
)
ALL_MODELS = ListParameter(
    name="attribution_models",
    kind=one_of(tuple(MODELS)),
    most=len(MODELS),
    description="Several side by side, instead of attribution_model.",
)
SOURCES_FILTER = sources_parameter(
    len(SOURCES) + MAX_NETWORKS, "Only credit of these sources.", REPORT_SOURCE
)
CAMPAIGN = Parameter(
    name="campaign",
    kind=written({"type": "string", "maxLength": LONGEST_CAMPAIGN}, str),
    description="Only credit of campaigns with this in name or id.",
)
DATE_BASIS = Parameter(
    name="date_basis",
    kind=one_of([str(basis) for basis in DateBasis]),
    default="conversion",
    description="By whose date: the event's or the touchpoint's.",
)
COMPARE = Parameter(
    name="compare",
    kind=one_of([str(comparison) for comparison in Comparison]),
    default="none",
    description="The time to compare with; whole months with the months before.",
)
CURRENCY = Parameter(
    name="currency",
    kind=written({"type": "string", "pattern": "^$|^[A-Za-z]{3}$"}, parse_currency),
    description="Of all amounts; the Space's if left out.",
)
RIPENESS = Parameter(
    name="ripeness", kind=one_of((0, 1)), default=0, description="1 adds what to expect of recent days."
)
LIMIT = Parameter(
    name="limit",
    kind=whole_number(1, MOST_ROWS),
    default=50,
    description="The most groups to list. Totals are of all.",
)
ORDER_BY = Parameter(
    name="order_by",
    kind=written({"type": "string", "maxLength": 50}, str),
    description="A measure (largest first) or group (in order). If left out, a time, else the first measure.",
)

PARAMETERS = (
    MEASURES,
    GROUP_BY,
    PERIOD,
    *TIME.parameters,
    MODEL,
    ALL_MODELS,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    SOURCES_FILTER,
    CAMPAIGN,
    ONLY,
    AMOUNT_MIN,
    AMOUNT_MAX,
    DATE_BASIS,
    COMPARE,
    CURRENCY,
    LIMIT,
    ORDER_BY,
    RIPENESS,
    FIT,
)


def read_report_query(query: Input, space: Space, now: datetime) -> ReportQuery:
    """Read the report that parameters describe. Raises Invalid with every rule they break."""
    period = read_report_period(query, space, now)
    measures = tuple(Measure(name) for name in MEASURES.read(query))
    groups = _read_groups(query, measures)
    by = _read_order(query, measures, groups)
    report_query = ReportQuery(
        start=period.span.start,
        end=period.span.end,
        now=period.now,
        unit=period.unit,
        measures=measures,
        group_by=groups,
        models=_read_models(query),
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=read_filters(query, space, now),
        date_basis=DateBasis(DATE_BASIS.read(query) or DateBasis.CONVERSION),
        compare=Comparison(COMPARE.read(query) or Comparison.NONE),
        limit=LIMIT.read(query) or 0,
        currency=CURRENCY.read(query),
        order_by=by,
        descending=by not in groups,
        ripe_on=now.astimezone(space.zone).date() if RIPENESS.read(query) else None,
        fit=FIT.read(query),
    )
    query.finish()
    return report_query


def _read_groups(query: Input, measures: tuple[Measure, ...]) -> tuple[Group, ...]:
    words = GROUP_BY.read(query)
    if NO_GROUPS in words:
        if len(words) > 1:
            query.refuse(GROUP_BY.name, f"must not have {NO_GROUPS} beside others.")
        return ()
    if not words and not (CREDITED | TOUCHED).isdisjoint(measures):
        return (Group.SOURCE,)
    return tuple(Group(word) for word in words)


def _read_models(query: Input) -> tuple[str, ...]:
    several = ALL_MODELS.read(query)
    if several and query.single(MODEL.name) is not None:
        query.refuse(ALL_MODELS.name, f"must not be given with {MODEL.name}.")
    return several or (MODEL.read(query) or DEFAULT_MODEL,)


def read_filters(query: Input, space: Space, now: datetime) -> Filters:
    """Read the conditions on events and on the touches whose credit counts."""
    return replace(
        read_event_filters(query, space, now),
        sources=read_sources(query, SOURCES_FILTER, space.sources.sources),
        campaign=CAMPAIGN.read(query),
        only=read_keys(query, ONLY, space.sources),
    )


def read_event_filters(query: Input, space: Space, now: datetime) -> Filters:
    """Read the conditions on events, but for those on keys."""
    clock = filters.DateContext(space.zone, now.astimezone(space.zone).date())
    return Filters(
        EVENT_NAMES_PARAMETER.read(query),
        filters.read_conditions(query, space.field_labels, clock),
        amount_min=AMOUNT_MIN.read(query),
        amount_max=AMOUNT_MAX.read(query),
    )


class ReadPeriod(NamedTuple):
    """A period as a question names it."""

    span: DateTimeSpan
    now: datetime
    """The present second on the Space's clock."""
    unit: CalendarUnit | None
    """The calendar unit under way that the words mean."""


def read_span(query: Input, space: Space, now: datetime, period: Parameter[str] = PERIOD) -> DateTimeSpan:
    """Read the range of a period, in words or dates."""
    return read_report_period(query, space, now, period).span


def read_report_period(
    query: Input, space: Space, now: datetime, period: Parameter[str] = PERIOD
) -> ReadPeriod:
    """Read the period, in words or dates."""
    local = now.astimezone(space.zone).replace(tzinfo=None, microsecond=0)
    today = now.astimezone(space.zone).date()
    dated = any(query.single(date.name) is not None for date in TIME.parameters)
    usual = period.default or DEFAULT_PERIOD
    dates = read_period(query, period, today, dated=dated, default=usual)
    if dated and (span := TIME.read(query)) is not None:
        return ReadPeriod(DateTimeSpan(*span), local, None)
    dates = dates or read_dates(usual, today)
    first, last = datetime.combine(dates.first, time()), datetime.combine(dates.last, _LAST)
    return ReadPeriod(DateTimeSpan(first, last), local, dates.unit)


def _read_order(
    query: Input, measures: tuple[Measure, ...], groups: tuple[Group, ...]
) -> Measure | Group | None:
    word = ORDER_BY.read(query)
    if word is None:
        return next((group for group in groups if group in CLOCK), None)
    for column in (*measures, *groups):
        if column == word:
            return column
    query.refuse(ORDER_BY.name, "must be one of the measures or groups that are asked for.")
    return None
