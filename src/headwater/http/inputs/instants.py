"""Instants in bodies: strict ISO 8601 text or Unix seconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

FORMS = "must be an ISO 8601 date-time or a Unix timestamp in seconds."

# Stricter than Python, which also accepts week dates and odd offsets. A day needs its dashes because eight
# digits are Unix seconds.
_EXTENDED = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)([.,]\d{1,9})?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_BASIC = re.compile(
    r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(?:(\d\d)([.,]\d{1,9})?)?(Z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
_UNIX = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")

_MONTH, _DAY = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_HOUR, _SIXTY, _FRACTION = "([01][0-9]|2[0-3])", "[0-5][0-9]", "([.,][0-9]{1,9})?"
_OFFSET = rf"([Zz]|[+-]{_HOUR}(:?{_SIXTY})?)?"
_EXTENDED_FORM = rf"[0-9]{{4}}-{_MONTH}-{_DAY}([Tt ]{_HOUR}:{_SIXTY}(:{_SIXTY}{_FRACTION})?\s?{_OFFSET})?"
_BASIC_FORM = rf"[0-9]{{4}}{_MONTH}{_DAY}[Tt]{_HOUR}{_SIXTY}({_SIXTY}{_FRACTION})?{_OFFSET}"
ISO_SCHEMA: dict[str, Any] = {"type": "string", "pattern": rf"^\s*({_EXTENDED_FORM}|{_BASIC_FORM})\s*$"}
UNIX_SCHEMA: dict[str, Any] = {"type": "string", "pattern": rf"^\s*{_UNIX.pattern}\s*$"}


def parse_instant(value: str | float) -> float:
    """Return Unix seconds from a number, its digits, or ISO 8601 text (UTC without an offset).

    Raise ValueError with the broken rule.
    """
    if not isinstance(value, str):
        try:
            return float(value)
        except OverflowError:  # an integer has no bound
            raise ValueError(FORMS) from None
    text = value.strip()
    return float(text) if _UNIX.fullmatch(text) else parse_iso(text)


def written_in_utc(moment: datetime) -> str:
    """Return a moment in the format of all answers: UTC, with milliseconds if it has any."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def parse_iso(value: str) -> float:
    """Return Unix seconds from ISO 8601 text in extended or basic format (UTC without an offset). Raise
    ValueError.
    """
    day, clock, seconds, fraction, offset = _parts(value.strip())
    zone = "+00:00" if offset in (None, "Z", "z") else offset
    decimals = f".{fraction[1:7]}" if fraction else ""
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{seconds or ':00'}{decimals}{zone}")
    except ValueError:
        raise ValueError(FORMS) from None
    return moment.timestamp()


def _parts(text: str) -> tuple[str | None, ...]:
    """Return day, hour and minute, seconds, fraction and offset."""
    match = _EXTENDED.fullmatch(text)
    if match is not None:
        return match.groups()
    match = _BASIC.fullmatch(text)
    if match is None:
        raise ValueError(FORMS)
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    seconds = f":{second}" if second else None
    return f"{year}-{month}-{day}", f"{hour}:{minute}", seconds, fraction, offset
