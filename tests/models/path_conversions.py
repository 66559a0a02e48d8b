"""What an expression can make of a value. Pure. A value that does not fit raises ValueError with
the rest of the sentence "The <field> …".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from typing import Any, cast
from urllib.parse import parse_qsl, urljoin, urlsplit

from headwater.sources.resolve import SourceParameters, resolve

_NUMBER = re.compile(r"[+-]?[0-9]{1,24}(\.[0-9]{1,24})?")
_LARGEST_EXPONENT = 30
_MAX_PARAMETERS = 200

# How many digits stand after the point, where it is not two. Stripe counts ISK and UGX in
# hundredths, although they have none.
_NO_MINOR_UNIT = frozenset(
    "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split()  # noqa: SIM905 - a table
)
_THOUSANDTHS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


class Takes(Enum):
    """What stands in brackets after a conversion's name."""

    NOTHING = auto()
    A_WORD = auto()
    A_PATH = auto()


@dataclass(frozen=True)
class Conversion:
    """A conversion by name: `function` gets the value and what the brackets gave."""

    function: Callable[[Any, Any], Any]
    takes: Takes = Takes.NOTHING


def to_number(value: Any) -> Decimal:
    """A number, from one or from text holding one."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
        if number.is_finite() and abs(number.adjusted()) <= _LARGEST_EXPONENT:
            return number
    raise ValueError("must be a number.")


def to_text(value: Any) -> str:
    """Text, from text or a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return str(value)
    raise ValueError("must be text or a number.")


def _cents(value: Any, _: None) -> Decimal:
    return to_number(value) / 100


def _minor(value: Any, currency: Any) -> Decimal:
    code = to_text(currency).strip().upper() if currency is not None else ""
    if code in _NO_MINOR_UNIT:
        return to_number(value)
    return to_number(value) / (1000 if code in _THOUSANDTHS else 100)


def _minus(value: Any, other: Any) -> Decimal:
    return to_number(value) - (to_number(other) if other is not None else 0)


def _negative(value: Any, _: None) -> Decimal:
    return -abs(to_number(value))


def _sum(value: Any, _: None) -> Decimal:
    if isinstance(value, list):
        return sum(map(to_number, cast("list[Any]", value)), Decimal(0))
    raise ValueError("must be a list to be summed up.")


def _milliseconds(value: Any, _: None) -> Decimal:
    return to_number(value) / 1000


def _parameter(value: Any, name: str) -> str | None:
    try:
        pairs = parse_qsl(urlsplit(to_text(value)).query, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return None
    return next((text for key, text in pairs if key.lower() == name.lower()), None)


def _within(value: Any, base: Any) -> str:
    try:
        return urljoin(to_text(base), to_text(value)) if base is not None else to_text(value)
    except ValueError:
        raise ValueError("must be a URL.") from None


def _source(value: Any, _: None) -> str | None:
    name, rule = resolve(SourceParameters(), to_text(value))
    return name if rule != "fallback" else None


def _host(value: Any, _: None) -> str | None:
    try:
        host = urlsplit(to_text(value)).hostname
    except ValueError:
        return None
    return host.removeprefix("www.") if host else None


CONVERSIONS = {
    "cents": Conversion(_cents),
    "minor": Conversion(_minor, Takes.A_PATH),
    "minus": Conversion(_minus, Takes.A_PATH),
    "negative": Conversion(_negative),
    "sum": Conversion(_sum),
    "milliseconds": Conversion(_milliseconds),
    "parameter": Conversion(_parameter, Takes.A_WORD),
    "within": Conversion(_within, Takes.A_PATH),
    "source": Conversion(_source),
    "host": Conversion(_host),
}
