"""When an event happened, from the forms a client may send it in."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
MAX_AHEAD_SECONDS = 24 * 3600
DATE_FORMS = "must be a date (YYYY-MM-DD) or an ISO 8601 date-time."
FORMS = "must be an ISO 8601 date-time or a Unix timestamp in seconds."

# Narrower than what Python parses, which also takes week dates, comma fractions and odd offsets.
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d{1,9})?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_UNIX = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)


def parse_event_time(value: str | float | None, now: float) -> int:
    """Milliseconds since 1970. `now` (Unix seconds) stands in when there is none.

    Raises ValueError for other forms, before 2000 and more than 24 hours after `now`.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return int(now * 1000)
    seconds = _seconds(value)
    if not EARLIEST.timestamp() <= seconds <= now + MAX_AHEAD_SECONDS:
        raise ValueError("must be between 2000-01-01 and 24 hours from now, in seconds if Unix.")
    return round(seconds * 1000)


def parse_slot_date(value: str | float) -> str:
    """A date slot's value: `YYYY-MM-DD` as it is, an instant as `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    try:
        if isinstance(value, str) and _DAY.fullmatch(value.strip()):
            return date.fromisoformat(value.strip()).isoformat()
        moment = datetime.fromtimestamp(_seconds(value), UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(DATE_FORMS) from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(value: str | float) -> float:
    if not isinstance(value, str):
        try:
            return float(value)
        except OverflowError:  # an integer has no bound
            raise ValueError(FORMS) from None
    text = value.strip()
    if _UNIX.fullmatch(text):
        return float(text)
    match = _ISO.fullmatch(text)
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
