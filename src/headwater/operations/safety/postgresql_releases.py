"""The minor releases of PostgreSQL: release dates, and later due dates. Pure.

The project publishes them on the second Thursday of February, May, August and November
(https://www.postgresql.org/developer/roadmap/), so that no list has to be fetched.
"""

from __future__ import annotations

from datetime import date, timedelta

RELEASED = {180004: date(2026, 5, 14), 180005: date(2026, 8, 13), 180006: date(2026, 11, 12)}
"""The dates of the minor releases that can be bundled, by `server_version_num`."""
MONTHS = (2, 5, 8, 11)
_THURSDAY = 3


def missed_releases(version: int, today: date) -> list[date]:
    release_day = RELEASED.get(version)
    if release_day is None:
        return []
    years = range(release_day.year, today.year + 1)
    release_days = [_second_thursday(year, month) for year in years for month in MONTHS]
    return [day for day in release_days if release_day < day <= today]


def _second_thursday(year: int, month: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(_THURSDAY - first.weekday()) % 7 + 7)
