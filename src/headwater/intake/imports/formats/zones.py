"""Apply the file's time zone to times without an offset. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from headwater.http.inputs.instants import parse_instant
from headwater.http.inputs.timerange import first_instant

_OFFSET = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)$", re.IGNORECASE | re.ASCII)
_CLOCK = re.compile(r"[T\s]", re.IGNORECASE)


def is_local(value: Any) -> bool:
    """Return whether it is a time without an offset; False if invalid."""
    if not isinstance(value, str) or re.fullmatch(r"[0-9.]+", value.strip()):
        return False
    try:
        parse_instant(value)
    except ValueError:
        return False
    _, *clock = _CLOCK.split(value.strip(), maxsplit=1)
    return not (clock and _OFFSET.search(clock[0]))


def add_offset(value: str, zone: ZoneInfo) -> str:
    """Use the first instant of a repeated hour; shift forward in a gap."""
    local_time = datetime.fromtimestamp(parse_instant(value), UTC).replace(tzinfo=None)
    return first_instant(local_time, zone).isoformat()
