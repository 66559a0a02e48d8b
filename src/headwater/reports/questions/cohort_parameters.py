"""The parameters of a report of cohorts, and those that leave the customers of one cohort."""

from __future__ import annotations

import re
from datetime import date, datetime

from headwater.attribution.fits.choice import FIT
from headwater.events.parameters import EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.inputs.fields import one_of, whole_number, written
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.http.inputs.period_words import EXAMPLES
from headwater.http.inputs.timerange import months_after
from headwater.reports.cohort_models import GROUPS, ONLY, Acquisition, CohortQuery
from headwater.reports.explanation_answer import WINDOW
from headwater.reports.key_parameters import MOST_CONDITIONS, only_parameter, read_keys, refuse_unknown_keys
from headwater.reports.models import Group, KeyCondition
from headwater.reports.parameters import CURRENCY, DEFAULT_MODEL, MODEL, NO_GROUPS, TIME, read_span
from headwater.reports.validation import MOST_ROWS
from headwater.sources.source_names import SourceNames
from headwater.spaces.models import Space

UNATTRIBUTED = "unattributed"

GROUP = Parameter(
    name="group_by",
    kind=one_of([*map(str, GROUPS), NO_GROUPS]),
    default="source",
    description="By what the credit of the first order is shared out; none for all together.",
)
PERIOD = Parameter(
    name="period",
    kind=written({"type": "string", "maxLength": 100}, str),
    default="last 12 months",
    description=(
        "The months of first orders, in words, instead of start_date and end_date: each month that "
        f"the time touches. {EXAMPLES}."
    ),
)
ONLY_TOUCHES = only_parameter(ONLY, "Only the credit of these rows of groups: channel:paid, ….")
LIMIT = Parameter(
    name="limit",
    kind=whole_number(1, MOST_ROWS),
    default=20,
    description="The most keys of the group. Totals are of all.",
)
PARAMETERS = (
    GROUP,
    PERIOD,
    *TIME.parameters,
    MODEL,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    ONLY_TOUCHES,
    CURRENCY,
    LIMIT,
    FIT,
)


def read_cohort_query(query: Input, space: Space, now: datetime) -> CohortQuery:
    """Read the report that parameters describe. Raises Invalid with every rule they break."""
    span = read_span(query, space, now, PERIOD)
    today = now.astimezone(space.zone).date()
    group = GROUP.read(query)
    cohort_query = CohortQuery(
        span.start.date().replace(day=1),
        min(span.end.date(), max(today, span.start.date())),
        today,
        None if group in (None, NO_GROUPS) else Group(group),
        MODEL.read(query) or DEFAULT_MODEL,
        WINDOW.read(query) or 0,
        QUERY_MODE.read(query) == "company",
        EVENT_NAMES_PARAMETER.read(query),
        read_keys(query, ONLY_TOUCHES, space.sources),
        LIMIT.read(query) or 0,
        CURRENCY.read(query),
        FIT.read(query),
    )
    query.finish()
    return cohort_query


def _month(text: str) -> date:
    if not re.fullmatch("[0-9]{4}-[0-9]{2}", text):
        raise ValueError("must be a month: 2026-05.")
    try:
        month = date(int(text[:4]), int(text[5:]), 1)
        months_after(month, 1)  # which the calendar has not of its last month
    except ValueError:
        raise ValueError("must be a month that exists.") from None
    return month


def _acquired_by(text: str) -> KeyCondition | str:
    return UNATTRIBUTED if text == UNATTRIBUTED else _TOUCHES.kind.read(text)


_TOUCHES = only_parameter(GROUPS, "")
ACQUIRED = Parameter(
    name="acquired",
    kind=written({"type": "string", "pattern": "^$|^[0-9]{4}-[0-9]{2}$"}, _month),
    description="Only events of customers whose first order was in this month: 2026-05.",
)
ACQUIRED_BY = ListParameter(
    name="acquired_by",
    kind=written(
        {"type": "string", "pattern": f"^({UNATTRIBUTED}$|({'|'.join(map(str, GROUPS))}):)"}, _acquired_by
    ),
    most=MOST_CONDITIONS,
    description=(
        "Of these customers only those whose first order touchpoints with these keys have credit "
        f"of: source:google_ads, …; {UNATTRIBUTED} for nobody."
    ),
)


def read_acquisition(query: Input, sources: SourceNames) -> Acquisition | None:
    """Read the cohort that events are to be of; None for any."""
    month, by = ACQUIRED.read(query), ACQUIRED_BY.read(query)
    only = tuple(each for each in by if isinstance(each, KeyCondition))
    refuse_unknown_keys(query, ACQUIRED_BY.name, only, sources)
    if by and month is None:
        query.refuse(ACQUIRED_BY.name, f"needs {ACQUIRED.name}.")
    if only and len(only) < len(by):
        query.refuse(ACQUIRED_BY.name, f"must not have {UNATTRIBUTED} beside others.")
    return None if month is None else Acquisition(month, only, bool(by) and not only)
