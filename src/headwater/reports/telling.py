"""From what the database found to a report: keys named, figures compared. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headwater.reports.composing import needs_touches
from headwater.reports.figures import Sums, changes_between, figures_of, nobodys
from headwater.reports.models import Compare, Key, Report, ReportQuery, Row, Span
from headwater.reports.steps import Steps, counterpart, named
from headwater.spaces.models import Space

Keys = tuple[str | None, str | None]
"""As the database has them: days, weeks and months by their place among the steps."""


@dataclass(frozen=True)
class Period:
    """A time, and the days, weeks or months it is cut into where groups are such."""

    span: Span
    steps: tuple[Steps | None, Steps | None]
    """By the number of the key."""


@dataclass(frozen=True)
class Found:
    """A group as it was found."""

    keys: Keys
    labels: Keys
    sums: Sums


@dataclass(frozen=True)
class Answer:
    """What the statement of one period answered."""

    period: Period
    groups: dict[int, Found]
    """By their place in the report, in order."""
    count: int
    """How many groups there are."""
    unattributed: Sums
    total: Sums


def counterparts(compare: Compare, answer: Answer, other: Period) -> dict[int, Keys]:
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


def tell(
    asked: ReportQuery, space: Space, now: Answer, then: Answer | None, wanted: Collection[int]
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


def _then(then: Answer | None, place: int, wanted: Collection[int]) -> Sums | None:
    if then is None or place not in wanted:
        return None
    return then.groups[place].sums if place in then.groups else Sums()


def _unattributed(asked: ReportQuery, now: Answer, then: Answer | None) -> Row | None:
    if not needs_touches(asked) or asked.filters.of_touches:
        return None
    return _row(asked, (), nobodys(now.unattributed), then and nobodys(then.unattributed))


def _row(asked: ReportQuery, keys: tuple[Key, ...], now: Sums, then: Sums | None) -> Row:
    figures = figures_of(now, asked.measures)
    if then is None:
        return Row(keys, figures)
    compared = figures_of(then, asked.measures)
    return Row(keys, figures, compared, changes_between(figures, compared))


def _keys(asked: ReportQuery, group: Found, period: Period) -> tuple[Key, ...]:
    found: list[Key] = []
    for at, _ in enumerate(asked.group_by):
        steps, key = period.steps[at], group.keys[at]
        if steps is not None:
            found.append(Key(*named(int(key or 0), steps)))
        else:
            found.append(Key(key, group.labels[at]))
    return tuple(found)
