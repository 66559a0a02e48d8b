"""Changes between snapshots when the rate of an amount is missing, or was missing."""

from __future__ import annotations

from tests.reports.test_get_changes import ADA, changes, put_rate, read, shop
from tests.support.pipeline import Stage, event
from tests.support.reading_fixtures import Api

REVENUE = {"measures": "revenue"}
__all__ = ["shop"]


def test_an_amount_without_a_rate_that_came_in_afterwards(api: Api, shop: Stage) -> None:
    """Its money counts at no snapshot, and is listed at the snapshots that have the event."""
    shop.run(event(**ADA, amount="7"))
    first = read(api, **REVENUE)
    shop.run(event(**ADA, amount="5"))
    second = read(api, **REVENUE)
    shop.run(event(**ADA, currency="JPY", amount="1000"))
    between = changes(api, first, until=second, **REVENUE)
    assert between["overall"]["difference"]["revenue"] == 5
    until_now = changes(api, first, **REVENUE)
    assert until_now["overall"]["difference"]["revenue"] == 5
    left_out = until_now["left_out_money"]
    assert [(entry["currency"], entry["amount"]) for entry in left_out] == [("JPY", 1000)]
    assert until_now["left_out_money_before"] == []
    third = read(api, **REVENUE)
    put_rate(api, 0.01)
    with_rate = changes(api, third, **REVENUE)
    assert with_rate["overall"]["causes"]["rates"]["revenue"] == 10
    assert (with_rate["left_out_money_before"], with_rate["left_out_money"]) == (left_out, [])


def test_a_first_order_that_there_was_no_rate_of(api: Api, shop: Stage) -> None:
    measures = {"measures": "new_customers"}
    first = read(api, **measures)
    shop.run(event(email="bob@example.com", currency="JPY", amount="1000"))
    put_rate(api, 0.01)
    assert changes(api, first, **measures)["overall"] == {
        "before": {"new_customers": 1, "credited_revenue": 100},
        "after": {"new_customers": 2, "credited_revenue": 110},
        "difference": {"new_customers": 1, "credited_revenue": 10},
        "causes": {"late_events": {"new_customers": 1, "credited_revenue": 10}},
    }  # fmt: skip
