"""The figures of one period: of its groups, in total, and unattributed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from tests.support.report_model import counting
from tests.support.report_model.clock import Period
from tests.support.report_model.counting import Figure, Figures, Group
from tests.support.report_model.credit import Conversion
from tests.support.report_model.facts import Facts, Touchpoint
from tests.support.report_model.groups import Keys, name_key, visit_key
from tests.support.report_model.question import TOUCHED, Question
from tests.support.report_model.selection import conversions_of, is_visit_of, keeps

REASONS = ("no_touch", "outside_window", "not_counted")


@dataclass
class Sums:
    """A report's figures for one period, before sorting."""

    rows: dict[Keys, Figures] = field(default_factory=dict[Keys, Figures])
    total: Figures = field(default_factory=dict[str, Figure])
    overall: Figures | None = None
    unattributed: Figures | None = None
    reasons: dict[str, Figures] = field(default_factory=dict[str, Figures])
    event_names: dict[str, int] = field(default_factory=dict[str, int])
    without_visit: Figure = None
    """The share of conversions without credit to a page view, by the first model."""
    nothing: Figures = field(default_factory=dict[str, Figure])
    """The figures of an empty group."""


def sums_of(facts: Facts, question: Question, period: Period) -> Sums:
    conversions = conversions_of(facts, question, period)
    grouping = _Grouping(facts, question, period)
    for conversion in conversions:
        grouping.add(conversion)
    all_events = counting.whole(conversions)
    if question.counts_visits:
        all_events.visits = grouping.add_visits()
        all_events.credits = grouping.total.credits
        all_events.visit_credit_unknown = question.filters_touches
    sums = Sums(event_names=_names(grouping.total))
    figures = counting.make_figures(grouping.total, question, facts)
    if question.by_touch_date:
        base = figures
    else:
        base = counting.wholly_credited(all_events, question, facts)
        sums.overall = counting.with_share(base, base, question)
    sums.total = counting.with_share(figures, base, question)
    for keys, group in grouping.groups.items():
        group_figures = counting.make_figures(group, question, facts)
        sums.rows[keys] = counting.with_share(group_figures, base, question)
    if "conversion_rate" in question.measures:
        sums.without_visit = _without_visit(conversions, grouping.total, question)
    no_figures = counting.make_figures(Group(), question, facts)
    sums.nothing = counting.with_share(no_figures, base, question)
    if question.is_about_touches and not question.filters_touches:
        uncredited_events = {model: _without(conversions, model) for model in question.models}
        sums.unattributed = _of_nobody(uncredited_events, question, facts, base)
        for reason in REASONS:
            events_with_reason = {
                model: [conversion for conversion in model_events if describe_error(conversion) == reason]
                for model, model_events in uncredited_events.items()
            }
            sums.reasons[reason] = _of_nobody(events_with_reason, question, facts, base)
    return sums


def _without_visit(conversions: list[Conversion], total: Group, question: Question) -> Figure:
    credits_ = total.credits.get(question.models[0], [])
    conversion_count = Fraction(sum(conversion.converts for conversion in conversions))
    if question.filters_touches:
        conversion_count = sum((credit.part for credit in credits_ if credit.converts), Fraction(0))
    if not conversion_count:
        return None
    return counting.rounded(1 - counting.visit_conversions(credits_) / conversion_count)


@dataclass
class _Grouping:
    """Assigns events and credits to groups."""

    facts: Facts
    question: Question
    period: Period
    total: Group = field(default_factory=Group)
    groups: dict[Keys, Group] = field(default_factory=dict[Keys, Group])

    def add(self, each: Conversion) -> None:
        if not self.question.filters_touches:
            # An event counts whatever its touches. Only a row grouped by touches needs one.
            for group in self._of(each, None):
                group.count(each)
        for model in self.question.models:
            for credit in each.credits[model]:
                for group in self._kept(each, credit.touch):
                    group.credit(model, credit)
                    group.count(each)
        if {*TOUCHED} & {*self.question.measures}:
            for touch in each.window:
                for group in self._kept(each, touch):
                    group.touch(each)

    def add_visits(self) -> int:
        """Add the visits that touch filters keep. Return the number of all visits."""
        number = 0
        for visit in self.facts.visits:
            if not is_visit_of(visit, self.facts, self.question, self.period):
                continue
            number += 1
            if keeps(visit, self.facts, self.question, self.period):
                self.total.visits += 1
                if self.question.group_by:
                    keys = tuple(visit_key(group, visit, self.facts) for group in self.question.group_by)
                    self.groups.setdefault(keys, Group()).visits += 1
        return number

    def _kept(self, each: Conversion, touch: Touchpoint) -> list[Group]:
        is_counted = keeps(touch, self.facts, self.question, self.period)
        return self._of(each, touch) if is_counted else []

    def _of(self, each: Conversion, touch: Touchpoint | None) -> list[Group]:
        """Return the total, and the row that an event belongs to by one of its touches or by itself."""
        question = self.question
        if not question.group_by or (touch is None and question.groups_touches):
            return [self.total]
        keys = tuple(name_key(group, each, touch, self.facts, question) for group in question.group_by)
        return [self.total, self.groups.setdefault(keys, Group())]


def _names(total: Group) -> dict[str, int]:
    """Return the number of counted events by name."""
    names = [conversion.event.event_name for conversion in (total.counted | total.touched).values()]
    return {name: names.count(name) for name in sorted(names)}


def _without(conversions: Iterable[Conversion], model: str) -> list[Conversion]:
    """Return the events without credit under a model."""
    return [conversion for conversion in conversions if not conversion.credits[model]]


def describe_error(conversion: Conversion) -> str:
    """Return why an event has no credit."""
    if not conversion.path:
        return "no_touch"
    return "not_counted" if conversion.window else "outside_window"


def _of_nobody(left: dict[str, list[Conversion]], question: Question, facts: Facts, base: Figures) -> Figures:
    """Return the figures of the events without credit under each model. With several models only credit
    measures are comparable, because different events remain unattributed under each.
    """
    figures: Figures = {}
    for number, conversions in enumerate(left.values()):
        model_figures = counting.wholly_credited(counting.whole(conversions), question, facts)
        for measure in question.measures:
            columns = counting.columns_of_measure(question, measure)
            if measure != "share" and (len(left) == 1 or len(columns) > 1):
                column = columns[number if len(columns) > 1 else 0]
                figures[column] = model_figures[column]
    return counting.with_share(figures, base, question)
