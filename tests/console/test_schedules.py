"""When reports are due: once on each of their days, through every clock change."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.console.scheduled_reports.schedule import Cadence, Schedule
from headwater.http.inputs.period_words import read_dates
from tests.support.campaigns import campaign_size

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
    "Pacific/Apia", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Beirut",
)  # fmt: skip
CHANGES = {
    "Europe/Berlin": (datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)),
    "America/New_York": (datetime(2026, 3, 8, 7, tzinfo=UTC), datetime(2026, 11, 1, 6, tzinfo=UTC)),
    "Australia/Lord_Howe": (datetime(2026, 10, 3, 15, 30, tzinfo=UTC), datetime(2026, 4, 4, 15, tzinfo=UTC)),
    "Asia/Beirut": (datetime(2026, 3, 28, 22, tzinfo=UTC), datetime(2026, 10, 24, 21, tzinfo=UTC)),
    "Pacific/Apia": (datetime(2011, 12, 30, 10, tzinfo=UTC),),
}
"""Clock changes; Apia skipped a whole day, Beirut skips midnight."""
MINUTES = st.integers(0, 24 * 60 - 1) | st.integers(0, 4 * 60)
CLOCKS = MINUTES.map(lambda minutes: time(minutes // 60, minutes % 60))
WEEKDAYS = st.sets(st.integers(0, 6), min_size=1).map(lambda days: tuple(sorted(days)))
SCHEDULES = st.builds(Schedule, st.just(Cadence.WEEKLY), WEEKDAYS, CLOCKS) | st.builds(
    Schedule, st.sampled_from((Cadence.DAILY, Cadence.MONTHLY)), st.just(()), CLOCKS
)
SECONDS = st.integers(1_300_000_000, 2_100_000_000)
MOMENTS = SECONDS.map(lambda second: datetime.fromtimestamp(second, UTC))


@st.composite
def near_changes(draw: st.DrawFn) -> tuple[str, datetime]:
    """Return a zone and a moment within two days of one of its clock changes."""
    name = draw(st.sampled_from([*CHANGES]))
    minutes = draw(st.integers(-2 * 24 * 60, 24 * 60))
    return name, draw(st.sampled_from(CHANGES[name])) + timedelta(minutes=minutes)


QUARTER = timedelta(minutes=15)


def search_instant(local_time: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant of a local time, found by reading the clock every quarter of an hour. A repeated
    time means its first occurrence; a skipped time keeps its distance from the start of the gap, counted from
    the change.
    """
    start = local_time.replace(minute=0, tzinfo=UTC) - timedelta(hours=16)
    readings = [start + number * QUARTER for number in range(4 * 32)]
    clocks = [reading.astimezone(zone).replace(tzinfo=None) for reading in readings]
    for reading, clock, previous in zip(readings[1:], clocks[1:], clocks, strict=False):
        if clock <= local_time < clock + QUARTER:
            return reading + (local_time - clock)
        if previous + QUARTER <= local_time < clock:
            return reading + (local_time - previous - QUARTER)
    raise AssertionError(local_time)


def search_next(schedule: Schedule, moment: datetime, zone: ZoneInfo) -> datetime:
    """The oracle of `next_after`: the earliest of all later instants."""
    today = moment.astimezone(zone).date()
    days = [today + timedelta(days=number) for number in range(-2, 40)]
    if schedule.cadence is Cadence.WEEKLY:
        days = [day for day in days if day.isoweekday() - 1 in schedule.weekdays]
    if schedule.cadence is Cadence.MONTHLY:
        days = [day for day in days if day.day == 1]
    instants = (search_instant(datetime.combine(day, schedule.send_at), zone) for day in days)
    return min(instant for instant in instants if instant > moment)


def test_it_works() -> None:
    zone = ZoneInfo("Europe/Berlin")
    weekly = Schedule(Cadence.WEEKLY, (0,), time(7))
    due = weekly.next_after(datetime(2026, 10, 23, 12, tzinfo=UTC), zone)
    assert due == datetime(2026, 10, 26, 6, tzinfo=UTC), "in winter, an hour later"
    assert weekly.words() == "every Monday at 07:00"


def test_several_weekdays_and_any_minute() -> None:
    schedule = Schedule(Cadence.WEEKLY, (0, 2, 4), time(16, 45))
    moment, send_times = datetime(2026, 1, 5, 12, tzinfo=UTC), list[datetime]()
    while len(send_times) < 4:
        moment = schedule.next_after(moment, ZoneInfo("UTC"))
        send_times.append(moment)
    assert send_times == [datetime(2026, 1, day, 16, 45, tzinfo=UTC) for day in (5, 7, 9, 12)]
    assert schedule.words() == "every Monday, Wednesday and Friday at 16:45"


@pytest.mark.parametrize(
    ("moment", "expected"),
    [(datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
     (datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
     (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 26, 1, 30, tzinfo=UTC))],
)  # fmt: skip
def test_an_hour_that_is_skipped_or_comes_twice(moment: datetime, expected: datetime) -> None:
    daily = Schedule(Cadence.DAILY, (), time(2, 30))
    assert daily.next_after(moment, ZoneInfo("Europe/Berlin")) == expected


def test_the_first_of_each_month() -> None:
    monthly = Schedule(Cadence.MONTHLY, (), time(8))
    due = monthly.next_after(datetime(2026, 1, 1, 8, tzinfo=UTC), ZoneInfo("UTC"))
    assert due == datetime(2026, 2, 1, 8, tzinfo=UTC)
    assert monthly.words() == "on the first of each month at 08:00"


@pytest.mark.parametrize(
    ("cadence", "period_words", "days"),
    [(Cadence.DAILY, "2026-02-28", (date(2026, 2, 28), date(2026, 2, 28))),
     (Cadence.WEEKLY, "2026-02-22 to 2026-02-28", (date(2026, 2, 22), date(2026, 2, 28))),
     (Cadence.MONTHLY, "2026-02", (date(2026, 2, 1), date(2026, 2, 28)))],
)  # fmt: skip
def test_the_period_follows_the_cadence(cadence: Cadence, period_words: str, days: tuple[date, date]) -> None:
    today = date(2026, 3, 1)
    assert Schedule(cadence, (0,), time(8)).period_words(today) == period_words
    span = read_dates(period_words, today)
    assert (span.first, span.last) == days


@settings(deadline=None, max_examples=campaign_size("HEADWATER_SCHEDULES", 60, 2000))
@given(SCHEDULES, near_changes() | st.tuples(st.sampled_from(ZONES), MOMENTS))
def test_the_next_time_equals_a_search_of_the_clock(
    schedule: Schedule, clock_time: tuple[str, datetime]
) -> None:
    zone, moment = ZoneInfo(clock_time[0]), clock_time[1]
    for _ in range(3):
        expected = search_next(schedule, moment, zone)
        assert schedule.next_after(moment, zone) == expected
        assert schedule.next_after(expected - timedelta(seconds=1), zone) == expected
        assert schedule.last_until(expected, zone) == expected
        assert schedule.last_until(expected - timedelta(seconds=1), zone) <= moment
        moment = expected
