"""The events in a report, and the touches whose credit counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from tests.support.report_model.clock import STEPS, Period, counterpart
from tests.support.report_model.credit import Conversion, list_path, select_window, share_credit
from tests.support.report_model.facts import Event, Facts, Touchpoint
from tests.support.report_model.groups import Key, converting_names, event_kind, name_key, visit_key
from tests.support.report_model.question import TIME_GROUPS, Question


def select_conversions(facts: Facts, question: Question, period: Period) -> list[Conversion]:
    """Return the events in a report, with their paths."""
    touches_of_owner: dict[tuple[str, int | None], list[Touchpoint]] = {}
    for touch in facts.touchpoints:  # searching all touchpoints for every event would be slow
        touches_of_owner.setdefault(("contact", touch.contact_id), []).append(touch)
        touches_of_owner.setdefault(("company", touch.company_id), []).append(touch)
    conversions: list[Conversion] = []
    names = converting_names(facts, question)
    is_markov = "markov" in question.models
    worth = facts.weights(question.trained_model, question.event_names) if is_markov else {}
    for event in facts.events:
        if not question.by_touch_date and not period.holds(event.event_time, facts.zone):
            continue
        if not meets_filters(event, facts, question):
            continue
        has_company = question.by_company and event.company_id is not None
        owner = ("company", event.company_id) if has_company else ("contact", event.contact_id)
        path = list_path(event, touches_of_owner.get(owner, []), by_company=question.by_company)
        kind = event_kind(event, facts, question)
        takes_back = event.sign < 0
        silent = replace(event, amount=None, stated_amount=None, left_out=None)
        counted_event = event if event.event_name in names else silent
        window = select_window(question.window, event, path)
        conversion = Conversion(counted_event, path, window, kind=kind, takes_back=takes_back)
        if is_only(conversion, None, facts, question, period):
            for model in question.models:
                credits_ = share_credit(model, counted_event, conversion.window, worth)
                conversion.credits[model] = [
                    replace(credit, converts=conversion.converts) for credit in credits_
                ]
            conversions.append(conversion)
    return conversions


def meets_filters(event: Event, facts: Facts, question: Question) -> bool:
    if question.event_names and event.event_name not in question.event_names:
        return False
    for bound, sign in ((question.amount_min, 1), (question.amount_max, -1)):
        if bound is not None and (event.amount is None or sign * (event.amount - bound) < 0):
            return False
    fields = facts.contacts[event.contact_id].fields
    return all(meets(fields.get(slot), name, value) for slot, name, value in question.conditions)


def is_only(
    conversion: Conversion | None, touch: Touchpoint | None, facts: Facts, question: Question,
    period: Period,
) -> bool:  # fmt: skip
    """Return whether an event, or a touch, has one of the requested keys in every filtered group that applies
    to it.
    """
    for group in {group for group, _ in question.only}:
        if question.is_touch_group(group) is (touch is not None):
            key = name_key(group, conversion, touch, facts, question)
            if key not in _requested_keys(group, question, period):
                return False
    return True


def _requested_keys(group: str, question: Question, period: Period) -> set[Key]:
    """Return the keys of a group that count. For days, weeks and months in the comparison period, return the
    keys that rows are compared with.
    """
    keys = {key for group_of_key, key in question.only if group_of_key == group}
    question_period = Period(question.start, question.end)
    if group not in STEPS or period == question_period:
        return keys
    step_keys = [key for key in question_period.steps(group) if key in keys]
    return {counterpart(group, key, question_period, period, question.compare) for key in step_keys}


def meets(value: Any, operator: str, reference: str | None) -> bool:
    """Return whether a text (str) or number (Decimal) meets a condition. A missing value only meets
    "unknown".
    """
    if operator == "unknown":
        return not value
    if operator == "any":
        return value > 0 if isinstance(value, Decimal) else bool(value)
    if value is None or reference is None:
        return False
    operand: Any = Decimal(reference) if isinstance(value, Decimal) else reference
    holds: dict[str, Callable[[], bool]] = {
        "equal_to": lambda: value == operand,
        "not_equal_to": lambda: value not in (operand, ""),
        "greater_than": lambda: value > operand,
        "less_than": lambda: value < operand,
        "contains": lambda: operand in value,
    }
    return holds[operator]()


def counts_visit(visit: Touchpoint, facts: Facts, question: Question, period: Period) -> bool:
    """Return whether a visit is in the period and at the requested times."""
    if not period.holds(visit.occurred_at, facts.zone):
        return False
    times = {
        group for group, _ in question.only if group in TIME_GROUPS and not question.is_touch_group(group)
    }
    return all(visit_key(group, visit, facts) in _requested_keys(group, question, period) for group in times)


def keeps(touch: Touchpoint, facts: Facts, question: Question, period: Period) -> bool:
    """Return whether a touch's credit counts."""
    if question.sources and touch.source not in question.sources:
        return False
    if question.by_touch_date and not period.holds(touch.occurred_at, facts.zone):
        return False
    if not is_only(None, touch, facts, question, period):
        return False
    if question.campaign is None:
        return True
    identity, name = touch.tags.campaign_id, touch.tags.campaign_name
    if name is None and identity is not None:
        name = facts.ad_names.get(("campaign", identity))
    sought_text = question.campaign.lower()
    return any(sought_text in text.lower() for text in (identity, name) if text is not None)
