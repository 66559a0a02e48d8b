"""A conversion as Pinterest's API for Conversions takes it, and the call that carries several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.events.accepted import CUSTOM_NAMES
from headwater.masking import mask_fields
from headwater.platforms.amounts import as_text
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import present, seconds
from headwater.platforms.persons import hashed_person, is_limited, why_never
from headwater.platforms.pinterest.settings import PinterestSettings
from headwater.platforms.platform import mapped_name

EVENT_NAMES = {
    "add_payment_info": "add_payment_info",
    "add_to_cart": "add_to_cart",
    "complete_registration": "signup",
    "contact": "contact",
    "initiate_checkout": "initiate_checkout",
    "lead_generated": "lead",
    "purchase": "checkout",
    "schedule": "schedule",
    "sign_up": "signup",
    "start_trial": "start_trial",
    "submit_application": "submit_application",
    "subscribe": "subscribe",
    "upsell_purchase": "checkout",
    "view_content": "view_content",
    "webinar_registration": "signup",
    **dict.fromkeys(CUSTOM_NAMES, "custom"),
}

_KEPT = frozenset({
    "event_name", "action_source", "event_time", "event_id", "opt_out", "opt_out_type",
    "currency", "value",
})  # fmt: skip
_URLS = frozenset({"event_source_url"})


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:
    """Pinterest needs an e-mail address, or an IP address with its browser."""
    settings: PinterestSettings = destination.settings
    reason = why_never(conversion, settings.consent_denied)
    if reason is not None:
        return reason
    user = _user(conversion)
    if "em" in user or {"client_ip_address", "client_user_agent"} <= user.keys():
        return None
    return SkipReason.NO_IDENTIFIER


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """One element of `data`."""
    settings: PinterestSettings = destination.settings
    amount = conversion.amount
    return present(
        event_name=_name(conversion, destination),
        action_source="web",
        event_time=seconds(conversion),
        event_id=conversion.dedup_id,
        event_source_url=conversion.url,
        opt_out=_opt_out(conversion),
        user_data=_user(conversion),
        custom_data=present(
            currency=conversion.currency if amount is not None else None,
            value=None if amount is None else as_text(amount),
            order_id=conversion.order_id,
            opt_out_type="LDP" if settings.limited_data_processing else None,
        ),
    )


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call."""
    settings: PinterestSettings = destination.settings
    test = "?test=true" if destination.test else ""
    return Call(
        url=f"{destination.url}/{settings.api_version}/ad_accounts/{settings.ad_account_id}"
        f"/events{test}",
        headers={"Authorization": f"Bearer {destination.secrets['access_token']}"},
        body=msgspec.json.encode({"data": list(parts)}),
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, _URLS)


def _opt_out(conversion: Conversion) -> bool | None:
    """None, which leaves the field out, where nobody said."""
    if is_limited(conversion):
        return True
    return False if conversion.consent.ad_user_data else None


def _user(conversion: Conversion) -> dict[str, Any]:
    return present(
        **hashed_person(conversion.person),
        client_ip_address=conversion.ip,
        client_user_agent=conversion.user_agent,
        click_id=conversion.click_id("epik"),
    )


def _name(conversion: Conversion, destination: Destination) -> str:
    name = mapped_name(EVENT_NAMES, destination, conversion, free=False)
    return name or conversion.event_name
