"""A purchase with all its details, the call expected by each platform, and helpers to read calls and redacted
parts.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.identifiers import hash_text, read_phone
from headwater.forwarding.platforms.models import AdConsent, Click, Conversion, ConvertedPerson, Destination
from headwater.forwarding.platforms.platform import Platform

FILE = Path(__file__).parent.parent / "data" / "ad_platform_examples.json"
EXAMPLES: dict[str, Any] = json.loads(FILE.read_text())
INPUT, CONTEXT = EXAMPLES["_input"], EXAMPLES["_context"]
EVENT_TIME = 1_795_169_730_000

CONVERSION = Conversion(
    event_id=7,
    dedup_id=INPUT["idempotency_key"],
    event_name=INPUT["event_name"],
    event_time=EVENT_TIME,
    person=ConvertedPerson(
        email=INPUT["email"].strip().lower(),
        phone=read_phone(INPUT["phone"], CONTEXT["default_region"]),
        first_name=INPUT["first_name"],
        last_name=INPUT["last_name"],
        external_id=INPUT["tracking_id"],
    ),
    amount=Decimal("149.9000"),
    currency=CONTEXT["currency"],
    order_id=INPUT["order_id"],
    url=INPUT["url"],
    ip=INPUT["ip"],
    user_agent=INPUT["user_agent"],
    consent=AdConsent(ad_user_data=True, ad_personalization=True),
    cookies={name.lstrip("_"): value for name, value in CONTEXT["cookies"].items()},
    click=Click(
        touchpoint_id=1,
        occurred_at=CONTEXT["click_time_ms"],
        source="facebook_ads",
        ids={name.lower(): value for name, value in CONTEXT["click_ids"].items()},
    ),
)
BARE = Conversion(event_id=8, dedup_id="e1", event_name="lead_generated", event_time=EVENT_TIME)
"""A conversion without a person or other details."""


def make_conversion(conversion: Conversion = CONVERSION, **changes: Any) -> Conversion:
    return msgspec.structs.replace(conversion, **changes)


def destination(platform: Platform, settings: dict[str, Any], **fields: Any) -> Destination:
    """Return a destination of the platform, with its settings validated."""
    return Destination(
        space_id=1,
        id=2,
        platform=platform.name,
        url=platform.url,
        settings=msgspec.convert(settings, platform.settings),
        **fields,
    )


def call_for(platform: Platform, destination: Destination, *conversions: Conversion) -> EgressRequest:
    return platform.request(
        [platform.build(conversion, destination) for conversion in conversions], destination
    )


def example_call(call: EgressRequest) -> dict[str, Any]:
    """Return a call in the format of the examples file."""
    parts = urlsplit(call.url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return {
        "method": "POST",
        "url": f"{parts.scheme}://{parts.netloc}{parts.path}",
        **({"query": query} if query else {}),
        **({"headers": call.headers} if call.headers else {}),
        "body": json.loads(call.body),
    }


def answer(status: int, body: object = None, **fields: Any) -> EgressResponse:
    """Return an answer with a JSON body, raw bytes or an empty body."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return EgressResponse(status=status, body=raw, **fields)


def stranger_example(number: str) -> tuple[Conversion, list[str]]:
    """Return a conversion whose identifying values all contain `number`, and these values in clear and
    hashed.
    """
    digits = str(int(number, 16))[:9].rjust(9, "7")
    plain = {
        "email": f"{number}@example.com",
        "phone": f"+4930{digits}",
        "first_name": f"first{number}",
        "last_name": f"last{number}",
        "external_id": f"ext-{number}",
        "city": f"city{number}",
        "state": f"state{number}",
    }
    ids = {name: f"id.{name}.{number}" for name in CONVERSION.click.ids}  # type: ignore[union-attr]
    cookies = dict.fromkeys(CONVERSION.cookies, f"fb.1.1795080000000.{number}")
    conversion = make_conversion(
        person=ConvertedPerson(**plain, country="DE"),
        ip=f"2001:db8::{number[:4]}:{number[4:8]}",
        user_agent=f"Browser/{number}",
        url=f"https://user:{number}@shop.example/thanks?email={number}@example.com#{number}",
        order_id=f"order-{number}",
        cookies={**cookies, "fbc": f"fb.1.1795090000123.{number}"},
        click=msgspec.structs.replace(CONVERSION.click, ids=ids),
    )
    return conversion, [
        number,
        digits,
        conversion.ip or "",
        *(hash_text(value) for value in (*plain.values(), plain["phone"][1:], "de")),
    ]
