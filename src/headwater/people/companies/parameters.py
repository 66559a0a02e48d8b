"""Parameters of List Companies, also for the API description."""

from __future__ import annotations

from headwater.http.inputs.date_range import MOMENT_OR_BLANK, date_range
from headwater.http.inputs.pagination import CURSOR, Cursors, page_size
from headwater.http.inputs.parameters import Input
from headwater.http.inputs.timerange import EVER
from headwater.people.companies.queries import ListCompanies
from headwater.spaces.models import Space

CREATED = date_range(
    "Only companies created at or after this time, in the Space's time zone. Requires `end_date`.",
    "Only companies created up to this time, inclusive; must be after `start_date`, and requires it.",
    kind=MOMENT_OR_BLANK,
)
PER_PAGE = page_size(5000)

DOCUMENTATION = [parameter.openapi() for parameter in (*CREATED.parameters, PER_PAGE, CURSOR)]


def cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    return Cursors(signing_key, space_id, "/companies", CREATED.texts(query))


def read_list_companies(query: Input, space: Space, cursors: Cursors) -> ListCompanies:
    """Raise Invalid with every broken rule."""
    created_times = CREATED.read_time(query, space.zone, EVER)
    per_page = PER_PAGE.read(query) or 0
    position = cursors.read_from(query)
    query.finish()
    return ListCompanies(created_times, per_page, position)
