"""Payloads of ad platforms: pure Python on one core, from all data of a purchase to the body of a full
call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal

import msgspec

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.platforms.models import AdConsent, Click, Conversion, ConvertedPerson, Destination
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS

PURCHASES = 10_000
AT = 1_795_169_730_000
CLICK_IDS = ("fbclid", "gclid", "ttclid", "li_fat_id", "epik", "sccid", "rdt_cid", "msclkid")


def measure(print_line: Callable[..., None]) -> None:
    """Print the part of the table on payloads."""
    print_line("Payloads of ad platforms, purchases/s on one core")
    print_line("platform", "built", "in calls", "bytes each")
    purchases = [_purchase(number) for number in range(PURCHASES)]
    for platform in PLATFORMS.values():
        destination = _destination(platform)
        start = time.perf_counter()
        parts = [platform.build(purchase, destination) for purchase in purchases]
        build_seconds = time.perf_counter() - start
        size = sum(
            len(platform.request(parts[first : first + platform.limits.batch], destination).body)
            for first in range(0, PURCHASES, platform.limits.batch)
        )
        total_seconds = time.perf_counter() - start
        rates = (f"{PURCHASES / seconds:,.0f}" for seconds in (build_seconds, total_seconds))
        print_line(platform.title, *rates, size // PURCHASES)


def _purchase(number: int) -> Conversion:
    return Conversion(
        event_id=number,
        dedup_id=f"order-{number}",
        event_name="purchase",
        event_time=AT,
        person=ConvertedPerson(
            email=f"buyer.{number}@gmail.com",
            phone=f"+1650{number:07}",
            first_name="Mary",
            last_name="Valéry",
            external_id=f"cust-{number}",
            country="US",
        ),
        amount=Decimal("149.9"),
        currency="USD",
        order_id=str(number),
        url=f"https://shop.example/thanks/{number}",
        ip="203.0.113.9",
        user_agent="Mozilla/5.0 (X11; Linux x86_64) ExampleBrowser/1.0",
        consent=AdConsent(ad_user_data=True, ad_personalization=True),
        click=Click(
            touchpoint_id=number,
            occurred_at=AT - 86_400_000,
            source="facebook_ads",
            ids={name: f"{name}-{number}" for name in CLICK_IDS},
        ),
    )


def _destination(platform: Platform) -> Destination:
    """Return a destination with its platform's required settings."""
    required_settings = (setting for setting in msgspec.structs.fields(platform.settings) if setting.required)
    settings = dict.fromkeys((setting.name for setting in required_settings), "1234567890")
    return Destination(
        space_id=1,
        id=1,
        platform=platform.name,
        url=platform.url,
        settings=msgspec.convert(settings, platform.settings),
        secrets=dict.fromkeys(platform.secrets, "secret"),
        event_names={} if platform.event_names else dict.fromkeys(EVENT_NAMES, "1234567890"),
        access_token="token",
    )
