"""Local times in tool answers.

The API gives event times in UTC, while reports use the Space's time zone. An assistant needs both to compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

_SUFFIX = "_utc"

Members = dict[str, Any]


def add_local_times(answer: Any, zone: ZoneInfo) -> Any:
    """Add `event_time` after members such as `event_time_utc`, in the Space's time zone with its offset."""
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
        yield name, add_local_times(value, zone)
        if _is_utc_time(name, value):
            local_time = datetime.fromisoformat(value).astimezone(zone)
            yield name.removesuffix(_SUFFIX), local_time.isoformat()


def _is_utc_time(name: str, value: Any) -> bool:
    return name.endswith(_SUFFIX) and isinstance(value, str)
