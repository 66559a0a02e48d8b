"""Ordinary months of Spaces: hourly counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from headwater.alerts.judgement import judge_day, judge_hour
from headwater.alerts.models import Alertness, DayCounts, Judgement, SpaceCounts
from headwater.alerts.rules import Rule
from headwater.alerts.series import DAYS, CountSeries

LEARNED, MONTH = 36 * 24, 30 * 24
SAME_HOURS = 24
"""An alert that reopens within this time is the same alert."""
SIZES = (12, 40, 150, 600, 3_000, 20_000, 150_000)
"""Visits a day."""
SOURCES = ("google_ads", "facebook_ads", "google", "email", "tiktok_ads")

Values = np.ndarray


@dataclass
class Month:
    """The counts of a Space in one month, after five weeks to learn from."""

    visits: Values
    sources: dict[str, Values]
    direct_visits: Values
    orders: dict[str, Values]
    """By source, including `direct`; the empty string is no source."""
    repeated_events: Values
    rejected_events: Values
    delivered_events: Values
    failed_events: Values
    unmatched_events: Values
    basket: float
    amounts: dict[str, Values] = field(default_factory=dict[str, Values])

    @property
    def hours(self) -> int:
        return len(self.visits)

    @property
    def touches(self) -> Values:
        return self.direct_visits + sum(self.sources.values())

    @property
    def all_orders(self) -> Values:
        return np.sum(list(self.orders.values()), axis=0)


def ordinary_month(dice: np.random.Generator, size: int) -> Month:
    """Return a month without a fault: days and nights, weekends, growth, holidays, promotions, pauses."""
    hours = LEARNED + MONTH
    business = dice.random() < 0.3
    rate = _shape(dice, business)[np.arange(hours) % 168] * size / 24
    rate = rate * (1 + dice.uniform(-0.03, 0.05)) ** (np.arange(hours) / 168)
    rate = rate * np.repeat(dice.lognormal(0, 0.1, hours // 24), 24)
    rate = rate * dice.lognormal(0, 0.05, hours)
    buying = np.full(hours, dice.uniform(0.015, 0.05))
    for start in _days(dice, hours, 1.5):  # holidays
        quiet, asleep = dice.uniform(0.15, 0.6), 8  # the hours until people would normally be up
        rate[start : start + 24] *= np.interp(np.arange(24), [0, asleep], [1, quiet])
        buying[start : start + 24] *= 0 if business else dice.uniform(0.4, 1)
    shares = dice.dirichlet(np.full(len(SOURCES) + 1, 3.0))
    by_source = {source: rate * share for source, share in zip((*SOURCES, "direct"), shares, strict=True)}
    for start in _days(dice, hours, 2):  # promotions
        begin, length = start + int(dice.integers(6, 20)), int(dice.integers(4, 60))
        by_source[str(dice.choice(SOURCES))][begin : begin + length] *= dice.uniform(1.5, 5)
        buying[begin : begin + length] *= dice.uniform(1, 1.6)
    for start in _days(dice, hours, 1.5):  # one of several campaigns pauses
        begin, length = start + int(dice.integers(0, 24)), int(dice.integers(48, 360))
        by_source[str(dice.choice(SOURCES))][begin : begin + length] *= dice.uniform(0.55, 0.85)
    return _draw_counts(dice, by_source, buying)


def _draw_counts(dice: np.random.Generator, by_source: dict[str, Values], buying: Values) -> Month:
    counts = {source: dice.poisson(rate) for source, rate in by_source.items()}
    visits = np.sum(list(counts.values()), axis=0)
    unattributed = dice.uniform(0.03, 0.3)
    orders = {source: dice.poisson(rate * buying * (1 - unattributed)) for source, rate in by_source.items()}
    orders[""] = dice.poisson(np.sum(list(by_source.values()), axis=0) * buying * unattributed)
    total_orders = np.sum(list(orders.values()), axis=0)
    failure_rate = dice.uniform(0, 0.1)
    failures = dice.binomial(total_orders, failure_rate)
    trickle = dice.uniform(0, 0.01)
    month = Month(
        visits, {source: counts[source] for source in SOURCES}, counts["direct"], orders,
        dice.binomial(total_orders, dice.uniform(0, 0.02)), dice.poisson(visits * trickle * 0.05),
        total_orders - failures, failures, dice.binomial(total_orders, dice.uniform(0, 0.2)),
        dice.uniform(20, 200),
    )  # fmt: skip
    month.amounts = {
        source: np.round(number * month.basket * dice.lognormal(0, 0.4, len(number))).astype(int)
        for source, number in orders.items()
    }
    return month


def _shape(dice: np.random.Generator, business: bool) -> Values:
    """Return the mean of each hour of the week, 1 on average."""
    hour = np.arange(24)
    day = 0.12 + np.exp(-(((hour - dice.uniform(11, 15)) / 4) ** 2))
    day += (0.0 if business else 0.9) * np.exp(-(((hour - 20) / 2.5) ** 2))
    week = np.array([1, 1, 1, 1, 0.95, *((0.1, 0.1) if business else (1.15, 1.25))])
    shape = np.concatenate([day * factor for factor in week])
    return shape / shape.mean()


def _days(dice: np.random.Generator, hours: int, average: float) -> Iterator[int]:
    for _ in range(dice.poisson(average)):
        yield int(dice.integers(0, hours // 24)) * 24


@dataclass
class OpenedAlert:
    """An opened alert: its rule, its subject, and the hour of the month."""

    rule: Rule
    subject: str
    hour: int


class Watch:
    """Judges a month hour by hour, like the product's evaluation."""

    def __init__(self, month: Month) -> None:
        totals = _totals
        self._series = {
            "visits": totals(month.visits), "touches": totals(month.touches),
            "orders": totals(month.all_orders), "untouched": totals(month.orders[""]),
            "repeated": totals(month.repeated_events), "rejected": totals(month.rejected_events),
            "finished": totals(month.delivered_events + month.failed_events),
            "failed": totals(month.failed_events),
            "conversions": totals(month.all_orders), "unmatched": totals(month.unmatched_events),
        }  # fmt: skip
        self._sources = {source: totals(values) for source, values in month.sources.items()}
        self._day_orders = {name: totals(_daily(month.orders[name])) for name in SOURCES}
        self._day_revenue = {name: totals(_daily(month.amounts[name])) for name in SOURCES}
        self._hours = month.hours
        self._open: dict[tuple[Rule, str], int] = {}
        self._well: dict[tuple[Rule, str], int] = {}
        self._end_hours: dict[tuple[Rule, str], int] = {}
        self.alerts: list[OpenedAlert] = []

    def run(self, start: int = LEARNED, end: int | None = None) -> list[OpenedAlert]:
        for hour in range(start, end or self._hours):
            self._take(hour, judge_hour(self._counts(hour + 1), self._alertness(hour, 1)), 1)
            if hour % 24 == 23:
                days = self._days((hour + 1) // 24)
                self._take(hour, judge_day(days, self._alertness(hour, 24)), 24)
        return self.alerts

    def _alertness(self, hour: int, step: int) -> Alertness:
        ages = {key: (hour + 1 - since) // step for key, since in self._open.items()}
        well = {key: (hour - end_hour) // step or 1 for key, end_hour in self._end_hours.items()
                if hour - end_hour < SAME_HOURS}  # fmt: skip
        return Alertness(open_for=ages, well_for=well)

    def _take(self, hour: int, judgements: list[Judgement], step: int) -> None:
        for judgement in judgements:
            key = (judgement.rule, judgement.subject)
            if key not in self._open:
                if judgement.is_out:
                    self._open[key] = hour + 1 - step
                    if hour - self._end_hours.get(key, -SAME_HOURS) < SAME_HOURS:
                        continue
                    self.alerts.append(OpenedAlert(judgement.rule, judgement.subject, hour - LEARNED))
            elif judgement.is_well:
                self._well[key] = self._well.get(key, 0) + 1
                if self._well[key] >= 2:
                    del self._open[key], self._well[key]
                    self._end_hours[key] = hour
            else:
                self._well[key] = 0
                if hour - self._open[key] > 168:
                    del self._open[key]

    def _counts(self, end: int) -> SpaceCounts:
        series = {name: CountSeries(totals, end) for name, totals in self._series.items()}
        return SpaceCounts(
            visits=series["visits"], touches=series["touches"],
            by_source={name: CountSeries(totals, end) for name, totals in self._sources.items()},
            orders=series["orders"], untouched=series["untouched"], repeated=series["repeated"],
            rejected=series["rejected"], finished={"1": series["finished"]}, failed={"1": series["failed"]},
            conversions={"1": series["conversions"]}, unmatched={"1": series["unmatched"]},
        )  # fmt: skip

    def _days(self, end: int) -> DayCounts:
        return DayCounts(
            {name: CountSeries(totals, end, DAYS) for name, totals in self._day_orders.items()},
            {name: CountSeries(totals, end, DAYS) for name, totals in self._day_revenue.items()},
        )


def _totals(values: Values) -> list[int]:
    return [0, *np.cumsum(values).tolist()]


def _daily(values: Values) -> Values:
    return values.reshape(-1, 24).sum(axis=1)
