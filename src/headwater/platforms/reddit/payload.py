"""A conversion as Reddit's Conversions API v3 takes it, and the call that carries several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.events.accepted import CUSTOM_NAMES
from headwater.masking import mask_fields
from headwater.platforms.amounts import as_number
from headwater.platforms.identifiers import (
    hash_in_form,
    hashed,
    phone_with_plus,
    reddit_email,
)
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import present
from headwater.platforms.persons import is_limited, why_never
from headwater.platforms.platform import mapped_name
from headwater.platforms.reddit.settings import RedditSettings

CUSTOM = "CUSTOM"
TRACKING_TYPES = frozenset({
    "PAGE_VISIT", "VIEW_CONTENT", "SEARCH", "ADD_TO_CART", "ADD_TO_WISHLIST", "PURCHASE", "LEAD",
    "SIGN_UP",
})  # fmt: skip
EVENT_NAMES = {
    "add_payment_info": CUSTOM,
    "add_to_cart": "ADD_TO_CART",
    "complete_registration": "SIGN_UP",
    "contact": CUSTOM,
    "initiate_checkout": CUSTOM,
    "lead_generated": "LEAD",
    "purchase": "PURCHASE",
    "schedule": CUSTOM,
    "sign_up": "SIGN_UP",
    "start_trial": CUSTOM,
    "submit_application": CUSTOM,
    "subscribe": CUSTOM,
    "upsell_purchase": "PURCHASE",
    "view_content": "VIEW_CONTENT",
    "webinar_registration": "SIGN_UP",
    **dict.fromkeys(CUSTOM_NAMES, CUSTOM),
}

_LONGEST_CUSTOM_NAME = 64

_KEPT = frozenset({
    "event_at", "action_source", "tracking_type", "custom_event_name", "conversion_id",
    "currency", "value", "modes", "country", "region",
})  # fmt: skip
_URLS = frozenset({"event_source_url"})


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:
    """Reddit needs one thing to match by; an IP address counts together with its browser."""
    settings: RedditSettings = destination.settings
    reason = why_never(conversion, settings.consent_denied)
    if reason is not None:
        return reason
    user = _user(conversion, settings)
    if conversion.click_id("rdt_cid") or user.keys() & {
        "email", "phone_number", "external_id", "uuid"
    }:  # fmt: skip
        return None
    return None if {"ip_address", "user_agent"} <= user.keys() else SkipReason.NO_IDENTIFIER


def why_no_trial(destination: Destination) -> str | None:
    """Without the id a trial would be a conversion."""
    if destination.settings.test_id:
        return None
    return "Set test_id first (Events Manager, Event Testing): without it a trial counts."


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """One element of `data.events`."""
    settings: RedditSettings = destination.settings
    user = {**_user(conversion, settings), **_limits(conversion, settings)}
    return present(
        event_at=conversion.event_time,
        action_source="WEBSITE",
        event_source_url=conversion.url,
        click_id=conversion.click_id("rdt_cid"),
        type=_type(_name(conversion, destination), conversion),
        user=user,
        metadata=present(
            conversion_id=conversion.dedup_id,
            currency=conversion.currency if conversion.amount is not None else None,
            value=None if conversion.amount is None else as_number(conversion.amount),
        ),
    )


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call."""
    settings: RedditSettings = destination.settings
    test_id = settings.test_id if destination.test else None
    return Call(
        url=f"{destination.url}/api/{settings.api_version}/pixels/{settings.pixel_id}"
        "/conversion_events",
        headers={"Authorization": f"Bearer {destination.secrets['access_token']}"},
        body=msgspec.json.encode({"data": present(events=list(parts), test_id=test_id)}),
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, _URLS)


def _type(name: str, conversion: Conversion) -> dict[str, str]:
    if name in TRACKING_TYPES:
        return {"tracking_type": name}
    custom = conversion.configured_name or conversion.event_name if name == CUSTOM else name
    return {"tracking_type": CUSTOM, "custom_event_name": custom[:_LONGEST_CUSTOM_NAME]}


def _user(conversion: Conversion, settings: RedditSettings) -> dict[str, Any]:
    person, ip = conversion.person, conversion.ip
    return present(
        email=hash_in_form(person.email, reddit_email),
        phone_number=hash_in_form(person.phone, phone_with_plus),
        external_id=hashed(person.external_id) if person.external_id else None,
        ip_address=hashed(ip) if ip and settings.hash_ip else ip,
        user_agent=conversion.user_agent,
        uuid=conversion.cookie("rdt_uuid"),
    )


def _limits(conversion: Conversion, settings: RedditSettings) -> dict[str, Any]:
    if settings.limited_data_use == "denied" and not is_limited(conversion):
        return {}
    country = settings.limited_data_use_country or conversion.person.country
    region = settings.limited_data_use_region
    return {"data_processing_options": present(modes=["LDU"], country=country, region=region)}


def _name(conversion: Conversion, destination: Destination) -> str:
    name = mapped_name(EVENT_NAMES, destination, conversion, free=False)
    return name or conversion.event_name
