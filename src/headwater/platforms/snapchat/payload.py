"""A conversion as Snap's Conversions API v3 takes it, and the call that carries several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.events.accepted import CUSTOM_NAMES
from headwater.masking import mask_fields
from headwater.platforms.amounts import as_text
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import present, seconds
from headwater.platforms.persons import hashed_person, is_limited, why_never
from headwater.platforms.platform import mapped_name
from headwater.platforms.snapchat.settings import SnapchatSettings

CUSTOM_EVENTS = 5
"""How many custom events Snap has."""

EVENT_NAMES = {
    "add_payment_info": "ADD_BILLING",
    "add_to_cart": "ADD_CART",
    "complete_registration": "SIGN_UP",
    "contact": "CUSTOM_EVENT_1",
    "initiate_checkout": "START_CHECKOUT",
    "lead_generated": "CUSTOM_EVENT_2",
    "purchase": "PURCHASE",
    "schedule": "RESERVE",
    "sign_up": "SIGN_UP",
    "start_trial": "START_TRIAL",
    "submit_application": "CUSTOM_EVENT_3",
    "subscribe": "SUBSCRIBE",
    "upsell_purchase": "PURCHASE",
    "view_content": "VIEW_CONTENT",
    "webinar_registration": "SIGN_UP",
    **{name: name.upper() for name in CUSTOM_NAMES[:CUSTOM_EVENTS]},
}

_KEPT = frozenset({
    "event_name", "event_time", "event_id", "action_source", "currency", "value",
    "data_processing_options", "data_processing_options_country", "data_processing_options_state",
})  # fmt: skip
_URLS = frozenset({"event_source_url"})


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:
    """Snap needs an e-mail address, a phone number, or an IP address with its browser."""
    settings: SnapchatSettings = destination.settings
    reason = why_never(conversion, settings.consent_denied)
    if reason is not None:
        return reason
    user = _user(conversion)
    if user.keys() & {"em", "ph"} or {"client_ip_address", "client_user_agent"} <= user.keys():
        return None
    return SkipReason.NO_IDENTIFIER


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """One element of `data`."""
    settings: SnapchatSettings = destination.settings
    amount = conversion.amount
    return present(
        event_name=_name(conversion, destination),
        event_time=seconds(conversion),
        event_id=conversion.dedup_id,
        event_source_url=conversion.url,
        action_source="WEB",
        user_data=_user(conversion),
        custom_data=present(
            currency=conversion.currency if amount is not None else None,
            value=None if amount is None else as_text(amount),
            order_id=conversion.order_id,
        ),
        **_limits(conversion, settings),
    )


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call. Its URL holds the token."""
    settings: SnapchatSettings = destination.settings
    token = quote(destination.secrets["access_token"], safe="")
    validate = "/validate" if destination.test else ""
    return Call(
        url=f"{destination.url}/{settings.api_version}/{settings.pixel_id}/events{validate}"
        f"?access_token={token}",
        body=msgspec.json.encode({"data": list(parts)}),
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, _URLS)


def _user(conversion: Conversion) -> dict[str, Any]:
    return present(
        **hashed_person(conversion.person),
        client_ip_address=conversion.ip,
        client_user_agent=conversion.user_agent,
        sc_click_id=conversion.click_id("sccid"),
        sc_cookie1=conversion.cookie("scid"),
    )


def _limits(conversion: Conversion, settings: SnapchatSettings) -> dict[str, Any]:
    if settings.limited_data_use == "denied" and not is_limited(conversion):
        return {}
    return {
        "data_processing_options": [settings.limited_data_use_option],
        "data_processing_options_country": settings.limited_data_use_country,
        "data_processing_options_state": settings.limited_data_use_state,
    }


def _name(conversion: Conversion, destination: Destination) -> str:
    name = mapped_name(EVENT_NAMES, destination, conversion, free=False)
    return name or conversion.event_name
