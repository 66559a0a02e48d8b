"""Parts of payloads that several platforms share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

import msgspec

from headwater.base.egress.models import EgressRequest
from headwater.forwarding.platforms.models import Conversion

MEGABYTE = 1_000_000
_ENVELOPE = 1000
"""Bytes of a call that are in no part."""


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value: platforms take an absent field, not an empty one."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def list_of(value: str | None) -> list[str] | None:
    """Return a value as a list, for fields that accept several."""
    return None if value is None else [value]


def event_seconds(conversion: Conversion) -> int:
    """Return the event's time as whole seconds since 1970."""
    return conversion.event_time // 1000


def value_fields(conversion: Conversion, form: Callable[[Decimal], Any]) -> dict[str, Any]:
    """Return `currency` and `value`, the amount in the form that the platform takes; neither where
    there is no amount.
    """
    if conversion.amount is None:
        return {}
    return present(currency=conversion.currency, value=form(conversion.amount))


def lacks_currency(conversion: Conversion) -> bool:
    """Return whether there is an amount without a currency."""
    return conversion.amount is not None and not conversion.currency


def json_call(url: str, body: Any, headers: Mapping[str, str] | None = None) -> EgressRequest:
    """Return the call that posts a body of JSON."""
    return EgressRequest(url=url, headers=dict(headers or {}), body=msgspec.json.encode(body))


def bearer(token: str | None) -> dict[str, str]:
    """Return the header that carries an access token."""
    return {"Authorization": f"Bearer {token}"}


def count_within(parts: Sequence[Mapping[str, Any]], size: int) -> int:
    """Return the number of first parts, at least one, that make a body of at most `size` bytes."""
    ends = accumulate(len(msgspec.json.encode(part)) + 1 for part in parts)
    return max(1, sum(end <= size - _ENVELOPE for end in ends))
