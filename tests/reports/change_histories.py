"""Random histories that change much of a report's input, and questions whose answers can be split by
cause.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import msgspec

from headwater.reports.changes.change import SPLIT_GROUPS, SPLIT_MEASURES
from headwater.reports.query import Group
from tests.reports.histories import (
    EMAILS,
    MOMENTS,
    PAGE_QUERIES,
    TOKENS,
    TRACKING_IDS,
    ZONES,
    Arrive,
    Change,
    Crash,
    History,
    Step,
    _ms,
    some_event,
    some_hit,
    some_journey,
)
from tests.reports.questions import some_question
from tests.support.pipeline import Accepted, add_sender
from tests.support.report_model.question import read_question


def some_history(number: int) -> History:
    """Return a history of people who visit and buy, and of later changes to them. It changes the input of
    reports more often than the histories of other tests.
    """
    dice = Random(f"changes {number}")
    steps: list[Step] = [_arrivals(dice, 8)]
    for _ in range(dice.randrange(3, 8)):
        step = _arrivals(dice, 3) if dice.random() < 0.45 else _some_change(dice)
        steps.append(Crash(step) if dice.random() < 0.1 and isinstance(step, Change) else step)
    return History(dice.choice(ZONES), "auto", (), tuple(steps))


def _arrivals(dice: Random, limit: int) -> Arrive:
    items = [
        item
        for _ in range(dice.randint(1, limit))
        for item in dice.choice((some_journey, some_journey, _draw_merge, _draw_repeated_order, _browsing))(
            dice
        )
    ]
    return Arrive(tuple(items), dice.choice((1, 3, 2000)))


def _draw_merge(dice: Random) -> list[Accepted]:
    """Return two people, and an event that merges them."""
    email, tracking_id = {"email": dice.choice(EMAILS)}, {"tracking_id": dice.choice(TRACKING_IDS)}
    parts = [some_event(dice, **who) for who in (email, tracking_id, email | tracking_id)]
    return [add_sender("api_key", arrival.item) for arrival in parts]


def _draw_repeated_order(dice: Random) -> list[Accepted]:
    """Return an order that a page reports, and then perhaps a server as well."""
    order = {"order_id": dice.choice("abc"), "event_name": "purchase", "email": dice.choice(EMAILS)}
    senders = dice.choice((["browser"], ["browser", "api_key"], ["api_key"]))
    return [add_sender(sender, some_event(dice, **order).item) for sender in senders]


def _browsing(dice: Random) -> list[Accepted]:
    """Return a visit that led to an event. One of its earlier page views arrives late and replaces the
    touchpoint made by the later page view.
    """
    moment, token = dice.choice(MOMENTS), dice.choice(TOKENS)
    pages = [
        msgspec.structs.replace(
            some_hit(dice), trk_token=token, occurred_at=_ms(moment - timedelta(minutes=minutes)),
            url=f"https://shop.example/{dice.choice(PAGE_QUERIES)}",
        )
        for minutes in (30, dice.choice((45, 50)))
    ]  # fmt: skip
    return [pages[0], some_event(dice, trk_token=token, event_time=_ms(moment)), pages[1]]


def _some_change(dice: Random) -> Step:
    kind = dice.choice(
        ("unmerge", "unmerge", "unmerge", "amount", "delete", "erase", "source_name", "source_name", "attach")
    )
    value = dice.choice(("55", "0", None))
    return Change(kind, dice.randrange(100), dice.randrange(100), value)


def split_question(dice: Random) -> dict[str, Any]:
    """Return a random question whose differences can be split by cause."""
    while True:
        question = some_question(dice)
        question["measures"] = [name for name in question["measures"] if name in SPLIT_MEASURES]
        if not question["measures"]:
            question["measures"] = ["credited_revenue", "touched_events"]
        question["group_by"] = [name for name in question["group_by"] if Group(name) in SPLIT_GROUPS]
        for name in ("campaign", "custom_field_filters", "order_by"):
            question.pop(name, None)
        if dice.random() < 0.8:
            question |= {"start_date": "2025-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}
        question |= {"query_mode": "profile", "compare": "none", "limit": 1000}
        only = {key.partition(":")[0] for key in question.get("only", ())}
        if read_question(question).refusal() is None and all(Group(g) in SPLIT_GROUPS for g in only):
            return question


def list_groups(parameters: dict[str, Any]) -> set[str]:
    return {*parameters["group_by"], *(key.partition(":")[0] for key in parameters.get("only", ()))}
