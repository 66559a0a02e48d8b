"""Filters of lists, exports and reports: event names, amounts, companies' paths and sources."""

from __future__ import annotations

import re
from decimal import Decimal

from headwater.events.accepted import EVENT_NAMES, EVENT_NAMES_IN_WORDS
from headwater.http.decimals import MAX_AMOUNT, number_pattern
from headwater.http.inputs.fields import BLANK, Schema, number, number_text, number_within, one_of, written
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.spaces.known_values import SOURCE, refuse_source

QUERY_MODE = Parameter(
    name="query_mode",
    kind=one_of(("profile", "company")),
    default="profile",
    description="Whether to use the paths of contacts or of companies.",
)
EVENT_NAMES_PARAMETER = ListParameter(
    name="event_names",
    kind=one_of(EVENT_NAMES, EVENT_NAMES_IN_WORDS),
    max_values=10,
    description="Only events with these names.",
)
_NUMBER = re.compile(number_pattern(exponent=3))


def _within_amounts(amount: Decimal) -> Decimal:
    if abs(amount) > MAX_AMOUNT:
        raise ValueError(f"must be from {-MAX_AMOUNT:f} to {MAX_AMOUNT:f}.")
    return amount


_AMOUNT = (
    number("must be a number.", form=_NUMBER)
    .then(_within_amounts)
    .documented(anyOf=[number_within(MAX_AMOUNT), number_text(_NUMBER), BLANK])
)
AMOUNT_MIN = Parameter(
    name="amount_min", kind=_AMOUNT, description="Minimum amount, inclusive; refunds are negative."
)
AMOUNT_MAX = Parameter(name="amount_max", kind=_AMOUNT, description="Maximum amount, inclusive.")


def sources_parameter(limit: int, description: str, schema: Schema = SOURCE) -> ListParameter[str]:
    kind = written(schema, str)
    return ListParameter(name="sources", kind=kind, max_values=limit, description=description)


def read_sources(query: Input, parameter: ListParameter[str], existing: tuple[str, ...]) -> tuple[str, ...]:
    """Record unknown sources as errors in the query."""
    words = parameter.read(query)
    for word in words:
        if (rule := refuse_source(word, existing)) is not None:
            query.refuse(parameter.name, rule)
    return tuple(word for word in words if word in existing)
