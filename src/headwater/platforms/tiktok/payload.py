"""A conversion as TikTok's Events API takes it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.masking import mask_fields
from headwater.platforms.amounts import as_number
from headwater.platforms.identifiers import (
    google_name,
    hash_in_form,
    hashed,
    phone_with_plus,
    plain_email,
)
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import one, present, seconds
from headwater.platforms.persons import is_limited, why_never
from headwater.platforms.platform import mapped_name
from headwater.platforms.tiktok.currencies import CURRENCIES
from headwater.platforms.tiktok.settings import TikTokSettings

EVENT_NAMES = {
    "add_payment_info": "AddPaymentInfo",
    "add_to_cart": "AddToCart",
    "complete_registration": "CompleteRegistration",
    "contact": "Contact",
    "initiate_checkout": "InitiateCheckout",
    "lead_generated": "Lead",
    "purchase": "Purchase",
    "schedule": "Schedule",
    "sign_up": "CompleteRegistration",
    "start_trial": "StartTrial",
    "submit_application": "SubmitApplication",
    "subscribe": "Subscribe",
    "upsell_purchase": "Purchase",
    "view_content": "ViewContent",
    "webinar_registration": "CompleteRegistration",
}

_TELLING = ("email", "phone", "external_id", "ttclid", "ttp")
_KEPT = frozenset({"event", "event_time", "event_id", "currency", "value", "limited_data_use"})
_URLS = frozenset({"url"})


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:
    """Why TikTok cannot take it."""
    settings: TikTokSettings = destination.settings
    reason = why_never(conversion, settings.consent_denied)
    if reason is not None:
        return reason
    user = _user(conversion)
    if not (any(name in user for name in _TELLING) or {"ip", "user_agent"} <= user.keys()):
        return SkipReason.NO_IDENTIFIER
    return None


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """One element of `data`."""
    return present(
        event=mapped_name(EVENT_NAMES, destination, conversion, free=True),
        event_time=seconds(conversion),
        event_id=conversion.dedup_id,
        user=_user(conversion),
        properties=_properties(conversion),
        page=present(url=conversion.url),
        limited_data_use=_limited_data_use(conversion, destination.settings) or None,
    )


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call. A header holds the token."""
    settings: TikTokSettings = destination.settings
    body: dict[str, Any] = {
        "event_source": "web",
        "event_source_id": settings.pixel_code,
        "data": parts,
    }
    if destination.test and settings.test_event_code:
        body["test_event_code"] = settings.test_event_code
    return Call(
        url=f"{destination.url}/open_api/{settings.api_version}/event/track/",
        headers={"Access-Token": destination.secrets["access_token"]},
        body=msgspec.json.encode(body),
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, _URLS)


def why_no_trial(destination: Destination) -> str | None:
    """Without the code a trial would be a conversion."""
    if destination.settings.test_event_code:
        return None
    return "Set test_event_code first (Events Manager, Test events): without it a trial counts."


def _user(conversion: Conversion) -> dict[str, Any]:
    person = conversion.person
    return present(
        email=one(hash_in_form(person.email, plain_email)),
        phone=one(hash_in_form(person.phone, phone_with_plus)),
        external_id=one(hashed(person.external_id) if person.external_id else None),
        first_name=hash_in_form(person.first_name, google_name),
        last_name=hash_in_form(person.last_name, google_name),
        city=google_name(person.city or ""),
        state=google_name(person.state or ""),
        country=google_name(person.country or ""),
        ttclid=conversion.click_id("ttclid"),
        ttp=conversion.cookie("ttp"),
        ip=conversion.ip,
        user_agent=conversion.user_agent,
    )


def _properties(conversion: Conversion) -> dict[str, Any]:
    # A value in a currency TikTok does not know has the whole call refused; in another currency it
    # would be a wrong one.
    counted = conversion.amount if conversion.currency in CURRENCIES else None
    return present(
        currency=None if counted is None else conversion.currency,
        value=None if counted is None else as_number(counted),
        order_id=conversion.order_id,
    )


def _limited_data_use(conversion: Conversion, settings: TikTokSettings) -> bool:
    return settings.limited_data_use == "always" or is_limited(conversion)
