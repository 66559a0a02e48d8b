"""`local_time`: a moment's local time by our zones, whatever PostgreSQL's own say."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import psycopg
import pytest

from headwater.http.inputs.timerange import bind_zone

FIRST = datetime(1800, 1, 1, tzinfo=UTC)
SECONDS = round((datetime(2100, 1, 1, tzinfo=UTC) - FIRST).total_seconds())
STATEMENT = """
    SELECT local_time(m, %(changes)s::timestamptz[], %(offsets)s::interval[])
    FROM unnest(%(moments)s::timestamptz[]) WITH ORDINALITY AS moments (m, number) ORDER BY number
"""


def read_local_times(
    connection: psycopg.Connection, zone: ZoneInfo, moments: list[datetime]
) -> list[datetime]:
    rows = connection.execute(STATEMENT, {"moments": moments, **bind_zone(zone)}).fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("zone", "moment", "local_time"),
    [
        ("Europe/Berlin", "2026-03-29 00:59:59.999999", "2026-03-29 01:59:59.999999"),
        ("Europe/Berlin", "2026-03-29 01:00:00", "2026-03-29 03:00:00"),
        ("Europe/Berlin", "2026-10-25 01:00:00", "2026-10-25 02:00:00"),
        ("CET", "2026-07-01 22:30:00", "2026-07-02 00:30:00"),
        ("Australia/Lord_Howe", "2026-04-04 15:00:00", "2026-04-05 01:30:00"),
        ("Pacific/Apia", "2011-12-30 10:00:00", "2011-12-31 00:00:00"),
        ("Asia/Kathmandu", "1971-01-01 00:00:00", "1971-01-01 05:30:00"),
        ("America/Edmonton", "2026-12-01 00:30:00", "2026-11-30 18:30:00"),
    ],
)
def test_it_works(connection: psycopg.Connection, zone: str, moment: str, local_time: str) -> None:
    moments = [datetime.fromisoformat(moment).replace(tzinfo=UTC)]
    assert read_local_times(connection, ZoneInfo(zone), moments) == [datetime.fromisoformat(local_time)]


def test_any_zone(connection: psycopg.Connection) -> None:
    """Near its changes, and at other moments."""
    dice = random.Random(1)
    for name in dice.sample(sorted(available_timezones()), 100):
        zone = ZoneInfo(name)
        moments = [FIRST + timedelta(seconds=dice.randrange(SECONDS)) for _ in range(20)]
        moments += [
            datetime.fromisoformat(change) + timedelta(seconds=seconds)
            for change in bind_zone(zone)["changes"].strip("{}").split(",")[1:]
            for seconds in (-1, 0, dice.randrange(-86_400, 86_400))
        ]
        expected = [moment.astimezone(zone).replace(tzinfo=None) for moment in moments]
        assert read_local_times(connection, zone, moments) == expected, name
