"""Daily outcomes of a destination's events, and their chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.base.dates import format_weekday
from headwater.forwarding.deliveries.delivery_counts import DayCount, count_by_day
from headwater.http.inputs.timerange import whole_days
from headwater.spaces.models import Space

DAYS = 14
HEIGHT = 120
STEP, WIDTH = 24, 18
"""Units between bars, and of a bar's width."""
OUTCOMES = {
    "delivered": ("delivered", "counted"),
    "failed": ("failed", "refused", "expired"),
    "skipped": ("skipped",),
    "waiting": ("queued", "retrying"),
}
"""Segments of a bar from the bottom, with the statuses in each."""


class Bar(Struct, frozen=True):
    outcome: str
    x: int
    y: float
    height: float
    text: str


class OutcomeDays(Struct, frozen=True):
    days: Sequence[date]
    counts: Mapping[tuple[date, str], int]

    def of(self, day: date, status: str) -> int:
        return self.counts.get((day, status), 0)

    def total(self, *statuses: str) -> int:
        return sum(self.of(day, status) for day in self.days for status in statuses)

    @property
    def statuses(self) -> list[str]:
        """The three main statuses, and others that occurred."""
        all_statuses = [status for statuses in OUTCOMES.values() for status in statuses]
        always_listed = ("delivered", "failed", "skipped")
        return [status for status in all_statuses if status in always_listed or self.total(status)]

    @property
    def highest(self) -> int:
        return max(self._sum(day) for day in self.days)

    @property
    def bars(self) -> list[Bar]:
        """Return segments, at least a unit high."""
        scale = HEIGHT / self.highest if self.highest else 0.0
        bars: list[Bar] = []
        for index, day in enumerate(self.days):
            top = float(HEIGHT)
            for outcome, statuses in OUTCOMES.items():
                number = sum(self.of(day, status) for status in statuses)
                if not number:
                    continue
                height = max(1.0, round(number * scale, 1))
                top -= height
                text = f"{format_weekday(day)}: {number:,} {outcome}"
                bars.append(Bar(outcome, index * STEP + 3, round(top, 1), height, text))
        return bars

    def _sum(self, day: date) -> int:
        return sum(self.of(day, status) for statuses in OUTCOMES.values() for status in statuses)


async def read_outcome_days(
    connection: AsyncConnection, space: Space, destination_ids: Sequence[int]
) -> dict[int, OutcomeDays]:
    today = datetime.now(UTC).astimezone(space.zone).date()
    days = [today - timedelta(days=days_back) for days_back in range(DAYS - 1, -1, -1)]
    start = whole_days(days[0], today, space.zone).start
    counts = await count_by_day(connection, space.id, destination_ids, start, space.zone)
    return {
        destination_id: OutcomeDays(days, _counts(counts, destination_id))
        for destination_id in destination_ids
    }


def _counts(counts: Sequence[DayCount], destination_id: int) -> dict[tuple[date, str], int]:
    return {
        (count.day, count.status): count.deliveries
        for count in counts
        if count.destination_id == destination_id
    }
