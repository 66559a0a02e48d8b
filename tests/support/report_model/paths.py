"""The paths report: the paths that lead to events, their lengths and durations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from tests.support.report_model.clock import Period
from tests.support.report_model.counting import round_figure
from tests.support.report_model.credit import Conversion
from tests.support.report_model.facts import Facts
from tests.support.report_model.question import Question
from tests.support.report_model.selection import select_conversions
from tests.support.report_model.ways import DAYS, TOUCHES, TouchSequence, find_range, touch_sequence


@dataclass(frozen=True)
class Tally:
    """The number of events and conversions, the revenue, and the average number of days."""

    events: int
    conversions: int
    revenue: Fraction
    days: Fraction | None
    """Of the conversions."""


@dataclass
class Paths:
    """The paths report's answer."""

    ways: list[tuple[TouchSequence, Tally]]
    left_out: int
    touches: dict[str, Tally | None]
    days: dict[str, Tally | None]
    first_and_last: dict[tuple[str, str], Tally]
    total: Tally | None


def make_paths(facts: Facts, question: Question, dimension: str = "source") -> Paths:
    """Return the paths of a question's events with a touch in the window, by source or channel. They are
    sorted by number of conversions, then by steps.
    """
    led = select_touched(facts, question)
    ways: dict[TouchSequence, list[Conversion]] = {}
    ends: dict[tuple[str, str], list[Conversion]] = {}
    for each in led:
        ways.setdefault(touch_sequence(each, dimension), []).append(each)
        first, last = each.window[0].source, each.window[-1].source
        ends.setdefault((first, last), []).append(each)
    figures = {way: tally(events) for way, events in ways.items()}
    order = sorted(
        ways,
        key=lambda way: (-figures[way].conversions, [step.encode() for step in way.steps], way.further_steps),
    )
    return Paths(
        ways=[(way, figures[way]) for way in order[: question.limit]],
        left_out=max(0, len(order) - question.limit),
        touches={
            name: _tally(each for each in led if find_range(len(each.window), TOUCHES) == name)
            for name in TOUCHES
        },
        days={
            name: _tally(each for each in led if find_range(floor(each.days), DAYS) == name) for name in DAYS
        },
        first_and_last={pair: tally(some) for pair, some in ends.items()},
        total=_tally(led),
    )


def select_touched(facts: Facts, question: Question) -> list[Conversion]:
    """Return a question's events with a touch in the window."""
    period = Period(question.start, question.end)
    return [each for each in select_conversions(facts, question, period) if each.window]


def tally(conversions: list[Conversion]) -> Tally:
    revenue = sum((each.amount for each in conversions), Fraction(0))
    days = [each.days for each in conversions if each.converts]
    average = round_figure(sum(days, Fraction(0)) / len(days)) if days else None
    return Tally(len(conversions), len(days), revenue, average)


def _tally(conversions: Iterable[Conversion]) -> Tally | None:
    some = list(conversions)
    return tally(some) if some else None
