"""From what the database found to a report: keys named, figures compared. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headwater.reports.measures import MeasureSums, changes_between, figures_of, nobodys
from headwater.reports.models import (
    Comparison,
    DateTimeSpan,
    GroupKey,
    Report,
    ReportQuery,
    ReportRow,
)
from headwater.reports.statement import needs_touches
from headwater.reports.time_buckets import TimeBuckets, counterpart, named
from headwater.spaces.models import Space

Keys = tuple[str | None, str | None]
"""As the database has them: days, weeks and months by their place among the steps."""


@dataclass(frozen=True)
class ReportPeriod:
    """A time, and the days, weeks or months it is cut into where groups are such."""

    span: DateTimeSpan
    steps: tuple[TimeBuckets | None, TimeBuckets | None]
    """By the number of the key."""


@dataclass(frozen=True)
class ReportGroup:
    """A group as it was found."""

    keys: Keys
    labels: Keys
    sums: MeasureSums


@dataclass(frozen=True)
class PeriodResult:
    """What the statement of one period answered."""

    period: ReportPeriod
    groups: dict[int, ReportGroup]
    """By their place in the report, in order."""
    count: int
    """How many groups there are."""
    unattributed: MeasureSums
    total: MeasureSums


def counterparts(compare: Comparison, answer: PeriodResult, other: ReportPeriod) -> dict[int, Keys]:
    """The keys of what an answer's groups are compared with, by their places; without those that
    are compared with nothing.
    """
    found: dict[int, Keys] = {}
    for place, group in answer.groups.items():
        keys = list(group.keys)
        for at, (steps, others) in enumerate(zip(answer.period.steps, other.steps, strict=True)):
            if steps is not None and others is not None:
                number = counterpart(int(keys[at] or 0), compare, steps, others)
                keys[at] = None if number is None else f"{number:06}"
        if all(
            steps is None or key is not None
            for steps, key in zip(answer.period.steps, keys, strict=True)
        ):
            found[place] = (keys[0], keys[1])
    return found


def make_report(
    asked: ReportQuery,
    space: Space,
    now: PeriodResult,
    then: PeriodResult | None,
    wanted: Collection[int],
) -> Report:
    """The report of a period and of the one it is compared with, whose groups are those at the
    `wanted` places.
    """
    return Report(
        rows=tuple(
            _row(asked, _keys(asked, group, now.period), group.sums, _then(then, place, wanted))
            for place, group in now.groups.items()
        )
        if asked.group_by
        else (),
        left_out=max(0, now.count - len(now.groups)),
        total=_row(asked, (), now.total, then and then.total),
        unattributed=_unattributed(asked, now, then),
        span=now.period.span,
        compared_span=then and then.period.span,
        timezone=space.timezone,
        currency=space.currency,
    )


def _then(then: PeriodResult | None, place: int, wanted: Collection[int]) -> MeasureSums | None:
    if then is None or place not in wanted:
        return None
    return then.groups[place].sums if place in then.groups else MeasureSums()


def _unattributed(
    asked: ReportQuery, now: PeriodResult, then: PeriodResult | None
) -> ReportRow | None:
    if not needs_touches(asked) or asked.filters.of_touches:
        return None
    return _row(asked, (), nobodys(now.unattributed), then and nobodys(then.unattributed))


def _row(
    asked: ReportQuery, keys: tuple[GroupKey, ...], now: MeasureSums, then: MeasureSums | None
) -> ReportRow:
    figures = figures_of(now, asked.measures)
    if then is None:
        return ReportRow(keys, figures)
    compared = figures_of(then, asked.measures)
    return ReportRow(keys, figures, compared, changes_between(figures, compared))


def _keys(asked: ReportQuery, group: ReportGroup, period: ReportPeriod) -> tuple[GroupKey, ...]:
    found: list[GroupKey] = []
    for at, _ in enumerate(asked.group_by):
        steps, key = period.steps[at], group.keys[at]
        if steps is not None:
            found.append(GroupKey(*named(int(key or 0), steps)))
        else:
            found.append(GroupKey(key, group.labels[at]))
    return tuple(found)
