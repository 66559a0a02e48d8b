"""The parameters of List Companies: defined once, for reading and for the API's description."""

from __future__ import annotations

from headwater.http.inputs.date_range import MOMENT_OR_BLANK, date_range
from headwater.http.inputs.pagination import CURSOR, Cursors, page_size
from headwater.http.inputs.parameters import Input
from headwater.http.inputs.timerange import EVER
from headwater.people.companies.models import ListCompanies
from headwater.spaces.models import Space

CREATED = date_range(
    "Only companies created from this second on, on the clock of the Space's time zone. "
    "Required with `end_date`.",
    "Only companies created up to this second, included; later than `start_date`, and required with it.",
    kind=MOMENT_OR_BLANK,
)
PER_PAGE = page_size(5000)

DOCUMENTATION = [parameter.openapi() for parameter in (*CREATED.parameters, PER_PAGE, CURSOR)]


def cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    """The cursors of the list that a query selects."""
    return Cursors(signing_key, space_id, "/companies", CREATED.texts(query))


def read_list_companies(query: Input, space: Space, cursors: Cursors) -> ListCompanies:
    """Read the page to list from a query. Raises Invalid with every rule that it breaks."""
    created = CREATED.read_time(query, space.zone, EVER)
    per_page = PER_PAGE.read(query) or 0
    at = cursors.read_from(query)
    query.finish()
    return ListCompanies(created, per_page, at)
