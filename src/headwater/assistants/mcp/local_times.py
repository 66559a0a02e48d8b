"""Local times in tool answers.

The API gives times in UTC, while reports use the Space's time zone. An assistant needs both to compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

_SUFFIX = "_utc"
_TIME_NAME = re.compile(r"\w+_(utc|at)|first_event|last_event")
_UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)
"""A Space can give its fields any names, so values are checked too."""

Members = dict[str, Any]


def add_local_times(answer: Any, zone: ZoneInfo) -> Any:
    """Write times such as `created_at` in the Space's time zone with its offset, and add `event_time` after
    members such as `event_time_utc`.
    """
    if isinstance(answer, list):
        return [add_local_times(item, zone) for item in cast("list[Any]", answer)]
    if not isinstance(answer, dict):
        return answer
    return dict(_localize_members(cast("Members", answer), zone))


def has_utc_times(answer: Any) -> bool:
    """Return whether an answer has UTC times, which need the Space's time zone."""
    if isinstance(answer, list):
        return any(has_utc_times(item) for item in cast("list[Any]", answer))
    if not isinstance(answer, dict):
        return False
    members = cast("Members", answer)
    return any(_is_utc_time(name, value) or has_utc_times(value) for name, value in members.items())


def _localize_members(members: Members, zone: ZoneInfo) -> Iterator[tuple[str, Any]]:
    for name, value in members.items():
        local_time = _write_local(value, zone) if _is_utc_time(name, value) else None
        if local_time is None:
            yield name, add_local_times(value, zone)
            continue
        if name.endswith(_SUFFIX):
            yield name, value
        yield name.removesuffix(_SUFFIX), local_time


def _write_local(text: str, zone: ZoneInfo) -> str | None:
    """Return None for a text that is no date, and for a time outside the zone's calendar."""
    try:
        return datetime.fromisoformat(text).astimezone(zone).isoformat()
    except (ValueError, OverflowError):
        return None


def _is_utc_time(name: str, value: Any) -> bool:
    return (
        isinstance(value, str)
        and _TIME_NAME.fullmatch(name) is not None
        and _UTC_TIME.fullmatch(value) is not None
    )
