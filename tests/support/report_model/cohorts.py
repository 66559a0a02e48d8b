"""Cohorts, computed customer by customer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction

from tests.support.report_model.clock import Period
from tests.support.report_model.credit import Conversion, share_credit
from tests.support.report_model.facts import Event, Facts, Touchpoint
from tests.support.report_model.groups import Key, name_key
from tests.support.report_model.question import Question
from tests.support.report_model.selection import keeps, select_conversions

Cell = tuple[date, int]
"""A month of acquisition, and the number of months since."""


@dataclass
class Figures:
    """The figures of some customers."""

    revenue: dict[Cell, Fraction] = field(default_factory=dict[Cell, Fraction])
    buying: dict[Cell, set[object]] = field(default_factory=dict[Cell, set[object]])

    def add(self, cell: Cell, customer: object, event: Event, amount: Fraction) -> None:
        self.revenue[cell] = self.revenue.get(cell, Fraction(0)) + amount
        if event.sign > 0:
            self.buying.setdefault(cell, set()).add(customer)


@dataclass
class Cohorts:
    """The cohorts report, without spend."""

    groups: dict[Key, Figures] = field(default_factory=dict[Key, Figures])
    total: Figures = field(default_factory=Figures)
    unattributed: Figures = field(default_factory=Figures)


def find_customer(event: Event, *, by_company: bool) -> object:
    """Return an event's customer: its company where companies are customers, otherwise its contact."""
    if by_company and event.company_id is not None:
        return "company", event.company_id
    return "contact", event.contact_id


def customer_path(_each: Conversion, first_order: Conversion) -> list[Touchpoint]:
    """Return the touches that share an event's credit: those before the customer's first order."""
    return first_order.window


def event_month(event: Event, facts: Facts) -> date:
    return event.event_time.astimezone(facts.zone).date().replace(day=1)


def make_cohorts(facts: Facts, question: Question, today: date) -> Cohorts:
    """Return the cohorts of the months in a question's period, up to the month of `today`."""
    cohorts = Cohorts()
    months = question.start.date().replace(day=1), min(question.end.date(), today).replace(day=1)
    for customer, first, conversions in _customers(facts, question):
        month = event_month(first.event, facts)
        if months[0] <= month <= months[1]:
            for conversion in conversions:
                since = _count_months(month, event_month(conversion.event, facts))
                if since >= 0 and event_month(conversion.event, facts) <= today:
                    cell = month, since
                    _share_out(cohorts, cell, customer, (conversion, first), question, facts)
    return cohorts


def events_behind(
    facts: Facts, question: Question, cell: Cell, *, only_some: bool, unattributed: bool
) -> list[Event]:
    """Return a cohort's events in one month. With `some`, only customers count whose first order is credited
    to a matching touch or, with `unattributed`, to no touch.
    """
    events: list[Event] = []
    for _, first, conversions in _customers(facts, question):
        if event_month(first.event, facts) != cell[0]:
            continue
        period = Period(question.start, question.end)
        (model,) = question.models
        touches = [credit.touch for credit in first.credits[model]]
        is_selected = any(keeps(touch, facts, question, period) for touch in touches)
        if not only_some or (not touches if unattributed else is_selected):
            events += [
                conversion.event for conversion in conversions
                if _count_months(cell[0], event_month(conversion.event, facts)) == cell[1]
            ]  # fmt: skip
    return events


def _customers(facts: Facts, question: Question) -> Iterator[tuple[object, Conversion, list[Conversion]]]:
    """Yield every customer with an order, with the first order and all of the customer's events."""
    unfiltered_question = replace(question, group_by=(), only=())
    all_time = Period(question.start.replace(year=1990), question.end.replace(year=2090))
    conversions_by_customer: dict[object, list[Conversion]] = {}
    for conversion in select_conversions(facts, unfiltered_question, all_time):
        customer = find_customer(conversion.event, by_company=question.by_company)
        conversions_by_customer.setdefault(customer, []).append(conversion)
    for customer, conversions in conversions_by_customer.items():
        orders = [conversion for conversion in conversions if conversion.event.sign > 0]
        if orders:
            yield customer, min(orders, key=_order_key), conversions


def _share_out(
    cohorts: Cohorts, cell: Cell, customer: object, events: tuple[Conversion, Conversion],
    question: Question, facts: Facts,
) -> None:  # fmt: skip
    conversion, first = events
    (model,) = question.models
    worth = facts.weights(question.trained_model, question.event_names) if model == "markov" else {}
    shares = share_credit(model, conversion.event, customer_path(conversion, first), worth)
    period = Period(question.start, question.end)
    selected_shares = [share for share in shares if keeps(share.touch, facts, question, period)]
    if not question.filters_touches:
        cohorts.total.add(cell, customer, conversion.event, conversion.amount)
        if not shares:
            cohorts.unattributed.add(cell, customer, conversion.event, conversion.amount)
    for share in selected_shares:
        if question.filters_touches:
            cohorts.total.add(cell, customer, conversion.event, share.amount)
        for group in question.group_by:
            key = name_key(group, first, share.touch, facts, question)
            cohorts.groups.setdefault(key, Figures()).add(cell, customer, conversion.event, share.amount)


def _order_key(conversion: Conversion) -> tuple[object, int]:
    return conversion.event.event_time.replace(microsecond=0), conversion.event.id


def _count_months(first_month: date, last_month: date) -> int:
    return 12 * (last_month.year - first_month.year) + last_month.month - first_month.month


def payback(revenue: list[Fraction], spend: Fraction, rate: Fraction) -> int | None:
    """Return the first month by which revenue minus the cost rate (in per cent) covers the spend."""
    so_far = Fraction(0)
    for month, amount in enumerate(revenue):
        so_far += amount * (100 - rate) / 100
        if so_far >= spend:
            return month
    return None
