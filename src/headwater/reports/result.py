"""Turn the rows of the database into a report: name keys, compare figures. Pure."""

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
"""Keys as the database returns them: days, weeks and months by their place among the steps."""


@dataclass(frozen=True)
class ReportPeriod:
    """A time, and the days, weeks or months it is cut into where those are the groups."""

    span: DateTimeSpan
    steps: tuple[TimeBuckets | None, TimeBuckets | None]
    """The steps of the first and of the second key."""


@dataclass(frozen=True)
class ReportGroup:
    """A group as the database returned it."""

    keys: Keys
    labels: Keys
    sums: MeasureSums


@dataclass(frozen=True)
class PeriodResult:
    """The result of the statement of one period."""

    period: ReportPeriod
    groups: dict[int, ReportGroup]
    """The groups by their place in the report, in order."""
    count: int
    """The number of groups there are."""
    unattributed: MeasureSums
    total: MeasureSums


def counterparts(compare: Comparison, answer: PeriodResult, other: ReportPeriod) -> dict[int, Keys]:
    """The keys that an answer's groups are compared with, by their places; groups that are compared
    with nothing are left out.
    """
    counterpart_keys: dict[int, Keys] = {}
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
            counterpart_keys[place] = (keys[0], keys[1])
    return counterpart_keys


def make_report(
    query: ReportQuery,
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
            _row(query, _keys(query, group, now.period), group.sums, _then(then, place, wanted))
            for place, group in now.groups.items()
        )
        if query.group_by
        else (),
        left_out=max(0, now.count - len(now.groups)),
        total=_row(query, (), now.total, then and then.total),
        unattributed=_unattributed(query, now, then),
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
    query: ReportQuery, now: PeriodResult, then: PeriodResult | None
) -> ReportRow | None:
    if not needs_touches(query) or query.filters.of_touches:
        return None
    return _row(query, (), nobodys(now.unattributed), then and nobodys(then.unattributed))


def _row(
    query: ReportQuery, keys: tuple[GroupKey, ...], now: MeasureSums, then: MeasureSums | None
) -> ReportRow:
    figures = figures_of(now, query.measures)
    if then is None:
        return ReportRow(keys, figures)
    compared = figures_of(then, query.measures)
    return ReportRow(keys, figures, compared, changes_between(figures, compared))


def _keys(query: ReportQuery, group: ReportGroup, period: ReportPeriod) -> tuple[GroupKey, ...]:
    keys: list[GroupKey] = []
    for at, _ in enumerate(query.group_by):
        steps, key = period.steps[at], group.keys[at]
        if steps is not None:
            keys.append(GroupKey(*named(int(key or 0), steps)))
        else:
            keys.append(GroupKey(key, group.labels[at]))
    return tuple(keys)
