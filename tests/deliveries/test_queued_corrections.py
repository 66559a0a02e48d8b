"""Which order changes queue a correction, and how far the platform's amounts are from ours."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from headwater.attribution.history.revisions import DRAW_REVISION
from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.forwarding.deliveries.corrections import queue_corrections
from headwater.forwarding.platforms.google import Google
from tests.support.destinations import Forwarder
from tests.support.lock_waits import is_waited_for
from tests.support.pipeline import T0, add_sender, event, page
from tests.support.reading_fixtures import Api
from tests.support.waiting import wait_until

GOOGLE, META = Google.name, "meta"


@pytest.fixture
def shop(forwarder: Forwarder) -> Forwarder:
    """A shop with a Google destination, which accepts corrections, and a Meta destination, which doesn't."""
    for name in (GOOGLE, META):
        destination = forwarder.make()
        forwarder.execute(
            'UPDATE destinations SET platform = %(name)s, event_names = \'{"purchase": "1"}\''
            " WHERE space_id = %(space_id)s AND id = %(id)s",
            name=name,
            id=destination,
        )
    return forwarder


def accept(shop: Forwarder) -> None:
    """Mark queued deliveries as sent, and as counted by Google."""
    shop.execute("UPDATE deliveries d SET status = CASE WHEN t.platform = 'google' THEN 'counted'"
                 " ELSE 'delivered' END, sent_amount = e.amount, sent_currency = 'EUR', finished_at = now()"
                 " FROM destinations t, events e WHERE d.space_id = %(space_id)s AND d.status = 'queued'"
                 " AND t.space_id = d.space_id AND t.id = d.destination_id"
                 " AND e.space_id = d.space_id AND e.id = d.event_id")  # fmt: skip


def sell(shop: Forwarder, **values: Any) -> int:
    (order,) = shop.queue().run(event(email="ada@example.com", order_id="7", order_name="#7", amount="50",
                                      currency="EUR", **values))  # fmt: skip
    accept(shop)
    return order


def refund(amount: str, version: int = 1) -> AcceptedRefund:
    return AcceptedRefund(order_ids=("7",), at=T0, currency="EUR",
                          statements=(MoneyBack(item="r1", amount=amount, version=version),))  # fmt: skip


def queued_orders(shop: Forwarder) -> list[Any]:
    """Return the orders with a queued correction."""
    return shop.deliveries("CASE WHEN kind = 'correction' AND status = 'queued' THEN event_id END")


def corrected_events(shop: Forwarder) -> list[int]:
    return [event_id for event_id in queued_orders(shop) if event_id is not None]


def test_it_works(shop: Forwarder) -> None:
    """A reported refund isn't a conversion. Its order is corrected, but only at Google."""
    order = sell(shop)
    shop.queue().run(refund("20"))
    assert shop.deliveries("kind", "status", "reason")[2:] == [
        ("conversion", "skipped", "refund"),
        ("conversion", "skipped", "refund"),
        ("correction", "queued", None),
    ]
    assert corrected_events(shop) == [order]


@pytest.mark.parametrize("amount", ["5", "0"])
def test_a_corrected_refund(shop: Forwarder, amount: str) -> None:
    order = sell(shop)
    shop.queue().run(refund("20"))
    accept(shop)
    shop.execute(
        "UPDATE deliveries SET sent_amount = 30 WHERE space_id = %(space_id)s AND kind = 'correction'"
    )
    shop.queue().run(refund(amount, version=2))
    assert corrected_events(shop) == [order]


def test_a_negative_event(shop: Forwarder) -> None:
    order = sell(shop)
    shop.queue().run(event(email="ada@example.com", order_name="#7", amount="-20", currency="EUR"))
    assert corrected_events(shop) == [order]


def test_of_another_person_or_currency(shop: Forwarder) -> None:
    sell(shop)
    shop.queue().run(
        event(email="bob@example.com", order_name="#7", amount="-20", currency="EUR"),
        event(email="ada@example.com", order_name="#7", amount="-20", currency="USD"),
        event(email="ada@example.com", order_name="#8", amount="-20", currency="EUR"),
    )
    assert corrected_events(shop) == []


def test_a_replaced_event(shop: Forwarder) -> None:
    """The business's amount replaces the page's."""
    order = page(event(email="ada@example.com", order_id="7", amount="40", currency="EUR"))
    shop.queue().run(order)
    accept(shop)
    (replacement,) = shop.queue().run(
        add_sender("webhook", event(email="ada@example.com", order_id="7", amount="50", currency="EUR"))
    )
    assert corrected_events(shop) == [replacement]


def test_a_replaced_order_of_another_contact(shop: Forwarder, api: Api) -> None:
    """The refund of the page's order counts for the business's order, too."""
    shop.queue().run(page(event(trk_token="t1", order_id="7", amount="50", currency="EUR")))
    accept(shop)
    shop.queue().run(refund("20"))
    order = event(email="ada@example.com", order_id="7", amount="50", currency="EUR")
    (replacement,) = shop.queue().run(add_sender("webhook", order))
    assert corrected_events(shop) == [replacement]
    (google, _) = sorted({*shop.deliveries("destination_id")})
    (row,) = api.send("GET", f"/destinations/{google}/amounts").json()["data"]
    assert (row["ledger"], row["waiting"]) == (30, 20)


def test_edited_by_api(shop: Forwarder, api: Api) -> None:
    order = sell(shop)
    assert api.send("PUT", f"/events/{order}", json={"amount": 60}).status_code == 200
    assert corrected_events(shop) == [order]
    assert api.send("DELETE", f"/events/{order}").status_code == 200
    assert corrected_events(shop) == [order]


def test_deleted_by_api_during_a_batch(shop: Forwarder, api: Api, database_url: str) -> None:
    """The deletion waits for a batch before it locks deliveries that the batch may need."""
    order, space_id = sell(shop), shop.stage.space_id
    with ThreadPoolExecutor() as pool, psycopg.connect(database_url) as worker:
        worker.execute(DRAW_REVISION, {"space_id": space_id})
        deletion = pool.submit(api.send, "DELETE", f"/events/{order}")
        wait_until(lambda: is_waited_for(shop.stage.connection, worker))
        queue_corrections(worker, space_id, [order])
        worker.commit()
        assert deletion.result().status_code == 200


def test_amounts(shop: Forwarder, api: Api) -> None:
    """The platform's excess is the sent amount minus corrections minus the ledger's amount."""
    sell(shop)
    shop.queue().run(refund("20.25"))
    (google, meta) = sorted({*shop.deliveries("destination_id")})

    def amounts(destination: int) -> dict[str, Any]:
        (row,) = api.send("GET", f"/destinations/{destination}/amounts").json()["data"]
        return row

    figures = {"currency": "EUR", "conversions": 1, "sent": 50, "corrected": 0, "ledger": 29.75,
               "overcounted": 20.25}  # fmt: skip
    assert amounts(google) == figures | {"waiting": 20.25}
    assert amounts(meta) == figures | {"waiting": 0}
    shop.execute("UPDATE deliveries SET status = 'counted', sent_amount = 29.75, sent_currency = 'EUR',"
                 " finished_at = now() WHERE space_id = %(space_id)s AND kind = 'correction'")  # fmt: skip
    assert amounts(google) == figures | {"corrected": 20.25, "overcounted": 0, "waiting": 0}
    assert api.send("GET", "/destinations/999999/amounts").status_code == 404
