"""Orders that change while Google decides late, never or again on what it was sent."""

from __future__ import annotations

import pytest

from tests.deliveries.google_ledger import DAY, NAMES, SETTINGS, GoogleLedger, Shop, key
from tests.deliveries.google_ledger import google as google  # noqa: PLC0414 # a fixture
from tests.deliveries.google_ledger import shop as shop  # noqa: PLC0414 # a fixture


@pytest.mark.parametrize("is_deleted", [True, False])
def test_changed_while_a_correction_waits(shop: Shop, google: GoogleLedger, is_deleted: bool) -> None:
    """The change is sent when the verdict on the former correction is given up."""
    order = shop.sell("100")
    shop.settle()
    google.is_deciding = False
    shop.refund(order, "10")
    shop.settle()
    if is_deleted:
        shop.delete(order)
    else:
        shop.refund(order, "5")
    for _ in range(16):
        shop.sending.advance(DAY + 1)
        shop.sending.run()
    assert google.amounts == {key(order): 0 if is_deleted else 85}
    assert [row[1] for row in shop.corrections(order)] == ["delivered", "delivered"]


def test_another_destination_is_not_sent_a_refused_value_again(shop: Shop, google: GoogleLedger) -> None:
    """The other destination's late verdict has nothing to do with it."""
    order, other = shop.sell("100"), shop.sending.destination(settings=SETTINGS, event_names=NAMES)
    shop.sending.delivery(other, order)
    shop.settle()
    google.refuse = lambda _: True
    shop.refund(order, "10")
    shop.settle()
    google.refuse, google.is_deciding = lambda _: False, False
    shop.sending.connection.execute(
        "UPDATE deliveries SET status = 'queued' WHERE destination_id = %s AND kind = 'correction'",
        (shop.destination,),
    )
    shop.settle()
    google.refuse, google.is_deciding = lambda _: True, True
    shop.refund(order, "5")
    shop.settle()
    google.refuse = lambda _: False
    shop.sending.advance(DAY)
    shop.settle(2)
    assert sorted((number, status) for number, status, *_ in shop.corrections(order)) == [
        (1, "counted"), (1, "refused"), (2, "counted"), (2, "refused"),
    ]  # fmt: skip


def test_a_sale_sent_again_before_its_correction(shop: Shop, google: GoogleLedger) -> None:
    """Until it is accepted again, the platform is not known to have anything that could be corrected."""
    order = shop.sell("100")
    shop.settle()
    shop.refund(order, "10")
    shop.sending.connection.execute(
        "UPDATE deliveries SET status = 'queued', finished_at = NULL, platform_request_id = NULL"
        " WHERE space_id = %s AND kind = 'conversion'",
        (shop.sending.space_id,),
    )
    shop.settle(2)
    assert google.amounts == {key(order): 90}
    assert shop.corrections(order) == [(1, "skipped", "same_amount", None), (2, "counted", None, 90)]
