"""Parameters of List Events, also for the API description."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from headwater.attribution.models import MODELS, WINDOWS
from headwater.attribution.query import Attribution
from headwater.attribution.trained_models.choice import (
    ONLY_WITH_MARKOV,
    TRAINED_MODEL,
    ModelChoice,
    is_needed,
)
from headwater.events.fields import FIELDS, complete_fields
from headwater.events.filters import (
    AMOUNT_MAX,
    AMOUNT_MIN,
    EVENT_NAMES_PARAMETER,
    QUERY_MODE,
    read_sources,
    sources_parameter,
)
from headwater.events.models import EventSelection, ListEvents
from headwater.http.inputs.date_range import date_range
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.pagination import CURSOR, PER_PAGE, Cursors
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.http.inputs.timerange import NEVER, TimeRange
from headwater.people.contacts import filters
from headwater.sources.source_names import SourceNames
from headwater.spaces.models import Space

TIME = date_range(
    "Start of the range, in the Space's time zone.",
    "End of the range, inclusive; must be after `start_date`.",
    required=True,
)
SOURCES_PARAMETER = sources_parameter(
    15,
    "Only credit of these sources: one row per credited touchpoint, whose `amount` is the credit. "
    "Requires `attribution_model` and `attribution_window`.",
)
MODEL = Parameter(
    name="attribution_model",
    kind=one_of(tuple(MODELS)),
    description="How to divide an event's amount among the touchpoints before it.",
)
WINDOW = Parameter(
    name="attribution_window",
    kind=one_of(WINDOWS),
    description="How many days before the event to look for touchpoints; 0 for no limit.",
)
FIELDS_PARAMETER = ListParameter(
    name="fields",
    kind=one_of(tuple(FIELDS)),
    max_values=20,
    description=(
        "Fields of each row. `id` and `event_time_utc` are always included; ad hierarchy fields, "
        "`touchpoint_id` and `source` require `sources`."
    ),
)
ORDER_BY = Parameter(
    name="order_by",
    kind=one_of(("event_time", "amount")),
    default="event_time",
    description="Newest first, or largest amount first (only events with an amount, without `sources`).",
)

DOCUMENTATION = [
    *(parameter.openapi() for parameter in TIME.parameters),
    QUERY_MODE.openapi(),
    EVENT_NAMES_PARAMETER.openapi(),
    SOURCES_PARAMETER.openapi(),
    MODEL.openapi(),
    WINDOW.openapi(),
    TRAINED_MODEL.openapi(),
    FIELDS_PARAMETER.openapi(),
    AMOUNT_MIN.openapi(),
    AMOUNT_MAX.openapi(),
    ORDER_BY.openapi(),
    PER_PAGE.openapi(),
    CURSOR.openapi(),
    filters.DOCUMENTATION,
]

SELECTION = (
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    SOURCES_PARAMETER,
    MODEL,
    WINDOW,
    TRAINED_MODEL,
    FIELDS_PARAMETER,
)
OPTIONAL_GROUPS = (AMOUNT_MIN, AMOUNT_MAX, ORDER_BY), (TRAINED_MODEL,)
"""Parameters that cursors cover only if one of their group is given, so that older cursors stay valid."""
FILTERS = (*TIME.parameters, QUERY_MODE, EVENT_NAMES_PARAMETER, SOURCES_PARAMETER, MODEL, WINDOW)


def cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    values = [sorted(query.texts(parameter.name)) for parameter in FILTERS]
    for group in OPTIONAL_GROUPS:
        texts = [query.texts(parameter.name) for parameter in group]
        values += texts if any(texts) else []
    conditions = query.objects(filters.PARAMETER)
    return Cursors(signing_key, space_id, "/events", [values, list(conditions.values())])


def read_list_events(query: Input, space: Space, cursors: Cursors, current_time: datetime) -> ListEvents:
    """Raise Invalid with every broken rule."""
    clock = filters.DateContext(space.zone, current_time.astimezone(space.zone).date())
    time = TIME.read_time(query, space.zone, NEVER)
    selection = read_selection(query, time, space.sources)
    conditions = filters.read_conditions(query, space.field_labels, clock)
    selection = replace(
        selection, conditions=conditions, amount_min=AMOUNT_MIN.read(query), amount_max=AMOUNT_MAX.read(query)
    )
    by_amount = is_by_amount(query)
    if by_amount and query.several(SOURCES_PARAMETER.name):
        query.refuse(ORDER_BY.name, "cannot be amount with sources.")
    per_page = PER_PAGE.read(query) or 0
    position = cursors.read_from(query)
    query.finish()
    return ListEvents(selection, per_page, position, by_amount)


def is_by_amount(query: Input) -> bool:
    """Return whether a query sorts by amount, which reads its whole time range before the first row."""
    return ORDER_BY.read(query) == "amount"


def read_selection(query: Input, time: TimeRange, sources: SourceNames) -> EventSelection:
    """Parse a selection without conditions on contacts. The query records errors."""
    names = EVENT_NAMES_PARAMETER.read(query)
    attribution = _attribution(query, sources)
    trained_model = _trained_model(query, attribution, names)
    return EventSelection(
        time, names, attribution, (), _fields(query), trained_model=trained_model, sources=sources
    )


def _attribution(query: Input, sources: SourceNames) -> Attribution | None:
    by_company = QUERY_MODE.read(query) == "company"
    selected_sources = read_sources(query, SOURCES_PARAMETER, sources.listed_sources)
    model, window = MODEL.read(query), WINDOW.read(query)
    if not query.several(SOURCES_PARAMETER.name):
        return None
    for parameter, value in ((MODEL, model), (WINDOW, window)):
        if value is None and parameter.name not in query.errors:
            query.refuse(parameter.name, "is required with sources.")
    if model is None or window is None:
        return None
    return Attribution(model, window, sources.ids_listed_as(selected_sources), by_company)


def _trained_model(
    query: Input, attribution: Attribution | None, event_names: tuple[str, ...]
) -> ModelChoice | None:
    name = TRAINED_MODEL.read(query)
    if attribution is not None and is_needed([attribution.model]):
        return ModelChoice(name, event_names)
    if name is not None and attribution is not None:
        query.refuse(TRAINED_MODEL.name, ONLY_WITH_MARKOV)
    return None


def _fields(query: Input) -> tuple[str, ...]:
    selected_names = FIELDS_PARAMETER.read(query)
    is_credited = bool(query.several(SOURCES_PARAMETER.name))
    needing_sources = [name for name in selected_names if FIELDS[name].needs_sources]
    if needing_sources and not is_credited:
        query.refuse(FIELDS_PARAMETER.name, f"can have {', '.join(needing_sources)} only with sources.")
    return complete_fields(selected_names, credited=is_credited)
