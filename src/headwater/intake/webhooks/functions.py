"""JMESPath functions for money, times, text and URLs. Pure.

They return null for a missing value, and raise ValueError for a wrong kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import wraps
from itertools import islice
from typing import Any, cast
from urllib.parse import unquote_plus, urljoin, urlsplit

from headwater.http.inputs.fields import is_blank
from headwater.intake.webhooks.standard_functions import STANDARD_FUNCTIONS
from headwater.intake.webhooks.values import ANY_VALUE, TEXT, Function, ValueKind, to_number, to_text
from headwater.sources.evidence import UNDECLARED
from headwater.sources.parameters import read_pairs
from headwater.sources.resolve import resolve
from headwater.spaces.currencies import find_decimals

_MAX_PARAMETERS = 200

_STRIPE_DECIMALS = {"ISK": 2, "UGX": 2, "MGA": 0}
"""Where Stripe differs from ISO 4217."""


def _skip_blank(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return null if the first argument is blank."""

    @wraps(function)
    def call(value: Any, *more: Any) -> Any:
        return None if is_blank(value) else function(value, *more)

    return call


def _not_blank(values: Iterator[Any]) -> Any:
    return next((value for value in values if not is_blank(value)), None)


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return headers.get(name.lower())


def from_minor_units(value: Any, currency: Any = None) -> Decimal:
    code = to_text(currency).strip().upper() if currency is not None else ""
    decimals = _STRIPE_DECIMALS.get(code, find_decimals(code))
    return to_number(value) / 10**decimals if decimals else to_number(value)


def _subtract(value: Any, subtrahend: Any) -> Decimal:
    return to_number(value) - (to_number(subtrahend) if subtrahend is not None else 0)


def _negative(value: Any) -> Decimal:
    return -abs(to_number(value))


def _total(value: Any) -> Decimal | None:
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return sum(map(to_number, items), Decimal(0)) if items else None
    raise ValueError("must be a list to be summed up.")


def _from_milliseconds(value: Any) -> Decimal:
    return to_number(value) / 1000


def _join_words(*values: Any) -> str | None:
    return " ".join(to_text(value).strip() for value in values if not is_blank(value)) or None


def _url_parameter(value: Any, name: str) -> str | None:
    lower_name = name.lower()
    values = (raw for key, raw in islice(read_pairs(to_text(value)), _MAX_PARAMETERS) if key == lower_name)
    return next((unquote_plus(raw) for raw in values if raw), None)


def _absolute_url(value: Any, base: Any) -> str:
    try:
        return urljoin(to_text(base), to_text(value)) if base is not None else to_text(value)
    except ValueError:
        raise ValueError("must be a URL.") from None


def _url_source(value: Any) -> str | None:
    name, rule = resolve(UNDECLARED, to_text(value))
    return name if rule != "fallback" else None


def _url_host(value: Any) -> str | None:
    try:
        host = urlsplit(to_text(value)).hostname
    except ValueError:
        return None
    return host.removeprefix("www.") if host else None


def _url_function(function: Callable[..., Any], steps: int, takes: tuple[ValueKind, ...]) -> Function:
    """Return a function with the cost of parsing URLs."""
    return Function(_skip_blank(function), takes, steps=steps, characters_a_step=20)


OWN_FUNCTIONS: Mapping[str, Function] = {
    "not_blank": Function(_not_blank, (ANY_VALUE,), repeats=True, lazy=True),
    "header": Function(_header, (TEXT,), reads_headers=True),
    "number": Function(_skip_blank(to_number), (ANY_VALUE,)),
    "from_minor_units": Function(_skip_blank(from_minor_units), (ANY_VALUE, ANY_VALUE), least_count=1),
    "subtract": Function(_skip_blank(_subtract), (ANY_VALUE, ANY_VALUE)),
    "negative": Function(_skip_blank(_negative), (ANY_VALUE,)),
    "total": Function(_skip_blank(_total), (ANY_VALUE,), deep=True),
    "from_milliseconds": Function(_skip_blank(_from_milliseconds), (ANY_VALUE,)),
    "join_words": Function(_join_words, (ANY_VALUE,), repeats=True, deep=True),
    "url_parameter": _url_function(_url_parameter, 15, (ANY_VALUE, TEXT)),
    "absolute_url": _url_function(_absolute_url, 15, (ANY_VALUE, ANY_VALUE)),
    "url_host": _url_function(_url_host, 10, (ANY_VALUE,)),
    "url_source": _url_function(_url_source, 40, (ANY_VALUE,)),
}
FUNCTIONS: Mapping[str, Function] = {**STANDARD_FUNCTIONS, **OWN_FUNCTIONS}
