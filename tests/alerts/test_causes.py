"""The probable cause that an alert about figures names."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from headwater.alerts.rules import Rule
from tests.alerts.evaluator import NOW, WEEKS, Evaluator, noon, order, steps, visit
from tests.alerts.evaluator import evaluator as evaluator  # noqa: PLC0414 # a fixture
from tests.alerts.evaluator import stage as stage  # noqa: PLC0414 # a fixture
from tests.support.factories import Stage

MONTH = timedelta(days=30)


def refuse(stage: Stage, moment: datetime, number: int) -> None:
    for _ in range(number):
        stage._insert("webhook_deliveries", {"webhook_id": 1, "received_at": moment, "headers": "{}",
                                             "status": "refused", "detail": "x"})  # fmt: skip


def add_key(stage: Stage, revoked_at: datetime | None, expires_at: datetime | None) -> None:
    stage._insert("api_keys", {"name": "Shop", "key_hash": uuid4().bytes * 2, "hint": "abcd",
                               "scopes": [], "revoked_at": revoked_at, "expires_at": expires_at})  # fmt: skip


def test_it_works(evaluator: Evaluator, stage: Stage) -> None:
    """Refused reports of visits are named before all guesses."""
    visit(stage, NOW - WEEKS, noon(-2), 12)
    stage._insert("site_refusals", {"site_id": 1, "reason": "origin", "detail": "https://new.example",
                                    "noted_at": noon(-1.5)}, column="site_id")  # fmt: skip
    evaluator.evaluate(noon(-1.9), noon(-0.9))
    (step,) = evaluator.notified_steps
    assert step.cause.startswith("Reports of visits are refused: they come from https://new.example, which")


@pytest.mark.parametrize(
    ("refused", "key", "orders", "cause"),
    [
        (1, None, 0, "A webhook delivery was refused."),
        (0, (noon(-3), None), 0, "The API key “Shop” was revoked shortly before."),
        (0, (None, noon(-3)), 0, "The API key “Shop” expired shortly before."),
        (0, (NOW - MONTH, noon(-3)), 0, "Orders came mostly by webhook, the last one on"),
        (0, (NOW - MONTH, None), 6, "Only some orders arrive, mostly by webhook until now,"),
    ],
)
def test_orders_fell(
    evaluator: Evaluator,
    stage: Stage,
    refused: int,
    key: tuple[datetime | None, datetime | None] | None,
    orders: int,
    cause: str,
) -> None:
    visit(stage, NOW - WEEKS, noon(2), 12)
    order(stage, NOW - WEEKS, noon(-2), sender="webhook")
    if orders:
        order(stage, noon(-2), noon(2), orders, sender="webhook")
    refuse(stage, noon(-1.5), refused)
    if key is not None:
        add_key(stage, *key)
    evaluator.evaluate(noon(-1.9), noon(0.1), noon(1.1))
    assert steps(evaluator.notified_steps)[:1] == [(Rule.ORDERS_FELL, "opened")]
    assert evaluator.notified_steps[0].cause.startswith(cause)


@pytest.mark.parametrize(
    ("reasons", "cause"),
    [
        (["bad_amount"] * 30 + ["bad_time"] * 31, "The most frequent reason is bad_time: Of bad_time"),
        ([], "An import refused many of its rows"),
    ],
)
def test_rejections_rose(evaluator: Evaluator, stage: Stage, reasons: list[str], cause: str) -> None:
    order(stage, NOW - WEEKS, noon(2))
    evaluator.evaluate(noon(-1.9))
    for reason in reasons:
        stage._insert("rejected", {"id": stage._next_value("receipt_ids"), "kind": "event", "payload": "{}",
                                   "received_at": noon(-0.5), "rejected_at": noon(-0.5), "reason": reason,
                                   "detail": f"Of {reason}", "sender": "api_key"})  # fmt: skip
    if not reasons:
        stage.add_import("events", refused=61, created_at=noon(-0.5), ended_at=noon(-0.4))
    evaluator.evaluate(noon(0.1))
    causes = {step.rule: step.cause for step in evaluator.notified_steps}
    assert causes[Rule.REJECTIONS_ROSE].startswith(cause)


def add_buyer(stage: Stage, source: str, start: datetime, end: datetime, hourly: int = 20) -> None:
    """Store a contact with a touchpoint a week, and its orders."""
    contact = stage.contact()
    moment = start
    while moment < end:
        stage.touchpoint(contact, source, occurred_at=moment)
        moment += timedelta(days=7)
    order(stage, start, end, hourly, contact=contact)


def test_unattributed_rose(evaluator: Evaluator, stage: Stage) -> None:
    """The sender of the unattributed orders is named, not that of most orders."""
    add_buyer(stage, "google_ads", NOW - WEEKS, noon(2), 12)
    order(stage, noon(-5), noon(2), 10, sender="webhook")
    evaluator.evaluate(noon(-5.9), noon(-3.9))
    (step,) = evaluator.notified_steps
    assert (step.rule, step.title) == (
        Rule.UNATTRIBUTED_ROSE,
        "Unattributed orders jumped: 45% in an hour, usually about 0%",
    )
    assert step.cause.startswith("Orders come by webhook without a link to a visit.")


def test_orders_repeated(evaluator: Evaluator, stage: Stage) -> None:
    contact = stage.contact()
    order(stage, noon(-2), noon(2), contact=contact)
    order(stage, noon(-2) + timedelta(seconds=1), noon(2), contact=contact)
    evaluator.evaluate(noon(-2.9), noon(-0.9))
    (step,) = evaluator.notified_steps
    assert (step.rule, step.title) == (
        Rule.ORDERS_REPEATED,
        "Orders arrive twice: 20 in an hour, usually none",
    )
    assert step.cause.startswith("The same contact orders for the same amount within minutes")


def test_revenue_of_a_source_fell(evaluator: Evaluator, stage: Stage) -> None:
    """The alert comes after midnight, by the Space's clock, and ends after a good day."""
    add_buyer(stage, "email", NOW - WEEKS, noon(60), 4)
    add_buyer(stage, "google_ads", NOW - WEEKS, noon(-36), 4)
    add_buyer(stage, "google_ads", noon(-12), noon(60), 4)
    evaluator.evaluate(noon(-13), noon(-12.1))
    assert evaluator.notified_steps == []
    evaluator.evaluate(noon(-11.9), noon(12.1), noon(36.1))
    opened, ended = (step for step in evaluator.notified_steps if step.rule is not Rule.ORDERS_FELL)
    assert (opened.rule, opened.subject) == (Rule.SOURCE_REVENUE_FELL, "google_ads")
    assert opened.title.startswith("Revenue of Google ads is low: 0.00 ")
    assert opened.cause.startswith("Google ads was credited with far fewer orders than on the same")
    assert (ended.alert_id, ended.step, ended.at) == (opened.alert_id, "ended", noon(36))
