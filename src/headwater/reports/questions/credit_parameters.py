"""The parameters of the events behind a figure: those of its report that select, so that one query
fits both.
"""

from __future__ import annotations

from datetime import datetime

from headwater.attribution.fits.choice import FIT
from headwater.events.parameters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.pagination import CURSOR, Cursors, page_size
from headwater.http.inputs.parameters import Input, Parameter
from headwater.people.contacts import filters
from headwater.reports.credit_models import CreditFilter, CreditsQuery
from headwater.reports.explanation_answer import WINDOW
from headwater.reports.key_parameters import ONLY
from headwater.reports.models import DateBasis
from headwater.reports.parameters import (
    CAMPAIGN,
    DATE_BASIS,
    DEFAULT_MODEL,
    MODEL,
    PERIOD,
    SOURCES_FILTER,
    TIME,
    read_filters,
    read_span,
)
from headwater.reports.questions.cohort_parameters import ACQUIRED, ACQUIRED_BY, read_acquisition
from headwater.reports.validation import MOST_ROWS
from headwater.spaces.models import Space

CREDIT = Parameter(
    name="credit",
    kind=one_of([str(credit) for credit in CreditFilter]),
    description=(
        "Only events with credit that counts, without any (by reason), or with a touchpoint in "
        "the window. If left out: credited where only some touchpoints count, else all."
    ),
)
PER_PAGE = page_size(MOST_ROWS)

SELECTION = (
    PERIOD,
    *TIME.parameters,
    MODEL,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    SOURCES_FILTER,
    CAMPAIGN,
    ONLY,
    AMOUNT_MIN,
    AMOUNT_MAX,
    DATE_BASIS,
    ACQUIRED,
    ACQUIRED_BY,
    CREDIT,
    FIT,
)
PARAMETERS = (*SELECTION, PER_PAGE, CURSOR)


def credit_cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    """Return the cursors of the list that a query selects."""
    values = [sorted(query.texts(parameter.name)) for parameter in SELECTION]
    conditions = query.objects(filters.PARAMETER)
    selection = [values, list(conditions.values())]
    return Cursors(signing_key, space_id, "/reports/credits", selection)


def read_credits_query(query: Input, space: Space, cursors: Cursors, now: datetime) -> CreditsQuery:
    """Read the page that parameters describe. Raises Invalid with every rule they break."""
    span, credit = read_span(query, space, now), CREDIT.read(query)
    credits_query = CreditsQuery(
        start=span.start,
        end=span.end,
        model=MODEL.read(query) or DEFAULT_MODEL,
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=read_filters(query, space, now),
        date_basis=DateBasis(DATE_BASIS.read(query) or DateBasis.CONVERSION),
        acquired=read_acquisition(query, space.sources),
        credit=None if credit is None else CreditFilter(credit),
        per_page=PER_PAGE.read(query) or 0,
        at=cursors.read_from(query),
        fit=FIT.read(query),
    )
    query.finish()
    return credits_query
