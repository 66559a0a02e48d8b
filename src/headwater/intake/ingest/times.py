"""The times of events, in the forms that clients may send them in."""

from __future__ import annotations

from datetime import UTC, datetime

from headwater.http.inputs.instants import parse_instant

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
MAX_AHEAD_SECONDS = 24 * 3600


def parse_event_time(value: str | float | None, now: float) -> int:
    """Return the milliseconds since 1970; those of `now` (Unix seconds) for a missing time.

    Raises ValueError for other forms, for times before 2000 and more than 24 hours after `now`.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return int(now * 1000)
    seconds = parse_instant(value)
    if not EARLIEST.timestamp() <= seconds <= now + MAX_AHEAD_SECONDS:
        raise ValueError("must be between 2000-01-01 and 24 hours from now, in seconds if Unix.")
    return round(seconds * 1000)
