"""Parameters and answer parts shared by several questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from headwater.attribution.models import MODELS, WINDOWS
from headwater.attribution.trained_models.choice import TrainedModelCitation
from headwater.events.filters import (
    AMOUNT_MAX,
    AMOUNT_MIN,
    EVENT_NAMES_PARAMETER,
    read_sources,
    sources_parameter,
)
from headwater.http.csv_table import CsvTable
from headwater.http.inputs.date_range import MOMENT_OR_BLANK, date_range
from headwater.http.inputs.fields import one_of, whole_number, written
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.http.inputs.period_words import EXAMPLES, CalendarUnit, read_dates, read_period
from headwater.people.contacts import filters
from headwater.reports.engine.conversion import LeftOutMoney, LeftOutSpend
from headwater.reports.engine.measures import Figure, rounded
from headwater.reports.engine.path_dimensions import TouchPath
from headwater.reports.query import (
    LONGEST_CAMPAIGN,
    MOST_ROWS,
    OF_TOUCHES,
    Comparison,
    DateBasis,
    DateTimeSpan,
    Filters,
    Group,
    KeyCondition,
)
from headwater.sources.catalogue import SOURCES
from headwater.sources.source_names import SourceNames
from headwater.spaces.currencies import parse_currency
from headwater.spaces.known_values import REPORT_SOURCE, refuse_channel, refuse_platform, refuse_source
from headwater.spaces.models import Space
from headwater.spaces.networks import MAX_NETWORKS
from headwater.spend.rates.counted_amounts import LeftOutReason

DEFAULT_PERIOD = "last 30 days"
NO_GROUPS = "none"
DEFAULT_MODEL = "last_non_direct_touch"
"""Direct visits get no credit (docs/attribution.md)."""
_LAST = time(23, 59, 59)
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
    description="The date that counts: the event's or the touchpoint's.",
)
COMPARE = Parameter(
    name="compare",
    kind=one_of([str(comparison) for comparison in Comparison]),
    default="none",
    description="The period to compare with; whole months are compared with months.",
)
CURRENCY = Parameter(
    name="currency",
    kind=written({"type": "string", "pattern": "^$|^[A-Za-z]{3}$"}, parse_currency),
    description="Currency of all amounts; default: the Space's.",
)
LIMIT = Parameter(
    name="limit",
    kind=whole_number(1, MOST_ROWS),
    default=50,
    description="The most groups to list. Totals include all.",
)


def read_filters(query: Input, space: Space, current_time: datetime) -> Filters:
    return replace(
        read_event_filters(query, space, current_time),
        sources=read_sources(query, SOURCES_FILTER, space.sources.sources),
        campaign=CAMPAIGN.read(query),
        only=read_keys(query, ONLY, space.sources),
    )


def read_event_filters(query: Input, space: Space, current_time: datetime) -> Filters:
    """Omit conditions on keys."""
    clock = filters.DateContext(space.zone, current_time.astimezone(space.zone).date())
    return Filters(
        EVENT_NAMES_PARAMETER.read(query),
        filters.read_conditions(query, space.field_labels, clock),
        amount_min=AMOUNT_MIN.read(query),
        amount_max=AMOUNT_MAX.read(query),
    )


class ReadPeriod(NamedTuple):
    span: DateTimeSpan
    now: datetime
    unit: CalendarUnit | None
    """The unit in progress, if named."""


def read_span(
    query: Input, space: Space, current_time: datetime, period: Parameter[str] = PERIOD
) -> DateTimeSpan:
    return read_report_period(query, space, current_time, period).span


def read_report_period(
    query: Input, space: Space, current_time: datetime, period: Parameter[str] = PERIOD
) -> ReadPeriod:
    """Read a period from words or dates."""
    local_time = current_time.astimezone(space.zone).replace(tzinfo=None, microsecond=0)
    today = current_time.astimezone(space.zone).date()
    has_dates = any(query.single(date.name) is not None for date in TIME.parameters)
    usual = period.default or DEFAULT_PERIOD
    dates = read_period(query, period, today, dated=has_dates, default=usual)
    if has_dates and (span := TIME.read(query)) is not None:
        return ReadPeriod(DateTimeSpan(*span), local_time, None)
    dates = dates or read_dates(usual, today)
    first, last = datetime.combine(dates.first, time()), datetime.combine(dates.last, _LAST)
    return ReadPeriod(DateTimeSpan(first, last), local_time, dates.unit)


WINDOW = Parameter(
    name="attribution_window",
    kind=one_of(WINDOWS),
    default=30,
    description="Days before the event that touchpoints count; 0 means no limit.",
)
MOST_CONDITIONS = 20


def only_parameter(groups: Iterable[Group], description: str) -> ListParameter[KeyCondition]:
    by_name = {str(group): group for group in groups}
    names = ", ".join(by_name)

    def read(text: str) -> KeyCondition:
        name, colon, key = text.partition(":")
        if not colon or name not in by_name:
            raise ValueError(f"must be <group>:<key> with a group from {names}.")
        return KeyCondition(by_name[name], key or None)

    schema = {"type": "string", "pattern": f"^({'|'.join(by_name)}):"}
    return ListParameter(
        name="only", kind=written(schema, read), max_values=MOST_CONDITIONS, description=description
    )


def read_keys(
    query: Input, parameter: ListParameter[KeyCondition], sources: SourceNames
) -> tuple[KeyCondition, ...]:
    """Add errors for unknown sources, channels and platforms to the query."""
    conditions = parameter.read(query)
    refuse_unknown_keys(query, parameter.name, conditions, sources)
    return conditions


def refuse_unknown_keys(
    query: Input, name: str, conditions: Iterable[KeyCondition], sources: SourceNames
) -> None:
    """Add an error per unknown source, channel or platform."""
    for condition in conditions:
        for word, refuse in _list_words(condition):
            if (rule := refuse(word, sources)) is not None:
                query.refuse(name, f"names {condition.group}:{condition.key}. {word} {rule}")


_Refuse = Callable[[str, SourceNames], str | None]


def _list_words(condition: KeyCondition) -> list[tuple[str, _Refuse]]:
    """Return the sources, channels or platforms in a key, each with its check."""
    refuse = _RULES.get(str(condition.group))
    if refuse is None or condition.key is None:
        return []
    if condition.group not in (Group.PATH, Group.CHANNEL_PATH):
        return [(condition.key, refuse)]
    path = TouchPath.read(condition.key)
    return [(step, refuse) for step in path.steps] if path else []


def _stored_source(word: str, sources: SourceNames) -> str | None:
    """Return the broken rule. Removed networks may still have rows."""
    return None if word in sources.numbers else refuse_source(word, sources.sources)


def _platform(word: str, sources: SourceNames) -> str | None:
    return None if word in sources.platform_sources else refuse_platform(word, sources)


def _channel(word: str, _: SourceNames) -> str | None:
    return refuse_channel(word)


_RULES: dict[str, _Refuse] = {
    "source": _stored_source,
    "first_source": _stored_source,
    "last_source": _stored_source,
    "path": _stored_source,
    "channel": _channel,
    "channel_path": _channel,
    "platform": _platform,
}
"""By group. Elsewhere an unknown key has no rows, and the answer has a hint."""
ONLY = only_parameter(Group, "Only rows with these keys: channel:paid, …; an empty key for none.")
ONLY_EVENTS = only_parameter(
    (group for group in Group if group not in OF_TOUCHES),
    "Only events with these keys: country:DE, …; an empty key for none.",
)


class ReportDates(Struct, frozen=True):
    """The first and the last second of a range, on the Space's clock."""

    start_date: str
    end_date: str


class UncountedMoney(Struct, frozen=True):
    """Money of events that no sum includes."""

    currency: str
    events: int
    amount: float
    reason: Annotated[str, Meta(extra_json_schema={"enum": [str(reason) for reason in LeftOutReason]})]
    first_day: str
    last_day: str


class UncountedSpend(Struct, frozen=True):
    """Ad spend in a currency without an exchange rate."""

    currency: str
    amount: float
    first_day: str
    last_day: str


Citation = TrainedModelCitation | None


def describe_left_out(left_out: Iterable[LeftOutMoney]) -> list[UncountedMoney]:
    return [
        UncountedMoney(
            money.currency,
            money.events,
            float(money.amount),
            str(money.reason),
            f"{money.first_day}",
            f"{money.last_day}",
        )
        for money in left_out
    ]


def describe_left_out_spend(left_out: Iterable[LeftOutSpend]) -> list[UncountedSpend]:
    return [
        UncountedSpend(spend.currency, float(spend.amount), f"{spend.first_day}", f"{spend.last_day}")
        for spend in left_out
    ]


def explain_uncompared(is_comparable: bool) -> str | None:
    return None if is_comparable else "before_first_event"


def number(figure: Figure) -> float | None:
    """Convert a figure to JSON."""
    return figure if figure is None or isinstance(figure, int) else rounded_number(figure)


def rounded_number(figure: Decimal | Fraction) -> float:
    """Convert a figure to JSON: four decimals, halves away from zero."""
    return float(rounded(Fraction(figure)))


def format_figure(figure: float | None) -> str:
    """Format a figure without an exponent."""
    return "" if figure is None else f"{Decimal(repr(figure)).normalize():f}"


def write_csv(columns: Iterable[str], rows: Iterable[Iterable[str | float | None]]) -> bytes:
    table = CsvTable(columns)
    for row in rows:
        table.add(format_figure(cell) if isinstance(cell, int | float) else cell for cell in row)
    return table.content()


def format_span(span: DateTimeSpan) -> ReportDates:
    return ReportDates(f"{span.start}", f"{span.end}")


def format_moment(moment: datetime | None) -> str | None:
    return moment and moment.isoformat(" ", "seconds")
