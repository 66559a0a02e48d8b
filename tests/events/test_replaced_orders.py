"""An order event of a page never blocks the business's event. The business's later event replaces the page's
event, which becomes the duplicate.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from headwater.intake.webhooks.webhooks import find_buyer
from headwater.people.identity.senders import Sender
from tests.support.destinations import Forwarder
from tests.support.factories import Stage as ApiStage
from tests.support.pipeline import Accepted, Stage, add_sender, event, page
from tests.support.reading_fixtures import Api

TRUSTED = [sender.value for sender in Sender if sender.is_trusted]


@pytest.fixture
def queue(stage: ApiStage) -> Stage:
    return Stage(stage.connection, stage.space_id)


def page_purchase(**values: Any) -> Any:
    """Return a page's event: a purchase for almost nothing."""
    return page(event(trk_token="t1", amount="0.01", **values))


def server_purchase(**values: Any) -> Any:
    """Return the event of the shop's server."""
    return event(email="ann@a-corp.com", amount="5000", **values)


@pytest.mark.parametrize("in_two_batches", [True, False])
@pytest.mark.parametrize("sender", TRUSTED)
@pytest.mark.parametrize("key", ["order_id", "idempotency_key"])
def test_it_works(queue: Stage, api: Api, key: str, sender: str, *, in_two_batches: bool) -> None:
    page_receipt, server_receipt, repeat_receipt = queue.put(
        page_purchase(**{key: "1007"}),
        add_sender(sender, server_purchase(**{key: "1007"})),
        page_purchase(**{key: "1007"}),
    )
    queue.process(limit=1 if in_two_batches else 10)
    assert [str(row[1]) for row in queue.rows("events", "id", "amount")] == ["5000.0000"]
    assert queue.rows("duplicates", "id", "reason", "event_id", "sender") == [
        (page_receipt, key, server_receipt, "browser"), (repeat_receipt, key, server_receipt, "browser"),
    ]  # fmt: skip
    for receipt, status, event_id, by_whom in (
        (page_receipt, "duplicate", str(server_receipt), "browser"),
        (server_receipt, "stored", str(server_receipt), sender),
    ):
        answer = api.get(f"/receipts/{receipt}").json()
        assert (answer["status"], answer["event_id"], answer["sender"]) == (status, event_id, by_whom)


def test_pages_among_themselves(queue: Stage, api: Api) -> None:
    first, second = queue.run(page_purchase(order_id="1"), page_purchase(order_id="1"))
    assert queue.rows("duplicates", "id", "event_id") == [(second, first)]
    (server_receipt,) = queue.run(server_purchase(order_id="1"))
    assert queue.values("events", "id") == [server_receipt]
    assert api.get(f"/receipts/{second}").json()["event_id"] == str(server_receipt)


def test_the_business_among_itself(queue: Stage) -> None:
    first, second = queue.run(
        server_purchase(order_id="1"), add_sender("webhook", server_purchase(order_id="1"))
    )
    assert queue.values("events", "id") == [first]
    assert queue.rows("duplicates", "id", "sender") == [(second, "webhook")]


def test_one_takes_the_place_of_two(queue: Stage) -> None:
    page_receipts = queue.run(page_purchase(order_id="1"), page_purchase(idempotency_key="k"))
    (server_receipt,) = queue.run(server_purchase(order_id="1", idempotency_key="k"))
    assert queue.values("events", "id") == [server_receipt]
    assert queue.rows("duplicates", "id", "reason") == [
        (page_receipts[0], "order_id"), (page_receipts[1], "idempotency_key"),
    ]  # fmt: skip


def test_an_upsell_takes_no_place(queue: Stage) -> None:
    queue.run(page_purchase(order_id="1"))
    queue.run(server_purchase(order_id="1", is_upsell=True))
    assert len(queue.values("events", "id")) == 2


def test_orders_of_the_time_before_senders_were_kept(queue: Stage) -> None:
    (old,) = queue.run(server_purchase(order_id="1"))
    queue.connection.execute("UPDATE events SET sender = NULL WHERE id = %s", (old,))
    queue.run(page_purchase(order_id="1"), server_purchase(order_id="1"))
    assert queue.values("events", "id") == [old]


def test_whose_order_it_is_the_business_says(queue: Stage, database_url: str) -> None:
    """A refund that only names its order goes to the buyer, not to the sender who made up the order first."""
    queue.run(
        page(event(email="mallory@evil.com", order_id="1", event_name="lead_generated")),
        server_purchase(order_id="1"),
    )

    async def buyer() -> dict[str, str]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            return await find_buyer(connection, queue.space_id, "1")

    assert asyncio.run(buyer()) == {"email": "ann@a-corp.com"}


def run(forwarder: Forwarder, *items: Accepted) -> list[int]:
    return forwarder.queue().run(*items)


@pytest.mark.parametrize("in_two_batches", [True, False])
def test_what_waits_to_be_forwarded_is_the_business_s(forwarder: Forwarder, *, in_two_batches: bool) -> None:
    """It is forwarded under the id that the page's own pixel has sent, so platforms notice the repeat."""
    forwarder.make()
    queue = forwarder.queue()
    page_receipt, server_receipt = queue.put(
        page_purchase(order_id="1", idempotency_key="of-the-page"), server_purchase(order_id="1")
    )
    queue.process(limit=1 if in_two_batches else 10)
    assert page_receipt != server_receipt
    assert forwarder.deliveries("event_id", "dedup_id", "status", "attempts") == [
        (server_receipt, "of-the-page", "queued", 0)
    ]


def test_who_was_told_is_not_told_again(forwarder: Forwarder) -> None:
    delivered_destination, waiting_destination = forwarder.make(), forwarder.make()
    (page_receipt,) = run(forwarder, page_purchase(order_id="1", idempotency_key="k"))
    forwarder.execute(
        "UPDATE deliveries SET status = 'delivered', attempts = 1, finished_at = now()"
        " WHERE space_id = %(space_id)s AND destination_id = %(told)s", told=delivered_destination,
    )  # fmt: skip
    later = forwarder.make()
    (server_receipt,) = run(forwarder, server_purchase(order_id="1", idempotency_key="server"))
    assert server_receipt != page_receipt
    assert forwarder.deliveries("destination_id", "event_id", "dedup_id", "status") == [
        (delivered_destination, server_receipt, "k", "delivered"),
        (waiting_destination, server_receipt, "k", "queued"),
        (later, server_receipt, "server", "queued"),
    ]


def test_what_failed_or_was_skipped_is_decided_anew(forwarder: Forwarder) -> None:
    destination = forwarder.make()
    (page_receipt,) = run(forwarder, page(event(trk_token="t1", order_id="1", do_not_capi=True)))
    (server_receipt,) = run(forwarder, server_purchase(order_id="1", idempotency_key="server"))
    assert forwarder.deliveries("destination_id", "event_id", "status", "reason") == [
        (destination, page_receipt, "skipped", "do_not_capi"), (destination, server_receipt, "queued", None),
    ]  # fmt: skip


def test_of_two_places_one_is_handed_over(forwarder: Forwarder) -> None:
    forwarder.make()
    first, second = run(
        forwarder, page_purchase(order_id="1", idempotency_key="a"), page_purchase(idempotency_key="b")
    )
    forwarder.execute(
        "UPDATE deliveries SET status = 'delivered', attempts = 1, finished_at = now(),"
        " request = '{}' WHERE space_id = %(space_id)s AND event_id = %(second)s", second=second,
    )  # fmt: skip
    (true,) = run(forwarder, server_purchase(order_id="1", idempotency_key="b"))
    assert forwarder.deliveries("event_id", "status", "reason") == [
        (first, "skipped", "replaced"), (true, "delivered", None),
    ]  # fmt: skip
