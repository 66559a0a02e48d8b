"""Refunds are derived from refund reports and their order, in any order of arrival."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import permutations
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from tests.support.campaigns import campaign_size
from tests.support.pipeline import MINUTE, T0, Accepted, Stage, add_sender, event, new_stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def order(amount: str | None = "50", **values: Any) -> Accepted:
    values = {"order_id": "o1", "email": "ada@acme.com", "amount": amount, **values}
    return add_sender("webhook", event(**values))


def back(*statements: MoneyBack, order_ids: tuple[str, ...] = ("o1",), **values: Any) -> Accepted:
    refund = AcceptedRefund(order_ids=order_ids, at=T0 + MINUTE, statements=statements, **values)
    return add_sender("webhook", refund)


def make_refund(item: str, amount: str, **values: Any) -> MoneyBack:
    return MoneyBack(item=item, amount=amount, **values)


def amounts(stage: Stage) -> list[float]:
    return sorted(float(amount) for amount in stage.values("events", "amount"))


@pytest.mark.parametrize("limit", [1, 10])
@pytest.mark.parametrize("arrival", list(permutations(range(4))))
def test_it_works(stage: Stage, arrival: tuple[int, ...], limit: int) -> None:
    """An order and three reports of two refunds, in every order of arrival."""
    reports = [order(order_name="#9"), back(make_refund("r1", "15")), back(make_refund("r2", "5")),
               back(make_refund("r1", "15"))]  # fmt: skip
    stage.put(*(reports[index] for index in arrival))
    stage.process(limit)
    assert amounts(stage) == [-15, -5, 50]
    assert stage.values("duplicates", "reason") == ["refund"]
    assert len(set(stage.values("events", "contact_id"))) == 1
    assert {row[0] for row in stage.rows("events", "order_name")} == {"#9"}
    assert stage.rows("order_refunds", "waiting_since") == [(None,)]
    assert stage.values("touchpoints", "id") == []


def test_a_refund_waits_for_its_order(stage: Stage) -> None:
    (receipt,) = stage.run(back(make_refund("r1", "15")))
    assert stage.values("events", "id") == []
    assert stage.values("order_refunds", "waiting_since") != [None]
    stage.run(order())
    assert dict(stage.rows("events", "id", "amount"))[receipt] == -15
    assert stage.values("rejected", "id") == []


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([back(make_refund("r1", "80"))], [-50, 50]),
        ([back(make_refund("r1", "30")), back(make_refund("r2", "30"))], [-30, -20, 50]),
        ([back(make_refund("r1", "30")), back(MoneyBack(amount=None))], [-30, -20, 50]),
        ([back(MoneyBack(amount=None)), back(make_refund("r1", "30"))], [-50, 50]),
        ([back(MoneyBack(amount="30")), back(make_refund("r1", "30"))], [-30, 50]),
        ([back(make_refund("r1", "0"))], [50]),
        ([back(MoneyBack(amount="10", version=1)), back(MoneyBack(amount="25", version=2))],
         [-15, -10, 50]),
        ([back(MoneyBack(amount="25", version=2)), back(MoneyBack(amount="10", version=1))],
         [-25, 50]),
        # Amounts that are restored: a cancelled order that is reopened, a refund that failed.
        ([back(MoneyBack(amount=None, version=1)), back(MoneyBack(amount="0", version=2))], [50]),
        ([back(MoneyBack(amount="0", version=2)), back(MoneyBack(amount=None, version=1))], [50]),
        ([back(MoneyBack(amount="30", version=1)), back(make_refund("r1", "30", version=2, failed=True))],
         [50]),
        ([back(make_refund("r1", "30", version=1)), back(make_refund("r1", "30", version=2, failed=True))],
         [50]),
        ([back(MoneyBack(amount=None, version=1)), back(MoneyBack(amount="5", version=2))],
         [-5, 50]),
        # Parts add up: a refund, and a dispute about the remaining amount.
        ([back(make_refund("r1", "30")), back(make_refund("d1", "20", part="dispute"))], [-30, -20, 50]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("order_index", [0, -1])
@pytest.mark.parametrize("limit", [1, 10])
def test_what_follows_from_reports(
    stage: Stage, reports: list[Accepted], expected: list[float], order_index: int, limit: int
) -> None:
    """The order comes before or after its reports."""
    arrivals = [order(), *reports] if order_index == 0 else [*reports, order()]
    stage.put(*arrivals)
    stage.process(limit)
    assert sum(amounts(stage)) == sum(expected)
    if limit == 1 and order_index == 0:
        assert amounts(stage) == sorted(expected)
    assert stage.values("rejected", "id") == []


def test_another_id_of_the_same_order(stage: Stage) -> None:
    """Reports under several ids, before and after they are known to belong to one order."""
    stage.run(back(make_refund("r1", "10"), order_ids=("pi_1",)))
    stage.run(order(order_id="in_1"))
    assert amounts(stage) == [50]
    stage.run(back(order_ids=("in_1", "pi_1")))
    assert amounts(stage) == [-10, 50]
    stage.run(back(make_refund("r2", "5"), order_ids=("pi_1",)))
    assert amounts(stage) == [-10, -5, 50]


@pytest.mark.parametrize("limit", [1, 2, 10])
@pytest.mark.parametrize("arrival", list(permutations(range(4))))
def test_reports_under_two_ids_are_joined(stage: Stage, arrival: tuple[int, ...], limit: int) -> None:
    reports = [order(order_id="in_1"), back(make_refund("r1", "10"), order_ids=("pi_1",)),
               back(make_refund("r2", "5"), order_ids=("in_1",)),
               back(order_ids=("in_1", "pi_1"))]  # fmt: skip
    stage.put(*(reports[index] for index in arrival))
    stage.process(limit)
    stage.run(
        back(make_refund("r3", "1"), order_ids=("pi_1",)), back(make_refund("r2", "5"), order_ids=("in_1",))
    )
    assert sum(amounts(stage)) == 34
    assert stage.values("duplicates", "reason") == ["refund"]
    assert set(stage.values("order_refunds", "waiting_since")) == {None}


def test_an_order_that_is_merged_in_the_same_batch(stage: Stage) -> None:
    stage.run(order(), add_sender("api_key", event(email="bob@acme.com", tracking_id="u1")))
    stage.run(
        add_sender("api_key", event(email="ada@acme.com", tracking_id="u1")), back(make_refund("r1", "10"))
    )
    assert len(set(stage.values("events", "contact_id"))) == 1
    assert len(stage.values("merges", "id")) == 1


def test_the_order_of_a_page_waits_for_nobody(stage: Stage) -> None:
    """A page's order counts until the business's takes its place."""
    stage.run(add_sender("browser", event(order_id="o1", trk_token="t1", amount="20")))
    stage.run(back(MoneyBack(amount=None)))
    assert amounts(stage) == [-20, 20]
    stage.run(order())
    assert sum(amounts(stage)) == 0


@pytest.mark.parametrize("limit", [1, 10])
@pytest.mark.parametrize(
    "other",
    [
        add_sender("browser", event(order_id="o1", trk_token="t1", event_name="contact", amount="0")),
        add_sender(
            "api_key", event(order_id="o1", trk_token="t1", event_name="initiate_checkout", amount="60")
        ),
    ],
)
def test_other_events_that_name_the_order(stage: Stage, other: Accepted, limit: int) -> None:
    """Neither a checkout nor a page's event takes the refunds of a purchase, whatever arrives first."""
    receipt, _ = stage.run(order(), back(make_refund("r1", "15")))
    stage.put(other, back(make_refund("r2", "5")))
    stage.process(limit)
    stage.run(back(MoneyBack(amount=None)))
    rows = [row for row in stage.rows("events", "event_name", "amount", "contact_id") if row[1] < 0]
    assert sorted(float(amount) for _, amount, _ in rows) == [-30, -15, -5]
    assert {(name, contact) for name, _, contact in rows} == {("purchase", stage.find_contact(receipt))}


@pytest.mark.parametrize("limit", [1, 10])
def test_a_refund_waits_beside_a_checkout(stage: Stage, limit: int) -> None:
    checkout = event(order_id="o1", trk_token="t1", event_name="initiate_checkout", amount="60")
    stage.put(add_sender("api_key", checkout), back(make_refund("r1", "15")), order())
    stage.process(limit)
    assert [row[0] for row in stage.rows("events", "event_name", "amount") if row[1] < 0] == ["purchase"]


@pytest.mark.parametrize("limit", [1, 10])
def test_refunds_follow_an_order_that_takes_the_place_of_another(stage: Stage, limit: int) -> None:
    """A page's refunded order is then sent by the business, for a contact with a company and touches."""
    stage.run(
        add_sender("browser", event(order_id="o1", event_name="checkout", trk_token="t0", amount="20")),
        add_sender("browser", event(order_id="o1", trk_token="t1", amount="20", currency="EUR")),
        back(make_refund("r1", "15"), currency="EUR"),
    )
    stage.put(
        event(event_name="lead", email="ada@acme.com", trk_source="email"),
        order(order_name="#9", currency="EUR", do_not_capi=True),
        back(make_refund("r2", "5"), currency="EUR"),
    )
    stage.process(limit)
    columns = ("contact_id", "company_id", "event_name", "order_name", "do_not_capi", "source_mask")
    rows = {
        float(amount or 0): (order_id, *row)
        for order_id, amount, *row in stage.rows("events", "order_id", "amount", *columns)
    }
    assert rows[-15][1:] == rows[-5][1:] == rows[50][1:]
    assert sorted(rows) == [-15, -5, 0, 20, 50]
    former_rows = stage.rows("former_events", "cause", "amount")
    assert [(cause, float(amount)) for cause, amount in former_rows] == [("edits", -15), ("replacements", 20)]


def test_a_deleted_order_and_a_deleted_refund(stage: Stage) -> None:
    order_event, refund_event = stage.run(order(), back(make_refund("r1", "10")))
    for event_id in (order_event, refund_event):
        stage.connection.execute("DELETE FROM events WHERE id = %s", (event_id,))
    stage.run(back(make_refund("r2", "5")))
    stage.run(order())
    stage.run(back(make_refund("r1", "10")))
    assert stage.values("rejected", "id") == []
    assert amounts(stage) == [-5, 50]


def test_foreign_money(stage: Stage) -> None:
    """A refund in the order's currency is limited to the order's amount. One in another currency is not."""
    stage.run(order(currency="GBP"), back(make_refund("r1", "60"), currency="GBP"))
    assert amounts(stage) == [-50, 50]
    stage.run(back(make_refund("r2", "7"), currency="JPY"))
    stage.run(back(make_refund("r2", "7"), currency="JPY"))
    assert amounts(stage) == [-50, -7, 50]
    stage.run(back(MoneyBack(part="void", amount=None)))
    assert amounts(stage) == [-50, 50]


@pytest.mark.parametrize("currency", [None, "USD"])
def test_a_refund_keeps_the_currency_of_its_order_when_the_space_s_changes(
    stage: Stage, currency: str | None
) -> None:
    """Otherwise a refund of 15 dollars would become one of 15 euros."""
    stage.run(order(currency="USD"), back(make_refund("r1", "15"), currency=currency))
    stage.connection.execute("UPDATE spaces SET currency = 'EUR' WHERE id = %s", (stage.space_id,))
    stage.run(back(make_refund("r2", "5"), currency=currency))
    rows = stage.rows("events", "amount", "currency")
    assert sorted((float(amount), currency) for amount, currency in rows) == [
        (-15, "USD"), (-5, "USD"), (50, "USD"),
    ]  # fmt: skip


@pytest.mark.parametrize("limit", [1, 2, 10])
@pytest.mark.parametrize("arrival", list(permutations(range(4))))
def test_a_refund_without_a_currency_is_in_the_order_s(
    stage: Stage, arrival: tuple[int, ...], limit: int
) -> None:
    reports = [order(currency="GBP"), back(make_refund("r1", "15")),
               back(make_refund("r2", "40"), currency="GBP"), back(make_refund("r1", "15"))]  # fmt: skip
    stage.put(*(reports[index] for index in arrival))
    stage.process(limit)
    assert sum(amounts(stage)) == 0
    assert set(stage.values("events", "currency")) == {"GBP"}
    assert stage.values("duplicates", "reason") == ["refund"]


@pytest.mark.parametrize("limit", [1, 10])
@pytest.mark.parametrize(
    "refund",
    [
        back(make_refund("r1", "15")),
        back(MoneyBack(amount=None)),
        back(MoneyBack(amount=None), currency="GBP"),
        back(MoneyBack(amount=None), currency="JPY"),
    ],
)
def test_a_refund_is_in_the_currency_of_an_order_that_takes_the_place_of_another(
    stage: Stage, refund: Accepted, limit: int
) -> None:
    """A page's order without a currency is in the Space's; the business then sends it in another one."""
    page_order = add_sender("browser", event(order_id="o1", trk_token="t1", amount="50"))
    stage.put(page_order, refund, order(currency="GBP"), back(make_refund("r2", "40")))
    stage.process(limit)
    assert stage.values("rejected", "id") == []
    assert sum(amounts(stage)) == 0
    assert set(stage.values("events", "currency")) == {"GBP"}


@pytest.mark.parametrize("sender", ["webhook", "import"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_negative_event_with_the_order_s_id(stage: Stage, sender: str, *, is_first: bool) -> None:
    """Webhooks and imports send it as an event of the order. Neither it nor the order is a duplicate."""
    refund = add_sender(sender, event(order_id="o1", amount="-15", idempotency_key="k1"))
    for arrival in ([refund, order()] if is_first else [order(), refund]) + [refund]:
        stage.run(arrival)
    assert amounts(stage) == [-15, 50]


# An order's history, and the sum that its reports must give

VALUES = ["0", "0.01", "5", "10", "19.99", "50", "70"]
statements = st.builds(
    MoneyBack,
    part=st.sampled_from(["", "dispute"]),
    item=st.sampled_from(["", "r1", "r2"]),
    amount=st.none() | st.sampled_from(VALUES),
    version=st.integers(0, 4),
    failed=st.booleans(),
).filter(lambda statement: statement.item != "" or not statement.failed).filter(
    lambda statement: statement.item == "" or statement.amount is not None
)  # fmt: skip


def net_amount(amount: Decimal, statement: list[MoneyBack]) -> Decimal:
    """Return what remains of an order, computed independently."""
    latest: dict[tuple[str, str], MoneyBack] = {}
    for entry in statement:
        key = entry.part, entry.item
        if key not in latest or latest[key].version <= entry.version:
            latest[key] = entry
    returned_amount = Decimal(0)
    for refund_part in {refund_part for refund_part, _ in latest}:
        total = latest.get((refund_part, ""))
        items = [entry for (name, item), entry in latest.items() if name == refund_part and item]
        single = sum(Decimal(entry.amount or 0) for entry in items if not entry.failed)
        if total is None:
            returned_amount += single
        elif total.amount is None:
            return Decimal(0)
        else:
            failed_amount = sum(
                Decimal(entry.amount or 0)
                for entry in items
                if entry.failed and entry.version > total.version
            )
            returned_amount += max(Decimal(total.amount) - failed_amount, single, Decimal(0))
    return amount - min(amount, returned_amount)


@settings(max_examples=campaign_size("HEADWATER_ORDER_HISTORIES", 30, 2000), deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    statement=st.lists(statements, min_size=1, max_size=6),
    order_index=st.integers(0, 6),
    limit=st.sampled_from([1, 2, 10]),
)
def test_any_life_of_an_order(
    connection: psycopg.Connection, statement: list[MoneyBack], order_index: int, limit: int
) -> None:
    """Repeats, and statements with equal versions, apply in order of arrival. Otherwise the order of arrival
    doesn't matter.
    """
    stage = new_stage(connection)
    arrivals = [back(entry) for entry in statement]
    arrivals.insert(order_index, order("50"))
    stage.put(*arrivals)
    stage.process(limit)
    assert sum(stage.values("events", "amount")) == net_amount(Decimal(50), statement)
    assert stage.values("rejected", "id") == []
    refunds = [amount for amount in stage.values("events", "amount") if amount <= 0]
    assert all(amount < 0 for amount in refunds)


def test_repeats_of_many_orders(stage: Stage) -> None:
    """40 orders, each with a refund reported twice, all shuffled."""
    draw = random.Random(7)
    arrivals: list[Accepted] = []
    for number in range(40):
        arrivals.append(order("50", order_id=f"o{number}"))
        refund = back(make_refund("r1", f"{number}"), order_ids=(f"o{number}",))
        arrivals += [refund, refund]
    draw.shuffle(arrivals)
    stage.put(*arrivals)
    stage.process(7)
    assert sum(stage.values("events", "amount")) == 40 * 50 - sum(range(40))
