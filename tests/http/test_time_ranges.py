"""Local date-times converted to instants, in every zone of the zone database.

The oracle asks the zone the opposite question: which instants show a given local time? Conversion from UTC
has no gaps or folds, so it shares nothing with the code under test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.http.inputs.timerange import (
    between,
    first_instant,
    last_instant,
    parse_day,
    parse_moment,
    whole_days,
)

ZONES = sorted(available_timezones())
HOUR = timedelta(hours=1)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def local_clock(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def offsets_near(local_time: datetime, zone: ZoneInfo) -> list[timedelta]:
    """Return every offset in force within a day and a half of `local_time`, in time order."""
    offsets: list[timedelta] = []
    for minutes in range(-36 * 60, 36 * 60 + 1, 15):
        offset = (local_time.replace(tzinfo=UTC) + timedelta(minutes=minutes)).astimezone(zone).utcoffset()
        assert offset is not None
        if not offsets or offsets[-1] != offset:
            offsets.append(offset)
    return offsets


def oracle(local_time: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the first and last instant that show `local_time`. In a gap, use the offset before it."""
    offsets = offsets_near(local_time, zone)
    candidates = [local_time.replace(tzinfo=UTC) - offset for offset in offsets]
    instants = [instant for instant in candidates if local_clock(instant, zone) == local_time]
    if instants:
        return min(instants), max(instants)
    (gap_instant,) = [
        local_time.replace(tzinfo=UTC) - before
        for before, after in pairwise(offsets)
        if before < after
        and local_clock(local_time.replace(tzinfo=UTC) - before, zone) - local_time == after - before
    ]
    return gap_instant, gap_instant


def transitions(zone: ZoneInfo, year: int) -> list[datetime]:
    """Return local times on both sides of every change of offset in a year, to the quarter of an hour."""
    moments: list[datetime] = []
    moment, end = utc(year, 1, 1), utc(year + 1, 1, 1)
    while moment < end:
        next_day = moment + timedelta(days=1)
        before, after = moment.astimezone(zone).utcoffset(), next_day.astimezone(zone).utcoffset()
        if before != after:
            quarters = (moment + timedelta(minutes=15 * n) for n in range(97))
            change = next(q for q in quarters if q.astimezone(zone).utcoffset() == after)
            edge = local_clock(change - timedelta(seconds=1), zone) + timedelta(seconds=1)
            moments += [edge + timedelta(minutes=minutes) for minutes in range(-75, 76, 15)]
        moment = next_day
    return moments


def offsets(local_time: datetime, zone: ZoneInfo) -> list[timedelta | None]:
    """Return the zone's own offset of a local time, and of its repetition."""
    return [local_time.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)]


@pytest.mark.parametrize("year", [2011, 2026])
def test_gaps_and_folds_of_every_zone(year: int) -> None:
    """Zones with the same clock changes are tested once."""
    seen_changes: set[object] = set()
    for name in ZONES:
        zone = ZoneInfo(name)
        moments = transitions(zone, year)
        changes = tuple((local, *offsets(local, zone)) for local in moments)
        if changes in seen_changes:
            continue
        seen_changes.add(changes)
        for local in moments:
            expected = oracle(local, zone)
            assert (first_instant(local, zone), last_instant(local, zone)) == expected, (name, local)


@given(
    name=st.sampled_from(ZONES),
    local_time=st.datetimes(datetime(1990, 1, 1), datetime(2037, 12, 31)).map(  # noqa: DTZ001
        lambda moment: moment.replace(microsecond=0)
    ),
)
@settings(max_examples=300, deadline=None)
def test_any_time_of_any_zone(name: str, local_time: datetime) -> None:
    zone = ZoneInfo(name)
    assert (first_instant(local_time, zone), last_instant(local_time, zone)) == oracle(local_time, zone)


@given(name=st.sampled_from(ZONES), day=st.dates(date(1990, 1, 1), date(2037, 12, 31)))
@settings(max_examples=300, deadline=None)
def test_days_tile_time(name: str, day: date) -> None:
    """A day ends where the next begins, and all its instants show that day."""
    zone = ZoneInfo(name)
    today, tomorrow = (whole_days(d, d, zone) for d in (day, day + timedelta(days=1)))
    assert today.end == tomorrow.start
    assert whole_days(day, day + timedelta(days=1), zone).end == tomorrow.end
    if today.start < today.end:
        assert local_clock(today.start, zone).date() == day
        assert local_clock(today.end - timedelta(seconds=1), zone).date() == day
        assert local_clock(today.start - timedelta(seconds=1), zone).date() < day


@pytest.mark.parametrize(
    ("zone", "day", "length"),
    [
        ("Europe/Berlin", date(2026, 3, 29), 23 * HOUR),
        ("Europe/Berlin", date(2026, 10, 25), 25 * HOUR),
        ("Australia/Lord_Howe", date(2026, 4, 5), 24.5 * HOUR),
        ("Africa/Cairo", date(2026, 4, 24), 23 * HOUR),
        ("America/Sao_Paulo", date(2018, 11, 4), 23 * HOUR),
        ("Pacific/Apia", date(2011, 12, 30), 0 * HOUR),
    ],
)
def test_days_of_unusual_length(zone: str, day: date, length: timedelta) -> None:
    time_range = whole_days(day, day, ZoneInfo(zone))
    assert time_range.end - time_range.start == length


def test_a_range_never_loses_a_repeated_hour() -> None:
    local = datetime(2025, 11, 2, 1, 30)  # noqa: DTZ001
    time_range = between(local, local, ZoneInfo("America/New_York"))
    assert (time_range.start, time_range.end) == (utc(2025, 11, 2, 5, 30), utc(2025, 11, 2, 6, 30, 1))


def test_the_ends_of_the_calendar_fit() -> None:
    first, last = parse_moment("0001-01-01 00:00:00"), parse_moment("9999-12-31 23:59:59")
    for name in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        zone = ZoneInfo(name)
        time_range = between(first, last, zone)
        assert time_range.start < time_range.end
        assert whole_days(first.date(), last.date(), zone).end <= utc(9999, 12, 31, 23, 59, 59, 999999)


@pytest.mark.parametrize(
    "text",
    [
        "2024-1-1 1:2:3", "2024-01-01  01:02:03", "2024-01-01T01:02:03", "2024-01-01 01:02",
        "2024-01-01 01:02:03.5", "2024-01-01 01:02:03Z", " 2024-01-01 01:02:03",
        "2024-01-01 01:02:03\n", "2024-02-30 00:00:00", "2023-02-29 00:00:00",
        "0000-01-01 00:00:00", "2024-01-01 24:00:00", "2024-01-01 00:00:60", "٢٠٢٤-01-01 00:00:00",
        "", "now",
    ],
)  # fmt: skip
def test_other_spellings_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must "):
        parse_moment(text)
    with pytest.raises(ValueError, match=r"^must "):
        parse_day(text)


def test_zones_are_those_of_the_package(tmp_path: Path) -> None:
    """An old machine's files would move the midnights of its Spaces."""
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(files("tzdata.zoneinfo").joinpath("UTC").read_bytes())
    code = (
        "from headwater.spaces.models import Space; from datetime import *; from zoneinfo import ZoneInfo;"
        "print(datetime(2026, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).utcoffset())"
    )
    environment = {**os.environ, "PYTHONTZPATH": str(tmp_path)}
    output = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "2:00:00"
