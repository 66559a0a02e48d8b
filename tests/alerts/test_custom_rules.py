"""A Space's own rules: a figure of a report below or above a threshold, and spend without orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from headwater.alerts.custom_rules import stored_rules
from headwater.alerts.custom_rules.models import CustomRule, RuleCondition, RuleTerms
from headwater.alerts.custom_rules.stored_rules import (
    change_rule,
    create_rule,
    delete_rule,
    list_filters,
    list_rules,
    mute_rule,
)
from headwater.alerts.history import StepKind
from headwater.alerts.rules import Rule
from headwater.http.errors import Invalid
from headwater.reports.query import Group
from headwater.sources.source_names import SHIPPED_ALONE
from headwater.spaces.spaces import fetch_space
from headwater.spend.inputs import read_spend
from headwater.spend.ledger import put_report
from tests.alerts.evaluator import NOW, Evaluator, noon, steps
from tests.support.accounts import Accounts
from tests.support.factories import Stage

ROAS_OF_META = RuleTerms("roas", RuleCondition.BELOW, Decimal(2), "EUR", 7, "platform:meta", "Meta ads", None)
WASTE = RuleTerms("spend", RuleCondition.WITHOUT_ORDERS, Decimal(50), "EUR", 7, "", "", Group.CAMPAIGN)
DAY = timedelta(days=1)


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    """A Space with an order long ago, so that every period is complete."""
    connection.execute("UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (space_id,))
    stage = Stage(connection, space_id, "")
    order(stage, None, "1", days=60)
    return stage


@pytest.fixture
def evaluator(database_url: str, space_id: int) -> Evaluator:
    return Evaluator(database_url, space_id)


class Rules:
    """The rules of a Space, used through the console."""

    def __init__(self, database_url: str, space_id: int) -> None:
        self._accounts, self._space_id = Accounts(database_url), space_id

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self._accounts.run(lambda connection: work(connection, self._space_id, *arguments))

    def create(self, terms: RuleTerms) -> int:
        return self.run(create_rule, terms)

    def read_rule(self) -> CustomRule:
        (rule,) = self.run(list_rules)
        return rule

    def spend(self, platform: str, amount: str, days: int = 2, **columns: Any) -> None:
        row = {"date": f"{(NOW - days * DAY).date()}", "platform": platform, "amount": amount,
               "currency": "EUR", **columns}  # fmt: skip
        report = read_spend({"spend": [row]}, NOW, SHIPPED_ALONE)
        self._accounts.run(lambda c: put_report(c, self._space_id, report.rows, report.as_of))


@pytest.fixture
def rules(database_url: str, space_id: int) -> Rules:
    return Rules(database_url, space_id)


def order(stage: Stage, source: str | None, amount: str, days: float = 2, **ad: str) -> None:
    """Store an order, a minute after a visit from a source."""
    contact, moment = stage.contact(), NOW - days * DAY
    if source:
        columns = {"tag_set_id": stage.tag_set(**ad)} if ad else {}
        stage.touchpoint(contact, source, occurred_at=moment - timedelta(minutes=1), **columns)
    stage.event(contact, event_time=moment, received_at=moment, amount=amount)


def test_it_works(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    """ROAS of Meta below 2 opens an alert once; the alert ends when an order arrives late."""
    rules.spend("meta", "100")
    rules.spend("google", "1000")
    order(stage, "facebook_ads", "100")
    order(stage, "instagram_ads", "50")
    order(stage, "facebook_ads", "9000", days=0.1)
    rules.create(ROAS_OF_META)
    evaluator.evaluate(noon(0.1), noon(0.5), noon(1.1))
    (step,) = evaluator.notified_steps
    assert (step.rule, step.step, step.title) == (
        Rule.CUSTOM, StepKind.OPENED, "ROAS of Meta ads is below 2",
    )  # fmt: skip
    assert step.cause == "1.5, 6\u201312 May 2026."
    assert rules.read_rule().figure == Decimal("1.5")
    order(stage, "facebook_ads", "60")
    evaluator.evaluate(noon(2.1), noon(3.1))
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened"), (Rule.CUSTOM, "ended")]
    assert rules.read_rule().figure == Decimal("2.1")


@pytest.mark.parametrize(
    ("text", "opens_alert"),
    [
        ("roas below 2", False),
        ("roas above 2", False),
        ("roas below 2.0001", True),
        ("roas above 1.9999", True),
        ("spend above 99.99", True),
        ("spend below 100", False),
        ("cpa above 49", True),
        ("cac below 51", True),
        ("credited_revenue below 200.01", True),
        ("revenue below 200", False),
        ("orders below 3", True),
        ("conversions above 2", False),
        ("average_order_value above 99", True),
        ("new_customers below 2", False),
    ],
)
def test_the_threshold_itself_is_fine(
    evaluator: Evaluator, stage: Stage, rules: Rules, text: str, *, opens_alert: bool
) -> None:
    measure, condition, threshold = text.split()
    rules.spend("meta", "100")
    order(stage, "facebook_ads", "120")
    order(stage, "facebook_ads", "80")
    terms = replace(ROAS_OF_META, measure=measure, condition=RuleCondition(condition))
    rules.create(replace(terms, threshold=Decimal(threshold)))
    evaluator.evaluate(noon(0.1))
    assert bool(evaluator.notified_steps) == opens_alert


def test_each_period_has_its_own_days(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    """Today never counts, yesterday always does."""
    for days, amount in ((0.2, "1000"), (1, "1"), (7, "20"), (8, "300"), (30, "4000"), (31, "50000")):
        order(stage, "email", amount, days=days)
    for days in (1, 7, 30):
        terms = RuleTerms("revenue", RuleCondition.ABOVE, Decimal(10**6), "EUR", days, "", "", None)
        rules.create(terms)
    evaluator.evaluate(noon(0.1))
    assert [rule.figure for rule in rules.run(list_rules)] == [1, 21, 4321]


def browse(stage: Stage, source: str, visits: int, orders: int = 0, days: float = 2) -> None:
    """Store visits from a source to one page, the first ones with an order a minute later."""
    page, moment = "https://shop.example/shoes", NOW - days * DAY
    tags = {"source_id": stage.source_id(source), "tag_set_id": stage.tag_set(page)}
    stage.connection.execute("UPDATE tag_sets SET by_hit = true WHERE space_id = %s", (stage.space_id,))
    for number in range(visits):
        contact = stage.contact()
        stage.visit(contact, started_at=moment, last_hit_at=moment, **tags)
        stage.touchpoint(contact, source, occurred_at=moment, url=page)
        if number < orders:
            order_time = moment + timedelta(minutes=1)
            stage.event(contact, event_time=order_time, received_at=order_time, amount="10")


RATE = RuleTerms("conversion_rate", RuleCondition.BELOW, Decimal(3), "EUR", 7, "", "", None)


@pytest.mark.parametrize(
    ("filter_text", "name", "number"),
    [("", "", 43), ("source:google_ads", "Google ads", 40), ("source:google_organic", "Google organic", 3),
     ("platform:meta", "Meta ads", 0)],
)  # fmt: skip
def test_visits(
    evaluator: Evaluator, stage: Stage, rules: Rules, filter_text: str, name: str, number: int
) -> None:
    browse(stage, "google_ads", 40)
    browse(stage, "google_organic", 3)
    browse(stage, "google_ads", 500, days=8)
    terms = replace(RATE, measure="visits", filter=filter_text, filter_name=name)
    for condition in (RuleCondition.ABOVE, RuleCondition.BELOW):
        rules.create(replace(terms, condition=condition, threshold=Decimal(number)))
    rules.create(replace(terms, threshold=Decimal(number + 1)))
    evaluator.evaluate(noon(0.1))
    suffix = f" of {name}" if name else ""
    assert [step.title for step in evaluator.notified_steps] == [f"Visits{suffix} is below {number + 1}"]
    assert {rule.figure for rule in rules.run(list_rules)} == {number}


def test_the_conversion_rate(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    """It is a percentage, of all visits or of one source; the alert ends when orders arrive."""
    browse(stage, "google_ads", 80, orders=2)
    browse(stage, "google_organic", 20, orders=2)
    order(stage, None, "10")
    for threshold, filter_text, name in (
        ("4", "", ""), ("4.0001", "", ""), ("2.5", "source:google_ads", "Google ads"),
        ("2.6", "source:google_ads", "Google ads"), ("10", "platform:meta", "Meta ads"),
    ):  # fmt: skip
        rules.create(replace(RATE, threshold=Decimal(threshold), filter=filter_text, filter_name=name))
    evaluator.evaluate(noon(0.1))
    assert [(step.title, step.cause) for step in evaluator.notified_steps] == [
        ("Conversion rate is below 4.0001 %", "4 %, 6\u201312 May 2026."),
        ("Conversion rate of Google ads is below 2.6 %", "2.5 %, 6\u201312 May 2026."),
    ]
    *_, meta_rule = rules.run(list_rules)
    assert (meta_rule.figure, meta_rule.note) == (None, "Nothing to divide by in this period.")
    browse(stage, "google_ads", 10, orders=10)
    evaluator.evaluate(noon(1.1), noon(2.1))
    assert steps(evaluator.notified_steps)[2:] == [(Rule.CUSTOM, "ended"), (Rule.CUSTOM, "ended")]


def test_spend_without_orders(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    rules.spend("meta", "60", campaign_id="c1")
    rules.spend("meta", "50", campaign_id="c2")
    rules.spend("meta", "49.99", campaign_id="c3")
    rules.spend("google", "70", campaign_id="c4")
    stage.ad("campaign", "c2", "Summer")
    order(stage, "facebook_ads", "5", campaign_id="c1")
    rules.create(WASTE)
    rules.create(replace(WASTE, group_by=Group.PLATFORM))
    rules.create(replace(WASTE, threshold=Decimal(71)))
    evaluator.evaluate(noon(0.1))
    assert [step.title for step in evaluator.notified_steps] == [
        "A campaign spent 50.00 EUR or more without orders",
        "A platform spent 50.00 EUR or more without orders",
    ]
    assert (
        evaluator.notified_steps[0].cause == "120.00 EUR, 6\u201312 May 2026. c4 70.00 EUR, Summer 50.00 EUR."
    )
    assert evaluator.notified_steps[1].cause == "70.00 EUR, 6\u201312 May 2026. Google ads 70.00 EUR."
    order(stage, "google_ads", "5", campaign_id="c4")
    order(stage, "facebook_ads", "5", campaign_id="c2")
    evaluator.evaluate(noon(1.1))
    assert steps(evaluator.notified_steps)[2:] == [(Rule.CUSTOM, "ended"), (Rule.CUSTOM, "ended")]


def test_without_a_figure_no_alert_opens_and_an_open_one_ends(
    evaluator: Evaluator, stage: Stage, rules: Rules
) -> None:
    rules.create(ROAS_OF_META)
    evaluator.evaluate(noon(0.1))
    assert evaluator.notified_steps == []
    rule = rules.read_rule()
    assert (rule.figure, rule.note) == (None, "No ad spend in this period.")
    rules.spend("meta", "100")
    evaluator.evaluate(noon(1.1))
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened")]
    stage.connection.execute("DELETE FROM spend WHERE space_id = %s", (stage.space_id,))
    evaluator.evaluate(noon(2.1))
    assert steps(evaluator.notified_steps)[1:] == [(Rule.CUSTOM, "ended")]
    assert evaluator.notified_steps[1].cause == "No ad spend in this period."


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize(
    ("measure", "note"),
    [
        ("contribution", "Needs a cost rate in the Space's settings."),
        ("cpa", "Nothing to divide by in this period."),
        ("average_order_value", "Nothing to divide by in this period."),
    ],
)
def test_why_there_is_no_figure(evaluator: Evaluator, rules: Rules, measure: str, note: str) -> None:
    rules.spend("meta", "100")
    rules.create(replace(ROAS_OF_META, measure=measure))
    evaluator.evaluate(noon(0.1))
    assert rules.read_rule().note == note
    assert evaluator.notified_steps == []


def test_a_period_that_began_before_the_first_event(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    """Few orders are no problem in a Space that has existed for three days."""
    stage.connection.execute("DELETE FROM events WHERE space_id = %s", (stage.space_id,))
    rules.create(replace(ROAS_OF_META, measure="orders", filter="", filter_name=""))
    evaluator.evaluate(noon(0.1))
    assert rules.read_rule().note == "No events in this period yet."
    order(stage, "email", "10", days=3)
    evaluator.evaluate(noon(1.1))
    assert evaluator.notified_steps == []
    assert rules.read_rule().note == "Needs 7 full days of events; the first event was on 10 May 2026."


def test_money_without_an_exchange_rate_is_named(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    rules.spend("meta", "100")
    rules.spend("meta", "7", campaign_id="c1", currency="XTS")
    order(stage, "facebook_ads", "100")
    stage.event(stage.contact(), event_time=NOW - DAY, amount="30", currency="XTS")
    rules.create(ROAS_OF_META)
    evaluator.evaluate(noon(0.1))
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened")]
    assert rules.read_rule().figure == 1
    assert "Spend of 7.00 XTS left out" in rules.read_rule().note
    stage.connection.execute("DELETE FROM spend WHERE space_id = %s AND currency = 'EUR'", (stage.space_id,))
    evaluator.evaluate(noon(1.1))
    assert rules.read_rule().figure is None
    assert "Spend of 7.00 XTS left out" in rules.read_rule().note


@pytest.mark.parametrize("filter_text", ["source:taboola_ads", "platform:taboola"])
def test_a_source_that_was_removed(
    evaluator: Evaluator, stage: Stage, rules: Rules, filter_text: str
) -> None:
    stage.network("taboola_ads", platform="taboola")
    order(stage, "taboola_ads", "10")
    terms = RuleTerms("orders", RuleCondition.BELOW, Decimal(5), "EUR", 7, filter_text, "Taboola", None)
    rules.create(terms)
    evaluator.evaluate(noon(0.1))
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened")]
    stage.connection.execute(
        "UPDATE paid_networks SET removed_at = now() WHERE space_id = %s", (stage.space_id,)
    )
    evaluator.evaluate(noon(1.1))
    assert steps(evaluator.notified_steps)[1:] == [(Rule.CUSTOM, "ended")]
    assert rules.read_rule().note == "Taboola is no longer a source of this Space."


def test_a_changed_rule_starts_anew(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    rules.spend("meta", "100")
    rule_id = rules.create(ROAS_OF_META)
    evaluator.evaluate(noon(0.1))
    rules.run(change_rule, rule_id, replace(ROAS_OF_META, measure="cpa"), noon(0.2))
    assert rules.read_rule().checked_at is None
    evaluator.evaluate(noon(0.3))
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened")], "its author knows that it ended"
    rows = stage.connection.execute(
        "SELECT s.step FROM alert_steps s WHERE s.space_id = %s ORDER BY s.id", (stage.space_id,)
    ).fetchall()
    assert rows == [("opened",), ("ended",)]


def test_a_deleted_rule_leaves_no_open_alert(evaluator: Evaluator, stage: Stage, rules: Rules) -> None:
    rules.spend("meta", "100")
    rule_id = rules.create(ROAS_OF_META)
    evaluator.evaluate(noon(0.1))
    rules.run(delete_rule, rule_id, noon(0.2))
    evaluator.evaluate(noon(1.1))
    rows = stage.connection.execute(
        "SELECT a.ended_at FROM alerts a WHERE a.space_id = %s", (stage.space_id,)
    ).fetchall()
    assert rows == [(noon(0.2),)]
    assert steps(evaluator.notified_steps) == [(Rule.CUSTOM, "opened")]


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize(("days", "is_announced"), [(None, True), (-1, True), (1, False)])
def test_a_muted_rule_is_not_announced(
    rules: Rules, evaluator: Evaluator, days: int | None, *, is_announced: bool
) -> None:
    rules.spend("meta", "100", campaign_id="c1")
    muted_id, other_id = rules.create(ROAS_OF_META), rules.create(WASTE)
    rules.run(mute_rule, muted_id, None if days is None else NOW + days * DAY)
    evaluator.evaluate(noon(0.1))
    expected_ids = {muted_id, other_id} if is_announced else {other_id}
    assert {int(step.subject) for step in evaluator.notified_steps} == expected_ids


def test_at_most_fifty_rules(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored_rules.MOST_RULES == 50
    monkeypatch.setattr(stored_rules, "MOST_RULES", 1)
    rules.create(WASTE)
    with pytest.raises(Invalid, match="there are 1, the maximum"):
        rules.create(WASTE)


def test_filters_are_chosen_by_name(stage: Stage, rules: Rules) -> None:
    stage.network("taboola_ads", platform="taboola")
    stage.tag_set(campaign_id="c1", campaign_name="Summer sale")
    stage.ad("campaign", "c2", "Autumn")
    stage.tag_set(campaign_name="Winter")
    stage.ad("campaign", "c3", "Winter")
    filters = rules.run(_list)
    assert filters["platform"].items() >= {
        "platform:meta": "Meta ads", "platform:taboola": "Taboola ads",
    }.items()  # fmt: skip
    assert filters["source"]["source:google_organic"] == "Google organic"
    assert filters["channel"]["channel:paid"] == "Paid ads"
    assert filters["campaign"] == {
        "campaign:c2": "Autumn", "campaign:c1": "Summer sale", "campaign:Winter": "Winter",
    }  # fmt: skip


async def _list(connection: psycopg.AsyncConnection, space_id: int) -> dict[str, dict[str, str]]:
    return await list_filters(connection, await fetch_space(connection, space_id))
