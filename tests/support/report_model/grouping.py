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
from tests.support.report_model.selection import counts_visit, keeps, select_conversions

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
    zero_figures: Figures = field(default_factory=dict[str, Figure])
    """The figures of an empty group."""


def compute_sums(facts: Facts, question: Question, period: Period) -> Sums:
    conversions = select_conversions(facts, question, period)
    grouping = _Grouping(facts, question, period)
    for conversion in conversions:
        grouping.add(conversion)
    all_events = counting.whole_events(conversions)
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
        sums.overall = counting.add_share(base, base, question)
    sums.total = counting.add_share(figures, base, question)
    for keys, group in grouping.groups.items():
        group_figures = counting.make_figures(group, question, facts)
        sums.rows[keys] = counting.add_share(group_figures, base, question)
    if "conversion_rate" in question.measures:
        sums.without_visit = _without_visit(conversions, grouping.total, question)
    no_figures = counting.make_figures(Group(), question, facts)
    sums.zero_figures = counting.add_share(no_figures, base, question)
    if question.is_about_touches and not question.filters_touches:
        uncredited_events = {model: _select_uncredited(conversions, model) for model in question.models}
        sums.unattributed = _unattributed_figures(uncredited_events, question, facts, base)
        for reason in REASONS:
            events_with_reason = {
                model: [conversion for conversion in model_events if describe_error(conversion) == reason]
                for model, model_events in uncredited_events.items()
            }
            sums.reasons[reason] = _unattributed_figures(events_with_reason, question, facts, base)
    return sums


def _without_visit(conversions: list[Conversion], total: Group, question: Question) -> Figure:
    credits_ = total.credits.get(question.models[0], [])
    conversion_count = Fraction(sum(conversion.converts for conversion in conversions))
    if question.filters_touches:
        conversion_count = sum((credit.part for credit in credits_ if credit.converts), Fraction(0))
    if not conversion_count:
        return None
    return 1 - counting.visit_conversions(credits_) / conversion_count


@dataclass
class _Grouping:
    """Assigns events and credits to groups."""

    facts: Facts
    question: Question
    period: Period
    total: Group = field(default_factory=Group)
    groups: dict[Keys, Group] = field(default_factory=dict[Keys, Group])

    def add(self, conversion: Conversion) -> None:
        if not self.question.filters_touches:
            # An event counts whatever its touches. Only a row grouped by touches needs one.
            for group in self._find_groups(conversion, None):
                group.count(conversion)
        for model in self.question.models:
            for credit in conversion.credits[model]:
                for group in self._select_groups(conversion, credit.touch):
                    group.credit(model, credit)
                    group.count(conversion)
        if {*TOUCHED} & {*self.question.measures}:
            for touch in conversion.window:
                for group in self._select_groups(conversion, touch):
                    group.touch(conversion)

    def add_visits(self) -> int:
        """Add the visits that touch filters keep. Return the number of all visits."""
        number = 0
        for visit in self.facts.visits:
            if not counts_visit(visit, self.facts, self.question, self.period):
                continue
            number += 1
            if keeps(visit, self.facts, self.question, self.period):
                self.total.visits += 1
                if self.question.group_by:
                    keys = tuple(visit_key(group, visit, self.facts) for group in self.question.group_by)
                    self.groups.setdefault(keys, Group()).visits += 1
        return number

    def _select_groups(self, conversion: Conversion, touch: Touchpoint) -> list[Group]:
        is_counted = keeps(touch, self.facts, self.question, self.period)
        return self._find_groups(conversion, touch) if is_counted else []

    def _find_groups(self, conversion: Conversion, touch: Touchpoint | None) -> list[Group]:
        """Return the total, and the row that an event belongs to by one of its touches or by itself."""
        question = self.question
        if not question.group_by or (touch is None and question.groups_touches):
            return [self.total]
        keys = tuple(name_key(group, conversion, touch, self.facts, question) for group in question.group_by)
        return [self.total, self.groups.setdefault(keys, Group())]


def _names(total: Group) -> dict[str, int]:
    """Return the number of counted events by name."""
    names = [
        conversion.event.event_name for conversion in (total.counted_events | total.touched_events).values()
    ]
    return {name: names.count(name) for name in sorted(names)}


def _select_uncredited(conversions: Iterable[Conversion], model: str) -> list[Conversion]:
    """Return the events without credit under a model."""
    return [conversion for conversion in conversions if not conversion.credits[model]]


def describe_error(conversion: Conversion) -> str:
    """Return why an event has no credit."""
    if not conversion.path:
        return "no_touch"
    return "not_counted" if conversion.window else "outside_window"


def _unattributed_figures(
    conversions_by_model: dict[str, list[Conversion]], question: Question, facts: Facts, base: Figures
) -> Figures:
    """Return the figures of the events without credit under each model. With several models only credit
    measures are comparable, because different events remain unattributed under each.
    """
    figures: Figures = {}
    for number, conversions in enumerate(conversions_by_model.values()):
        model_figures = counting.wholly_credited(counting.whole_events(conversions), question, facts)
        for measure in question.measures:
            columns = counting.measure_columns(question, measure)
            if measure != "share" and (len(conversions_by_model) == 1 or len(columns) > 1):
                column = columns[number if len(columns) > 1 else 0]
                figures[column] = model_figures[column]
    return counting.add_share(figures, base, question)
