"""Corrections of conversions already sent to Google and Microsoft."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import psycopg
import pytest

from headwater.forwarding.deliveries.corrections import queue_corrections
from headwater.forwarding.platforms.microsoft_offline import MicrosoftOffline
from tests.deliveries.google_ledger import DAY, HALF_HOUR, GoogleLedger, Shop, key
from tests.deliveries.google_ledger import google as google  # noqa: PLC0414 # a fixture
from tests.deliveries.google_ledger import shop as shop  # noqa: PLC0414 # a fixture
from tests.deliveries.microsoft_ledger import SETTINGS, MicrosoftLedger, MicrosoftShop, open_microsoft
from tests.deliveries.staging import Sending
from tests.deliveries.test_taken_back import change
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.lock_waits import is_waited_for
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def test_it_works(shop: Shop, google: GoogleLedger) -> None:
    """Two refunds become one correction. A later refund is sent once Google has counted the first one."""
    order = shop.sell("100")
    shop.settle()
    assert google.amounts == {key(order): 100}
    shop.refund(order, "30")
    shop.refund(order, "50")
    shop.sending.run()
    assert google.amounts == {key(order): 20}
    assert shop.corrections(order) == [(1, "delivered", None, Decimal(20))]
    shop.refund(order, "20")
    shop.sending.run()
    assert google.amounts == {key(order): 20}
    shop.settle()
    assert shop.corrections(order) == [(1, "counted", None, Decimal(20)), (2, "delivered", None, 0)]
    shop.settle(3)
    assert (google.amounts, google.faults) == ({key(order): 0}, [])
    assert [len(events) for events in google.requests] == [1, 1, 1]
    original_event, corrected_event, _ = (events[0] for events in google.requests)
    unchanged_fields = ("transactionId", "eventTimestamp", "userData", "eventSource", "currency")
    assert [corrected_event[name] for name in unchanged_fields] == [
        original_event[name] for name in unchanged_fields
    ]
    assert corrected_event["lastUpdatedTimestamp"] > corrected_event["eventTimestamp"]


def test_a_change_before_acceptance(shop: Shop, google: GoogleLedger) -> None:
    """Nothing is corrected until Google has counted the sale."""
    order = shop.sell("100")
    shop.refund(order, "10")
    shop.sending.run()
    shop.refund(order, "15")
    assert (google.amounts, shop.corrections(order)) == ({key(order): 100}, [])
    shop.settle(2)
    assert google.amounts == {key(order): 75}


def test_edited_and_cleared(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    shop.settle()
    shop.edit(order, "120.5")
    shop.settle()
    assert google.amounts == {key(order): Decimal("120.5")}
    shop.edit(order, "120.50")
    shop.settle()
    assert len(shop.corrections(order)) == 1
    shop.edit(order, None)
    shop.settle()
    assert google.amounts == {key(order): 0}


def test_back_to_the_amount_before(shop: Shop, google: GoogleLedger) -> None:
    """Google may have the amount in between, because its answer was lost."""
    order = shop.sell("100")
    shop.settle()
    reactions = iter(["silent"])
    google.react = lambda: next(reactions, "accept")
    shop.edit(order, "60")
    shop.sending.run()
    assert google.amounts == {key(order): 60}
    shop.edit(order, "100")
    shop.settle()
    assert google.amounts == {key(order): 100}


def test_a_deleted_refund(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    refund = shop.refund(order, "40")
    shop.settle(2)
    assert google.amounts == {key(order): 60}
    shop.delete(refund)
    shop.settle()
    assert google.amounts == {key(order): 100}


@pytest.mark.parametrize("is_counted", [True, False])
def test_a_deleted_sale(shop: Shop, google: GoogleLedger, is_counted: bool) -> None:
    """Google keeps the conversion with the value 0. The correction's content isn't stored."""
    order = shop.sell("100", ad_user_data=True)
    (shop.settle if is_counted else shop.sending.run)()
    shop.delete(order)
    shop.settle(2)
    assert google.amounts == {key(order): 0}
    assert shop.corrections(order) == [(1, "counted", None, None)]
    sale, correction = google.requests[0][0], google.requests[1][0]
    assert correction["consent"] == sale["consent"] == {"adUserData": "CONSENT_GRANTED"}
    assert correction["userData"] == sale["userData"]
    rows = shop.sending.connection.execute(
        "SELECT request, answer, error FROM deliveries WHERE space_id = %s", (shop.sending.space_id,)
    ).fetchall()
    assert rows == [(None, None, None)] * 2


def test_a_sale_deleted_while_it_is_sent(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    shop.sending.seconds = PATIENCE_SECONDS

    def delete_sale() -> str:
        google.react = lambda: "accept"
        shop.delete(order)
        return "accept"

    google.react = delete_sale
    shop.settle(2)
    assert google.amounts == {key(order): 0}
    assert shop.corrections(order) == [(1, "counted", None, None)]
    rows = shop.sending.connection.execute(
        "SELECT request, answer, error FROM deliveries WHERE space_id = %s", (shop.sending.space_id,)
    ).fetchall()
    assert rows == [(None, None, None)] * 2


def test_a_deleted_sale_of_an_erased_person(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    shop.settle()
    change(shop.sending, "erased", order)
    shop.delete(order)
    shop.settle()
    assert google.amounts == {key(order): 100}
    assert shop.corrections(order) == [(1, "skipped", "erased", None)]


def test_consent_withdrawn_in_between(shop: Shop, google: GoogleLedger) -> None:
    """Without consent, only a click id could be sent, and the sale has no click."""
    order = shop.sell("100")
    shop.settle()
    shop.sending.connection.execute(
        "UPDATE events SET ad_user_data = false WHERE space_id = %s", (shop.sending.space_id,)
    )
    shop.refund(order, "10")
    shop.settle()
    assert google.amounts == {key(order): 100}
    assert shop.corrections(order) == [(1, "skipped", "no_consent", None)]


def test_a_sale_that_was_refused(shop: Shop, google: GoogleLedger) -> None:
    google.refuse = lambda _: True
    order = shop.sell("100")
    shop.settle()
    shop.refund(order, "10")
    shop.settle()
    assert (google.amounts, shop.corrections(order)) == ({}, [])


def test_a_refused_correction(shop: Shop, google: GoogleLedger) -> None:
    """It isn't retried automatically. The next change sends the full amount."""
    order = shop.sell("100")
    shop.settle()
    google.refuse = lambda _: True
    shop.refund(order, "10")
    shop.settle(3)
    assert shop.corrections(order) == [(1, "refused", "invalid_event", Decimal(90))]
    google.refuse = lambda _: False
    shop.refund(order, "5")
    shop.settle()
    assert google.amounts == {key(order): 85}


def test_too_old(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    shop.settle()
    shop.sending.advance(56 * DAY)
    shop.refund(order, "10")
    shop.settle()
    assert google.amounts == {key(order): 100}
    assert shop.corrections(order) == [(1, "skipped", "too_old", None)]


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("settings", '{"customer_id": "9999999999"}', "other_account"),
        ("event_names", '{"purchase": "222"}', None),
        ("event_names", '{"purchase": null}', None),
    ],
)
def test_a_changed_destination(
    shop: Shop, google: GoogleLedger, column: str, value: str, reason: str | None
) -> None:
    """With another account or conversion action, the correction would count as a new conversion."""
    order = shop.sell("100")
    shop.settle()
    shop.sending.connection.execute(
        f"UPDATE destinations SET {column} = %s WHERE space_id = %s", (value, shop.sending.space_id)
    )
    shop.refund(order, "10")
    shop.settle()
    ((_, status, skip_reason, _),) = shop.corrections(order)
    assert (status, skip_reason) == ("counted" if reason is None else "skipped", reason)
    assert google.amounts == {key(order): 90 if reason is None else 100}
    assert all(event.get("destinationReferences") is None for events in google.requests for event in events)


def test_a_sale_sent_again(shop: Shop, google: GoogleLedger) -> None:
    """A replay overwrites the correction, so another correction follows."""
    order = shop.sell("100")
    shop.settle()
    shop.refund(order, "10")
    shop.settle()
    shop.sending.connection.execute(
        "UPDATE deliveries SET status = 'queued', queued_at = to_timestamp(%s), due_at = to_timestamp(%s),"
        " finished_at = NULL, platform_request_id = NULL WHERE space_id = %s AND kind = 'conversion'",
        (shop.sending.clock.time, shop.sending.clock.time, shop.sending.space_id),
    )
    shop.sending.run()
    assert google.amounts == {key(order): 100}
    shop.settle(2)
    assert google.amounts == {key(order): 90}


def test_microsoft_finds_conversions_by_click_id(sending: Sending) -> None:
    """The e-mail address may have changed since, so it would match no conversion, or the wrong one."""
    with open_microsoft(sending) as (shop, _):
        order = shop.sell("100", has_click=False)
        sending.run()
        shop.refund(order, "30")
        sending.run()
        assert shop.corrections(order) == [(1, "skipped", "no_identifier", None)]


def test_microsoft(sending: Sending) -> None:
    """Corrections go in separate calls, as soon as Microsoft has accepted the conversion."""
    sending.platform = change_platform(MicrosoftOffline(), token_request=lambda *_: None)
    with FakePlatform(default=Answer(body={"PartialErrors": []})) as microsoft:
        sending.urls["microsoft_offline"] = microsoft.url
        destination = sending.destination(settings=SETTINGS, event_names='{"purchase": "Sale"}')
        shop = MicrosoftShop(sending, destination, MicrosoftLedger())
        orders = [shop.sell(amount) for amount in ("100", "50")]
        sending.run()
        shop.refund(orders[0], "30")
        shop.delete(orders[1])
        orders.append(shop.sell("9"))
        sending.advance(HALF_HOUR)
        sending.run()
        assert [row[1:] for order in orders for row in shop.corrections(order)] == [
            ("delivered", None, Decimal(70)), ("delivered", None, None),
        ]  # fmt: skip
        first, *later_bodies = microsoft.bodies
    conversions = first["OfflineConversions"]
    changes = [body for body in later_bodies if "OfflineConversionAdjustments" in body]
    assert sorted(map(len, later_bodies)) == [1, 1]
    assert len(changes) == 1
    identifying_fields = ("ConversionName", "ConversionTime", "MicrosoftClickId")
    adjustments = changes[0]["OfflineConversionAdjustments"]
    for conversion, adjustment in zip(conversions, adjustments, strict=True):
        assert [adjustment[name] for name in identifying_fields] == [
            conversion[name] for name in identifying_fields
        ]
    assert [(entry["AdjustmentType"], entry.get("AdjustmentValue")) for entry in adjustments] == [
        ("Restate", 70), ("Retract", None),
    ]  # fmt: skip


@pytest.mark.parametrize("is_deleted", [True, False])
def test_changed_while_google_decides(shop: Shop, google: GoogleLedger, is_deleted: bool) -> None:
    """Google refuses the correction. It is sent the change since, but not the same amount again."""
    order = shop.sell("100")
    shop.settle()
    google.refuse = lambda _: True
    shop.refund(order, "10")
    shop.sending.advance(HALF_HOUR)
    shop.sending.run()
    if is_deleted:
        shop.delete(order)
    else:
        shop.refund(order, "5")
    google.refuse = lambda event: event["conversionValue"] == 90
    shop.sending.advance(HALF_HOUR)
    shop.sending.run()
    assert google.amounts == {key(order): 0 if is_deleted else 85}
    shop.settle(3)
    assert [row[1] for row in shop.corrections(order)] == ["refused", "counted"]


@pytest.mark.parametrize("answer", ["accept", "refuse"])
def test_changed_while_it_is_sent(sending: Sending, answer: str) -> None:
    """Whatever the platform answers, the change is sent afterwards."""
    with open_microsoft(sending) as (shop, microsoft):
        order = shop.sell("100")
        sending.run()
        sending.seconds = PATIENCE_SECONDS
        sending.advance(HALF_HOUR)
        shop.refund(order, "10")

        def refund_again() -> str:
            microsoft.react = lambda: "accept"
            shop.refund(order, "5")
            return answer

        microsoft.react = refund_again
        sending.run()
        assert microsoft.amounts == {key(order): 85}
        assert [(row[1], row[3]) for row in shop.corrections(order)] == [
            ("delivered", 90) if answer == "accept" else ("failed", None),
            ("delivered", 85),
        ]


def test_changed_while_the_answer_is_recorded(sending: Sending) -> None:
    """The change and the answer wait for each other, so one of them sees the other."""
    with (
        open_microsoft(sending) as (shop, microsoft),
        psycopg.connect(sending.database_url) as worker,
        ThreadPoolExecutor() as pool,
    ):
        order = shop.sell("100")
        sending.run()
        sending.advance(HALF_HOUR)
        shop.refund(order, "10")
        worker.execute(
            "UPDATE events SET amount = 50 WHERE space_id = %s AND id = %s", (sending.space_id, order)
        )
        queue_corrections(worker, sending.space_id, [order])
        call = pool.submit(sending.run)
        wait_until(lambda: call.done() or is_waited_for(sending.connection, worker))
        worker.commit()
        call.result()
        assert microsoft.amounts == {key(order): 40}
