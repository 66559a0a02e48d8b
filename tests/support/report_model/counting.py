"""The figures of a group: every measure computed from its definition, over the group's events and credits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from tests.support.report_model.credit import Conversion, Credit
from tests.support.report_model.facts import Facts
from tests.support.report_model.groups import first_order
from tests.support.report_model.question import CREDITED, Question

Figure = Fraction | None
Figures = dict[str, Figure]


@dataclass
class Group:
    """The events and credits of a row."""

    counted_events: dict[int, Conversion] = field(default_factory=dict[int, Conversion])
    """Events that count in full, by id."""
    touched_events: dict[int, Conversion] = field(default_factory=dict[int, Conversion])
    """Events with any touch of the group in the window."""
    credits: dict[str, list[Credit]] = field(default_factory=dict[str, list[Credit]])
    """By model."""
    visits: int = 0
    visit_credit_unknown: bool = False
    """True if the credit of only some touches is known."""

    def count(self, conversion: Conversion) -> None:
        self.counted_events[conversion.event.id] = conversion

    def touch(self, conversion: Conversion) -> None:
        self.touched_events[conversion.event.id] = conversion

    def credit(self, model: str, credit: Credit) -> None:
        self.credits.setdefault(model, []).append(credit)


def whole_events(conversions: Iterable[Conversion]) -> Group:
    """Return a group that contains entire events."""
    group = Group()
    for conversion in conversions:
        group.count(conversion)
        if conversion.window:
            group.touch(conversion)
    return group


def list_columns(question: Question) -> list[str]:
    """Return a row's columns. With several models, credit measures have one column for each."""
    return [column for measure in question.measures for column in measure_columns(question, measure)]


def measure_columns(question: Question, measure: str) -> list[str]:
    models = question.models
    base = question.measures[0] if measure == "share" else measure
    if len(models) == 1 or base not in (*CREDITED, "conversion_rate"):
        return [measure]
    return [f"{measure}_{model}" for model in models]


def make_figures(group: Group, question: Question, facts: Facts) -> Figures:
    """Return the figures of a group except the share, which needs the total."""
    figures: Figures = {}
    for measure in question.measures:
        if measure == "share":
            continue
        for model, column in _model_columns(question, measure):
            figures[column] = _figure(measure, group, group.credits.get(model, []), question, facts)
    return figures


def wholly_credited(group: Group, question: Question, facts: Facts) -> Figures:
    """Return the figures of a group whose events are credited to it with their full amounts."""
    figures = make_figures(group, question, facts)
    for measure in set(CREDITED) & set(question.measures):
        amounts = [conversion.amount for conversion in group.counted_events.values()]
        conversion_count = sum(conversion.converts for conversion in group.counted_events.values())
        value = {
            "credited_revenue": sum(amounts), "credited_conversions": conversion_count,
            "credited_events": len(amounts),
        }[measure]  # fmt: skip
        for _, column in _model_columns(question, measure):
            figures[column] = Fraction(value)
    return figures


def add_share(figures: Figures, base_figures: Figures, question: Question) -> Figures:
    """Return the figures in column order, with the row's share of the first measure."""
    completed_figures = dict(figures)
    if "share" in question.measures:
        shares = measure_columns(question, "share")
        bases = measure_columns(question, question.measures[0])
        for column, base in zip(shares, bases, strict=True):
            if base in figures:
                amount, total = figures[base], base_figures[base]
                assert amount is not None
                completed_figures[column] = amount / total if total else None
    return {
        column: completed_figures[column] for column in list_columns(question) if column in completed_figures
    }


def _model_columns(question: Question, measure: str) -> list[tuple[str, str]]:
    """Return the models and columns of a measure."""
    columns = measure_columns(question, measure)
    return list(zip(question.models, columns, strict=False))


def _figure(measure: str, group: Group, credits_: list[Credit], question: Question, facts: Facts) -> Figure:
    match measure:
        case "credited_events" | "credited_conversions":
            counts_all = measure == "credited_events"
            return _sum(credit.part for credit in credits_ if counts_all or credit.converts)
        case "credited_revenue":
            return sum((credit.amount for credit in credits_), Fraction(0))
        case "touched_events":
            return Fraction(len(group.touched_events))
        case "touched_revenue":
            return _sum(conversion.amount for conversion in group.touched_events.values())
        case "visits" | "conversion_rate":
            return _visit_figure(measure, group, credits_)
        case _:
            return _whole_figure(measure, list(group.counted_events.values()), question, facts)


def _visit_figure(measure: str, group: Group, credits_: list[Credit]) -> Figure:
    if measure == "visits":
        return Fraction(group.visits)
    if not group.visits or group.visit_credit_unknown:
        return None
    return visit_conversions(credits_) / group.visits


def visit_conversions(credits_: list[Credit]) -> Fraction:
    """Return the parts of conversions that page views are credited with."""
    return _sum(credit.part for credit in credits_ if credit.converts and credit.touch.by_hit)


def _whole_figure(measure: str, conversions: list[Conversion], question: Question, facts: Facts) -> Figure:
    kinds = Counter(conversion.kind for conversion in conversions)
    gains = [conversion.amount for conversion in conversions if conversion.amount > 0]
    losses = [conversion.amount for conversion in conversions if conversion.amount < 0]
    attributed_events = [
        conversion for conversion in conversions if conversion.window and conversion.converts
    ]
    buyers = {conversion.event.contact_id for conversion in conversions if not conversion.takes_back}
    figures: dict[str, Callable[[], Figure]] = {
        "events": lambda: Fraction(len(conversions)),
        "conversions": lambda: Fraction(kinds["order"] + kinds["conversion"]),
        "orders": lambda: Fraction(kinds["order"]),
        "upsells": lambda: Fraction(kinds["upsell"]),
        "refund_count": lambda: Fraction(kinds["refund"]),
        "revenue": lambda: _sum(conversion.amount for conversion in conversions),
        "gross_revenue": lambda: _sum(gains),
        "refunds": lambda: -_sum(losses),
        "average_order_value": lambda: round_figure(_sum(gains) / kinds["order"]) if kinds["order"] else None,
        "contacts": lambda: Fraction(len(buyers)),
        "new_customers": lambda: Fraction(_new_customers(conversions, question, facts)),
        "days_to_conversion": lambda: _average([conversion.days for conversion in attributed_events]),
        "touches_to_conversion": lambda: _average(
            [Fraction(len(conversion.window)) for conversion in attributed_events]
        ),
    }
    return figures[measure]()


def _new_customers(conversions: list[Conversion], question: Question, facts: Facts) -> int:
    people = {conversion.event.contact_id for conversion in conversions}
    ids = {conversion.event.id for conversion in conversions}
    return len(ids & {first_order(person, question, facts) for person in people})


def relative_change(figure: Figure, base: Figure) -> Figure:
    """Return the difference as a fraction of the earlier figure."""
    if figure is None or not base:
        return None
    return (figure - base) / abs(base)


def round_figure(value: Fraction) -> Fraction:
    """Round to four decimals, halves away from zero."""
    whole_part = floor(abs(value) * 10_000 + Fraction(1, 2))
    return Fraction(-whole_part if value < 0 else whole_part, 10_000)


def _average(values: list[Fraction]) -> Figure:
    return round_figure(_sum(values) / len(values)) if values else None


def _sum(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))
