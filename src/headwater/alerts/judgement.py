"""Find unusual counts of a Space and the rules they break. Pure.

A count is compared with the median of the same time in up to five earlier weeks. A fall is measured against
the preceding hours if these are lower, so a quiet day raises no alert. Orders, and visits of one source, are
expected to fall along with all visits, so a holiday raises none either. The shortest period with a large
enough expected count is judged, so a Space with few visits is judged by the day. Differences are in standard
deviations of a Poisson count plus a tenth.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from msgspec import Struct

from headwater.alerts.models import LONGEST_WINDOW, Alertness, DayCounts, Judgement, SpaceCounts
from headwater.alerts.rules import Rule, Sensitivity
from headwater.alerts.series import HOURS, CountSeries, UsualRange

WINDOWS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 120, LONGEST_WINDOW)
"""Judged periods, in hours."""
WINDOWS_OF_DAYS = (1, 2, 3)
WINDOWS_OF_FAULTS = (1, 4, 12, 24)
LEAST_EXPECTED = 11.0
"""Judge a period only if this count is expected."""
PLENTY = 120.0
"""Above this count a longer period adds no certainty."""
NOISE = 0.1
"""The relative deviation of counts besides chance."""
SETTLED = 8.0
"""Added to both sides of a ratio so that small counts do not decide it."""
STOPPED_BELOW = 0.1
"""Below this fraction of the expected count, events have stopped rather than fallen."""
DEVIATIONS = {Sensitivity.LOW: 6.5, Sensitivity.NORMAL: 4.5, Sensitivity.HIGH: 4.0}
REMAINDER = {Sensitivity.LOW: 0.3, Sensitivity.NORMAL: 0.5, Sensitivity.HIGH: 0.65}
"""A count has fallen below this fraction of the expected one."""
JUMP = {Sensitivity.LOW: 0.4, Sensitivity.NORMAL: 0.25, Sensitivity.HIGH: 0.15}
FEWEST = {Sensitivity.LOW: 20, Sensitivity.NORMAL: 8, Sensitivity.HIGH: 5}
"""The least count of faults."""
RECOVERED = 0.7
"""Above this fraction of the expected count, it has recovered."""


def judge_hour(counts: SpaceCounts, alertness: Alertness) -> list[Judgement]:
    """Return the judgements of the last hour and the longer periods it needs. Consequences of another problem
    are left out.
    """
    arrivals = counts.arrivals
    judgements = [_fall(Rule.VISITS_FELL, "", arrivals, alertness)]
    arrive = not (
        alertness.age(Rule.VISITS_FELL) or any(judgement and judgement.is_out for judgement in judgements)
    )
    judgements.append(_fall(Rule.ORDERS_FELL, "", counts.orders, alertness, arrivals))
    if arrive:
        judgements += [
            _fall(Rule.SOURCE_VISITS_FELL, source, series, alertness, _Rest(counts.touches, series))
            for source, series in counts.by_source.items()
        ]
        judgements.append(_share(Rule.UNATTRIBUTED_ROSE, "", counts.untouched, counts.orders, alertness))
    judgements += [
        _rise(Rule.ORDERS_REPEATED, counts.repeated, alertness),
        _rise(Rule.REJECTIONS_ROSE, counts.rejected, alertness),
        *(
            _share(Rule.DELIVERIES_FAILED, subject, counts.failed[subject], series, alertness)
            for subject, series in counts.finished.items()
        ),
        *(
            _share(Rule.IDENTIFIERS_MISSING, subject, counts.unmatched[subject], series, alertness)
            for subject, series in counts.conversions.items()
        ),
    ]
    return _select_enabled(judgements, alertness)


def judge_day(counts: DayCounts, alertness: Alertness) -> list[Judgement]:
    """Judge each source's revenue."""
    rule = Rule.SOURCE_REVENUE_FELL
    total = _Sum(tuple(counts.orders.values()))
    judgements: list[Judgement | None] = []
    for source, orders in counts.orders.items():
        number = _fall(rule, source, orders, alertness, _Rest(total, orders))
        revenue = counts.revenue[source]
        usual_range = None if number is None else revenue.usual(number.steps)
        if number is None or usual_range is None:
            continue
        observed = revenue.total(number.steps)
        is_low = observed <= REMAINDER[alertness.of(rule)] * usual_range.middle
        judgements.append(
            Judgement(
                rule,
                source,
                number.steps,
                observed,
                usual_range,
                number.is_out and is_low,
                number.is_well or observed >= RECOVERED * usual_range.middle,
                number.is_severe,
            )
        )
    return _select_enabled(judgements, alertness)


class _Sum(Struct, frozen=True):
    parts: tuple[CountSeries, ...]

    def total(self, steps: int, steps_back: int = 0) -> float:
        return sum(series.total(steps, steps_back) for series in self.parts)

    def usual(self, steps: int, steps_back: int = 0) -> UsualRange | None:
        ranges = [series.usual(steps, steps_back) for series in self.parts]
        usual_ranges = [range_ for range_ in ranges if range_ is not None]
        if not usual_ranges:
            return None
        middle = sum(range_.middle for range_ in usual_ranges)
        return UsualRange(middle, middle, middle)


class _Rest(Struct, frozen=True):
    """A count without one of its parts."""

    total_series: CountSeries | _Sum
    part: CountSeries

    def total(self, steps: int, steps_back: int = 0) -> float:
        return max(self.total_series.total(steps, steps_back) - self.part.total(steps, steps_back), 0)

    def usual(self, steps: int, steps_back: int = 0) -> UsualRange | None:
        usual_total = self.total_series.usual(steps, steps_back)
        usual_part = self.part.usual(steps, steps_back)
        if usual_total is None or usual_part is None:
            return None
        middle = max(usual_total.middle - usual_part.middle, 0.0)
        return UsualRange(middle, middle, middle)


_Control = CountSeries | _Rest | None


def _fall(
    rule: Rule, subject: str, series: CountSeries, alertness: Alertness, control: _Control = None
) -> Judgement | None:
    """Return None if too little is expected."""
    if not series.is_known:
        return None
    age, longest = alertness.age(rule, subject), alertness.longest(rule, subject)
    shortest: Judgement | None = None
    for steps in WINDOWS if series.week == HOURS else WINDOWS_OF_DAYS:
        usual_range = series.usual(steps) if steps <= longest else None
        if usual_range is None:
            break
        expected_count = usual_range.middle
        if expected_count >= LEAST_EXPECTED:
            expected_count *= _level(series, steps, age) * _ratio(control, steps)
        if expected_count < LEAST_EXPECTED:
            continue
        judgement = _judge_fall(
            rule, subject, (steps, series.total(steps)), usual_range, expected_count, alertness.of(rule)
        )
        if judgement.is_out or age:
            return judgement
        shortest = shortest or judgement
        if expected_count >= PLENTY:
            break
    return shortest


def _judge_fall(
    rule: Rule,
    subject: str,
    count: tuple[int, int],
    usual: UsualRange,
    expected_count: float,
    sensitivity: Sensitivity,
) -> Judgement:
    steps, observed = count
    is_out = (
        observed <= REMAINDER[sensitivity] * expected_count
        and _deviation(observed, expected_count) <= -DEVIATIONS[sensitivity]
    )
    return Judgement(
        rule,
        subject,
        steps,
        observed,
        usual,
        is_out,
        observed >= RECOVERED * expected_count,
        observed <= STOPPED_BELOW * expected_count,
    )


def _rise(rule: Rule, series: CountSeries, alertness: Alertness) -> Judgement | None:
    """Compare with the maximum of earlier weeks and days."""
    sensitivity, age = alertness.of(rule), alertness.age(rule, "")
    shortest: Judgement | None = None
    for steps in WINDOWS_OF_FAULTS:
        if steps > alertness.longest(rule, ""):
            break
        usual_range = series.usual(steps, age) or UsualRange(0, 0, 0)
        recent_totals = (series.total(steps, age + hours_back) for hours_back in range(24, 24 * 8, 24))
        highest = max(usual_range.high, *recent_totals, series.total(168, age + steps) * steps / 168)
        observed, fewest = series.total(steps), FEWEST[sensitivity]
        deviation = _deviation(observed, highest)
        is_out = observed >= fewest and deviation >= DEVIATIONS[sensitivity]
        judgement = Judgement(
            rule,
            "",
            steps,
            observed,
            UsualRange(0, usual_range.middle, highest),
            is_out,
            observed <= max(highest, fewest / 4),
            observed >= 10 * max(highest, fewest),
        )
        if is_out or age:
            return judgement
        shortest = shortest or judgement
    return shortest


def _share(
    rule: Rule, subject: str, numerator: CountSeries, total: CountSeries, alertness: Alertness
) -> Judgement | None:
    """Return None without enough data."""
    sensitivity, age = alertness.of(rule), alertness.age(rule, subject)
    steps = next((window for window in WINDOWS if total.total(window) >= LEAST_EXPECTED), None)
    if (
        steps is None
        or steps > alertness.longest(rule, subject)
        or total.total(672, steps + age) < 4 * LEAST_EXPECTED
    ):
        return None
    number = total.total(steps)
    usual_range = _usual_share(numerator, total, steps + age)
    share = numerator.total(steps) / number
    deviation = sqrt(usual_range.middle * (1 - usual_range.middle) / number + (NOISE / 2) ** 2)
    is_out = share - usual_range.high >= JUMP[sensitivity] / 2 and share - usual_range.middle >= max(
        JUMP[sensitivity], DEVIATIONS[sensitivity] * deviation
    )
    is_well = share - usual_range.middle < JUMP[sensitivity] / 2
    return Judgement(rule, subject, steps, share, usual_range, is_out, is_well, share > 0.9)


def _usual_share(numerator: CountSeries, total: CountSeries, back: int) -> UsualRange:
    """Return four weeks' share, and the extremes of weeks with enough data."""
    middle = numerator.total(672, back) / max(total.total(672, back), 1)
    weeks = [
        numerator.total(168, back + 168 * week) / number
        for week in range(4)
        if (number := total.total(168, back + 168 * week)) >= LEAST_EXPECTED
    ]
    return UsualRange(min([middle, *weeks]), middle, max([middle, *weeks]))


def _level(series: CountSeries, steps: int, age: int) -> float:
    """Return the ratio of the preceding period to its usual level, at most 1. The period is the shortest with
    a large enough usual count, at least `steps` long; it ends before an open alert.
    """
    hours_back = max(steps, age)
    if series.week != HOURS:
        return 1.0
    for before in WINDOWS[2:]:
        usual_range = series.usual(before, hours_back)
        if usual_range is None:
            return 1.0
        if before >= min(steps, 24) and (usual_range.middle >= 2 * LEAST_EXPECTED or before >= 24):
            ratio = (series.total(before, hours_back) + SETTLED) / (usual_range.middle + SETTLED)
            return min(1.0, ratio)
    return 1.0


def _ratio(control: _Control, steps: int) -> float:
    usual_range = control.usual(steps) if control is not None else None
    if control is None or usual_range is None or usual_range.middle < SETTLED:
        return 1.0
    return min(1.0, (control.total(steps) + SETTLED) / (usual_range.middle + SETTLED))


def _deviation(observed: float, expected: float) -> float:
    """Return the deviation from the expected count in standard deviations, by square roots, whose deviation
    does not depend on the size.
    """
    distance = 2 * (sqrt(observed + 0.375) - sqrt(expected + 0.375))
    return distance / sqrt(1 + NOISE**2 * expected)


def _select_enabled(judged: Iterable[Judgement | None], alertness: Alertness) -> list[Judgement]:
    return [
        subject for subject in judged if subject is not None and subject.rule not in alertness.disabled_rules
    ]
