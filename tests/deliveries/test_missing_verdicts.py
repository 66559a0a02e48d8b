"""Orders that change while Google never decides on what it was sent."""

from __future__ import annotations

import pytest

from tests.deliveries.google_ledger import DAY, GoogleLedger, Shop, key
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
