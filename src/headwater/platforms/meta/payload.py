"""A conversion as the Meta Conversions API takes it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.masking import mask_fields
from headwater.platforms.amounts import as_number
from headwater.platforms.meta.settings import MetaSettings
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import present, seconds
from headwater.platforms.persons import hashed_person, is_limited, why_never
from headwater.platforms.platform import mapped_name

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

CLICK_LIFE = 90 * 86_400_000
"""Milliseconds after which Meta does not take a click id any more."""

_NEEDS_AMOUNT = "Purchase"
# Each of these alone may tell who somebody is; a user agent or a country does not.
_TELLING = ("em", "ph", "external_id", "client_ip_address", "fbc", "fbp")
_COOKIE = re.compile(r"fb\.[0-9]\.([0-9]{10,13})\..+", re.DOTALL)
_KEPT = frozenset({
    "event_name", "event_time", "event_id", "action_source", "currency", "value",
    "data_processing_options", "data_processing_options_country", "data_processing_options_state",
})  # fmt: skip
_URLS = frozenset({"event_source_url"})


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:
    """Why Meta cannot take it."""
    settings: MetaSettings = destination.settings
    reason = why_never(conversion, settings.consent_denied)
    if reason is not None:
        return reason
    name = mapped_name(EVENT_NAMES, destination, conversion, free=True)
    if conversion.amount is None and name == _NEEDS_AMOUNT:
        return SkipReason.NO_AMOUNT
    user = _user_data(conversion)
    if not (any(name in user for name in _TELLING) or {"fn", "ln"} <= user.keys()):
        return SkipReason.NO_IDENTIFIER
    return None


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """One element of `data`."""
    return present(
        event_name=mapped_name(EVENT_NAMES, destination, conversion, free=True),
        event_time=seconds(conversion),
        event_id=conversion.dedup_id,
        # What happened on a page has both; what a server did alone, such as a renewal, has not.
        action_source="website" if conversion.url and conversion.user_agent else "system_generated",
        event_source_url=conversion.url,
        user_data=_user_data(conversion),
        custom_data=_custom_data(conversion),
    ) | _limited_data_use(conversion, destination.settings)


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call. Its URL holds the token."""
    settings: MetaSettings = destination.settings
    body: dict[str, Any] = {"data": parts}
    if destination.test and settings.test_event_code:
        body["test_event_code"] = settings.test_event_code
    token = quote(destination.secrets["access_token"], safe="")
    path = f"{settings.api_version}/{settings.pixel_id}/events"
    return Call(
        url=f"{destination.url}/{path}?access_token={token}", body=msgspec.json.encode(body)
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, _URLS)


def why_no_trial(destination: Destination) -> str | None:
    """Without the code a trial would be a conversion."""
    if destination.settings.test_event_code:
        return None
    return "Set test_event_code first (Events Manager, Test events): without it a trial counts."


def _user_data(conversion: Conversion) -> dict[str, Any]:
    return hashed_person(conversion.person) | present(
        client_ip_address=conversion.ip,
        client_user_agent=conversion.user_agent,
        fbc=_fbc(conversion),
        fbp=conversion.cookie("fbp"),
    )


def _custom_data(conversion: Conversion) -> dict[str, Any]:
    amount = conversion.amount
    return present(
        currency=None if amount is None else conversion.currency,
        value=None if amount is None else as_number(amount),
        order_id=conversion.order_id,
    )


def _limited_data_use(conversion: Conversion, settings: MetaSettings) -> dict[str, Any]:
    if settings.limited_data_use != "always" and not is_limited(conversion):
        return {}
    return {
        "data_processing_options": ["LDU"],
        "data_processing_options_country": settings.data_processing_country,
        "data_processing_options_state": settings.data_processing_state,
    }


def _fbc(conversion: Conversion) -> str | None:
    """The click as Meta's own cookie has it, else put together from the click id and the time of
    the click. A click id is kept byte for byte and never dated anew.
    """
    cookie = conversion.cookie("fbc")
    found = _COOKIE.fullmatch(cookie) if cookie else None
    if found and _in_time(int(found[1].ljust(13, "0")), conversion):
        return cookie
    click = conversion.click
    if click is not None and (id_ := click.ids.get("fbclid")):
        clicked_at = click.occurred_at
    elif id_ := conversion.url_click_ids.get("fbclid"):
        # Nobody saw the click itself; the event is the first that is known of it.
        clicked_at = conversion.event_time
    else:
        return None
    return f"fb.1.{clicked_at}.{id_}" if _in_time(clicked_at, conversion) else None


def _in_time(clicked_at: int, conversion: Conversion) -> bool:
    return 0 <= conversion.event_time - clicked_at <= CLICK_LIFE
