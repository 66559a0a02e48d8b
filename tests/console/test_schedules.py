"""When reports are due: once for each day that they are to be, whatever a clock does."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.console.scheduled_reports.schedule import Cadence, Schedule
from headwater.http.inputs.period_words import read_dates

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
    "Pacific/Apia", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Beirut",
)  # fmt: skip
SCHEDULES = st.builds(Schedule, st.sampled_from(Cadence), st.integers(1, 6), st.integers(0, 23)) | st.builds(
    Schedule, st.just(Cadence.MONTHLY), st.just(1), st.integers(0, 23)
)
MOMENTS = st.integers(1_300_000_000, 2_100_000_000).map(lambda s: datetime.fromtimestamp(s, UTC))


def test_it_works() -> None:
    zone = ZoneInfo("Europe/Berlin")
    weekly = Schedule(Cadence.WEEKLY, 0, 7)
    due = weekly.next_after(datetime(2026, 10, 23, 12, tzinfo=UTC), zone)
    assert due == datetime(2026, 10, 26, 6, tzinfo=UTC), "in winter, an hour later"
    assert weekly.words() == "every Monday at 07:00"


@pytest.mark.parametrize(
    ("moment", "expected"),
    [(datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 1, tzinfo=UTC)),
     (datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 25, 0, tzinfo=UTC)),
     (datetime(2026, 10, 25, 0, tzinfo=UTC), datetime(2026, 10, 26, 1, tzinfo=UTC))],
)  # fmt: skip
def test_an_hour_that_is_skipped_or_comes_twice(moment: datetime, expected: datetime) -> None:
    daily = Schedule(Cadence.DAILY, 0, 2)
    assert daily.next_after(moment, ZoneInfo("Europe/Berlin")) == expected


def test_the_first_of_each_month() -> None:
    monthly = Schedule(Cadence.MONTHLY, 1, 8)
    due = monthly.next_after(datetime(2026, 1, 1, 8, tzinfo=UTC), ZoneInfo("UTC"))
    assert due == datetime(2026, 2, 1, 8, tzinfo=UTC)
    assert monthly.words() == "on the first of each month at 08:00"


@pytest.mark.parametrize(
    ("cadence", "words", "days"),
    [(Cadence.DAILY, "2026-02-28", (date(2026, 2, 28), date(2026, 2, 28))),
     (Cadence.WEEKLY, "2026-02-22 to 2026-02-28", (date(2026, 2, 22), date(2026, 2, 28))),
     (Cadence.MONTHLY, "2026-02", (date(2026, 2, 1), date(2026, 2, 28)))],
)  # fmt: skip
def test_the_period_follows_the_cadence(cadence: Cadence, words: str, days: tuple[date, date]) -> None:
    today = date(2026, 3, 1)
    assert Schedule(cadence, 0, 8).period_words(today) == words
    span = read_dates(words, today)
    assert (span.first, span.last) == days


@settings(deadline=None, max_examples=200)
@given(SCHEDULES, MOMENTS, st.sampled_from(ZONES))
def test_each_day_has_its_turn_once(schedule: Schedule, moment: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    first = schedule.next_after(moment, zone)
    second = schedule.next_after(first, zone)
    assert moment < first < second
    assert schedule.next_after(first - timedelta(seconds=1), zone) == first
    longest = {Cadence.DAILY: 2, Cadence.WEEKLY: 8, Cadence.MONTHLY: 32}[schedule.cadence]
    assert second - first <= timedelta(days=longest, hours=1)
    for due in (first, second):
        local = due.astimezone(zone)
        day = local.date() if local.hour >= schedule.hour else local.date() - timedelta(days=1)
        assert schedule.is_on(day)
        skipped = local.hour != schedule.hour or local.minute
        assert not skipped or local.utcoffset() != (due - timedelta(hours=3)).astimezone(zone).utcoffset()
