"""The time bucket of every second, for any bounds of the buckets, and its hour and weekday."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.paths.path_data import Column, PathData
from headwater.reports.engine.dimensions import ClockPart, Step

HOUR = 3_600
FIRST = 500_000 * HOUR
seconds = st.lists(st.integers(FIRST - 2 * HOUR, FIRST + 40 * HOUR), max_size=20)


def keys(bounds: list[int], event_seconds: list[int]) -> list[int]:
    paths = PathData({Column.SECONDS: np.array(event_seconds, dtype=np.uint32)}, (), len(event_seconds), 0)
    return Step(np.array(bounds, dtype=np.int64)).keys(paths).tolist()


def test_it_works() -> None:
    days = [FIRST, FIRST + 24 * HOUR]
    assert keys(days, [FIRST - 1, FIRST, days[1] - 1, days[1], days[1] + 90 * HOUR]) == [0, 1, 1, 2, 2]


@given(
    quarters=st.sets(st.integers(0, 160), min_size=1, max_size=6),
    head_start=st.integers(0, 2_000),
    has_odd_offset=st.booleans(),
    event_seconds=seconds,
)
def test_every_second(
    quarters: set[int], head_start: int, has_odd_offset: bool, event_seconds: list[int]
) -> None:
    """The first bucket may begin at any second; in a zone with an old, odd offset, all buckets may."""
    starts = [FIRST + 900 * quarter + (7 if has_odd_offset else 0) for quarter in sorted(quarters)]
    starts[0] -= head_start
    assert keys(starts, event_seconds) == [bisect_right(starts, second) for second in event_seconds]


@pytest.mark.parametrize(
    ("zone", "change"),
    [
        ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
        ("America/St_Johns", datetime(2026, 3, 8, 5, 30, tzinfo=UTC)),
        ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ],
)
def test_hours_and_weekdays_around_a_clock_change(zone: str, change: datetime) -> None:
    """In a zone with half an hour of offset, clocks change in the middle of an hour of UTC."""
    event_seconds = range(int(change.timestamp()) - 2 * HOUR, int(change.timestamp()) + 2 * HOUR, 300)
    paths = PathData({Column.SECONDS: np.array(event_seconds, dtype=np.uint32)}, (), len(event_seconds), 0)
    local_times = [datetime.fromtimestamp(second, ZoneInfo(zone)) for second in event_seconds]
    hours, weekdays = (
        ClockPart(ZoneInfo(zone), weekday=is_weekday).keys(paths) for is_weekday in (False, True)
    )
    assert hours.tolist() == [local_time.hour for local_time in local_times]
    assert weekdays.tolist() == [local_time.isoweekday() for local_time in local_times]
