"""The parameters of a report of paths."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from headwater.events.parameters import EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.inputs.fields import one_of, whole_number
from headwater.http.inputs.parameters import Input, Parameter
from headwater.reports.explanation_answer import WINDOW
from headwater.reports.key_parameters import ONLY_EVENTS, read_keys
from headwater.reports.models import Group
from headwater.reports.parameters import AMOUNT_MAX, AMOUNT_MIN, PERIOD, TIME, read_event_filters, read_span
from headwater.reports.path_models import BY, PathsQuery
from headwater.reports.validation import MOST_ROWS
from headwater.spaces.models import Space

GROUP = Parameter(
    name="group_by",
    kind=one_of([str(group) for group in BY]),
    default="source",
    description="What the steps of a path are.",
)
LIMIT = Parameter(
    name="limit", kind=whole_number(1, MOST_ROWS), default=20, description="The most paths to list."
)

OF_REPORTS = (
    PERIOD,
    *TIME.parameters,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    ONLY_EVENTS,
    AMOUNT_MIN,
    AMOUNT_MAX,
)
"""The parameters that are those of any report."""
PARAMETERS = (GROUP, *OF_REPORTS, LIMIT)


def read_paths_query(query: Input, space: Space, now: datetime) -> PathsQuery:
    """Read the report of paths that parameters describe. Raises Invalid with every rule they
    break.
    """
    span = read_span(query, space, now)
    only = read_keys(query, ONLY_EVENTS, space.sources)
    filters = replace(read_event_filters(query, space, now), only=only)
    paths_query = PathsQuery(
        start=span.start,
        end=span.end,
        group=Group(GROUP.read(query) or Group.SOURCE),
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=filters,
        limit=LIMIT.read(query) or 0,
    )
    query.finish()
    return paths_query
