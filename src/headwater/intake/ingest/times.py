from __future__ import annotations

from datetime import UTC, datetime

from headwater.http.inputs.instants import parse_instant

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
MAX_AHEAD_SECONDS = 24 * 3600


def parse_event_time(value: str | float | None, current_time: float) -> int:
    """Return milliseconds since 1970; `current_time` (Unix seconds) if missing. Raises ValueError if invalid,
    before 2000 or over 24 hours ahead.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return int(current_time * 1000)
    seconds = parse_instant(value)
    if not EARLIEST.timestamp() <= seconds <= current_time + MAX_AHEAD_SECONDS:
        raise ValueError("must be between 2000-01-01 and 24 hours from now, in seconds if Unix.")
    return round(seconds * 1000)
