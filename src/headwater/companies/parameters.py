"""The parameters of List Companies: defined once, for reading and for the API's description."""

from __future__ import annotations

from headwater.companies.models import ListCompanies
from headwater.http.pagination import CURSOR, Cursors
from headwater.http.parameters import Parameter, ParameterType, Query, whole_number
from headwater.http.timerange import EVER, MOMENT_SCHEMA, TimeRange, between, parse_moment
from headwater.spaces.models import Space

# A blank parameter counts as absent, and these may be.
_MOMENT = ParameterType(
    {**MOMENT_SCHEMA, "pattern": f"^$|{MOMENT_SCHEMA['pattern']}"}, parse_moment
)

START_DATE = Parameter(
    name="start_date", kind=_MOMENT,
    description=(
        "Only companies created from this second on, on the clock of the Space's time zone. "
        "Required with `end_date`."
    ),
)  # fmt: skip
END_DATE = Parameter(
    name="end_date", kind=_MOMENT,
    description=(
        "Only companies created up to this second, included; later than `start_date`, and "
        "required with it."
    ),
)  # fmt: skip
PER_PAGE = Parameter(
    name="per_page", kind=whole_number(1, 5000), default=200,
    description="How many rows a page has at most.",
)  # fmt: skip

DOCUMENTATION = [each.openapi() for each in (START_DATE, END_DATE, PER_PAGE, CURSOR)]


def cursors(query: Query, signing_key: bytes, space_id: int) -> Cursors:
    """The cursors of the list a query asks for."""
    window = [query.values(each.name) for each in (START_DATE, END_DATE)]
    return Cursors(signing_key, space_id, "/companies", window)


def read_list_companies(query: Query, space: Space, cursors: Cursors) -> ListCompanies:
    """The page a query asks for. Raises Invalid with every rule it breaks."""
    created = _created(query, space)
    per_page = PER_PAGE.read(query) or 0
    at = cursors.read_from(query)
    query.finish()
    return ListCompanies(created, per_page, at)


def _created(query: Query, space: Space) -> TimeRange:
    start, end = START_DATE.read(query), END_DATE.read(query)
    has_start, has_end = (
        value is not None or each.name in query.errors
        for each, value in ((START_DATE, start), (END_DATE, end))
    )
    if has_start and not has_end:
        query.refuse(END_DATE.name, "is required with start_date.")
    if has_end and not has_start:
        query.refuse(START_DATE.name, "is required with end_date.")
    if start is None or end is None:
        return EVER
    if end <= start:
        query.refuse(END_DATE.name, "must be after start_date.")
    return between(start, end, space.zone)
