"""Instants in bodies: ISO 8601 text or Unix seconds, and nothing looser."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

FORMS = "must be an ISO 8601 date-time or a Unix timestamp in seconds."

# Narrower than what Python parses, which also takes week dates, comma fractions and odd offsets.
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d{1,9})?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_UNIX = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")

_DAY = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?(\.[0-9]{1,9})?"
_OFFSET = r"\s?([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?"
ISO_SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": rf"^\s*{_DAY}([Tt ]{_CLOCK}{_OFFSET})?\s*$",
}
UNIX_SCHEMA: dict[str, Any] = {"type": "string", "pattern": rf"^\s*{_UNIX.pattern}\s*$"}


def parse_instant(value: str | float) -> float:
    """Unix seconds from a number of them, their digits, or ISO 8601 text (no offset is UTC).

    Raises ValueError with the rule that other forms break.
    """
    if not isinstance(value, str):
        try:
            return float(value)
        except OverflowError:  # an integer has no bound
            raise ValueError(FORMS) from None
    text = value.strip()
    return float(text) if _UNIX.fullmatch(text) else parse_iso(text)


def parse_iso(value: str) -> float:
    """Unix seconds from ISO 8601 text alone (no offset is UTC). Raises ValueError likewise."""
    match = _ISO.fullmatch(value.strip())
    if match is None:
        raise ValueError(FORMS)
    day, clock, seconds, fraction, offset = match.groups()
    zone = "+00:00" if offset in (None, "Z", "z") else offset
    try:
        moment = datetime.fromisoformat(
            f"{day}T{clock or '00:00'}{seconds or ':00'}{(fraction or '')[:7]}{zone}"
        )
    except ValueError:
        raise ValueError(FORMS) from None
    return moment.timestamp()
