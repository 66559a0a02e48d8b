"""A completed test of a sample site: the page view, the login and the order of one visit. The page does not
exist.
"""

from __future__ import annotations

from datetime import UTC, datetime

from headwater.alerts.site_tests.site_test import fetch_test, start_test
from headwater.base.settings import Settings
from headwater.demo.client import ApiClient
from headwater.demo.shops import Shop
from headwater.demo.visits import TrackerClient, make_item
from headwater.operations.terminal.connection import transaction
from headwater.spaces.sites.sites import Site

_TESTER = "tester@nordlicht-outdoor.example"


async def begin_test(settings: Settings, space_id: int, site: Site, url: str) -> str | None:
    """Return the click id; None if there was a test before."""
    async with transaction(settings) as connection:
        if await fetch_test(connection, space_id, site.id) is not None:
            return None
        test = await start_test(connection, space_id, site, url)
    return test.click_id


def walk_through(tracker: TrackerClient, api: ApiClient, shop: Shop, click_id: str) -> None:
    """Open the link, log in and order. Events from another address than the site's are refused."""
    current_time, page = datetime.now(UTC), f"{shop.origin}/?gclid={click_id}"
    tracker.report(
        shop.origin,
        click_id,
        [
            make_item("page", click_id, current_time, url=page),
            make_item("identify", f"{click_id}/login", current_time, email=_TESTER),
        ],
    )
    api.post(
        "/events/track",
        {
            "event_name": "purchase",
            "email": _TESTER,
            "trk_token": click_id,
            "amount": 1,
            "order_id": "test-order-1",
            "idempotency_key": "sample-test-order",
        },
    )
    staging_url = f"https://staging.{shop.domain}"
    tracker.report(
        staging_url, click_id, [make_item("page", staging_url, current_time, url=f"{staging_url}/")]
    )
