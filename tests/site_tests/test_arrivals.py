"""What arrived since a site test began: its orders are those that reports count."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg

from headwater.alerts.site_tests.arrivals import read_arrivals
from headwater.alerts.site_tests.models import SiteTest
from tests.support.accounts import Accounts
from tests.support.factories import Stage

ORIGIN = "https://shop.example"


def test_it_works(connection: psycopg.Connection, database_url: str, space_id: int) -> None:
    stage, accounts = Stage(connection, space_id, ""), Accounts(database_url)
    contact = stage.contact()
    earlier_id = stage.event(contact, amount="20")
    order_ids = [stage.event(contact, amount="30"), stage.event(contact, amount=None)]
    stage.event(contact, amount="-5")
    stage.event(contact, amount="9", is_upsell=True)
    stage.event(contact, amount="9", event_name="upsell_purchase")
    stage.event(contact, amount="9", event_name="sign_up")
    stage.event(contact, amount="40", sender="import")
    site_test = SiteTest(f"{ORIGIN}/", "click", datetime.now(UTC), earlier_id, None)
    arrivals = accounts.run(lambda c: read_arrivals(c, space_id, [ORIGIN], site_test))
    assert [order.event_id for order in arrivals.orders] == order_ids
