"""A conversion as Microsoft's UET Conversions API takes it, and the call that carries several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.events.accepted import STANDARD_NAMES
from headwater.masking import mask_fields
from headwater.platforms.amounts import as_number
from headwater.platforms.identifiers import (
    hash_in_form,
    phone_digits,
    phone_with_plus,
    plain_email,
)
from headwater.platforms.microsoft.settings import MicrosoftSettings
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import present, seconds
from headwater.platforms.persons import is_limited, why_never
from headwater.platforms.platform import mapped_name

PAGE_LOAD = "pageLoad"
EVENT_NAMES = {name: name for name in STANDARD_NAMES} | {"view_content": PAGE_LOAD}

_PAGE_TYPES = {
    "add_to_cart": "cart",
    "initiate_checkout": "cart",
    "purchase": "purchase",
    "upsell_purchase": "purchase",
}

_KEPT = frozenset({
    "eventType", "eventName", "eventTime", "eventId", "adStorageConsent", "value", "currency",
    "pageType",
})  # fmt: skip
_URLS = frozenset({"eventSourceUrl"})


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:
    """Microsoft needs a click, an e-mail address, a phone number or an id of the person; an IP
    address with its browser is not enough.
    """
    settings: MicrosoftSettings = destination.settings
    reason = why_never(conversion, settings.consent_denied)
    if reason is not None:
        return reason
    user = _user(conversion, settings)
    return None if user.keys() & {"msclkid", "em", "ph", "externalId"} else SkipReason.NO_IDENTIFIER


def why_no_trial(_: Destination) -> str | None:
    """Nothing tells Microsoft that an event is a trial."""
    return "Microsoft Advertising has no test mode: a trial counts as a conversion."


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """One element of `data`."""
    amount = conversion.amount
    return present(
        **_event(conversion, destination),
        eventTime=seconds(conversion),
        eventId=conversion.dedup_id,
        eventSourceUrl=conversion.url,
        adStorageConsent=_consent(conversion),
        userData=_user(conversion, destination.settings),
        customData=present(
            value=None if amount is None else as_number(amount),
            currency=conversion.currency if amount is not None else None,
            transactionId=conversion.order_id,
            pageType=_PAGE_TYPES.get(conversion.event_name),
        ),
    )


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call."""
    settings: MicrosoftSettings = destination.settings
    # Of one event alone there is nothing to continue with.
    going_on = settings.continue_on_validation_error and len(parts) > 1
    return Call(
        url=f"{destination.url}/{settings.api_version}/{settings.tag_id}/events",
        headers={"Authorization": f"Bearer {destination.secrets['access_token']}"},
        body=msgspec.json.encode(
            present(data=list(parts), continueOnValidationError=going_on or None)
        ),
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, _URLS)


def _event(conversion: Conversion, destination: Destination) -> dict[str, str]:
    """Its type and name. A page load has no name, and is none without the page."""
    name = _name(conversion, destination)
    if name == PAGE_LOAD and conversion.url:
        return {"eventType": PAGE_LOAD}
    named = conversion.event_name if name == PAGE_LOAD else name
    return {"eventType": "custom", "eventName": named}


def _consent(conversion: Conversion) -> str | None:
    """None, which leaves the field out, where nobody said."""
    if is_limited(conversion):
        return "D"
    return "G" if conversion.consent.ad_user_data else None


def _user(conversion: Conversion, settings: MicrosoftSettings) -> dict[str, Any]:
    person = conversion.person
    email_form = canonical_email if settings.email_form == "canonical" else plain_email
    phone_form = phone_with_plus if settings.phone_form == "e164" else phone_digits
    return present(
        em=hash_in_form(person.email, email_form),
        ph=hash_in_form(person.phone, phone_form),
        msclkid=conversion.click_id("msclkid"),
        externalId=_external_id(person.external_id),
        clientIpAddress=conversion.ip,
        clientUserAgent=conversion.user_agent,
    )


def canonical_email(text: str) -> str | None:
    """As plain, of whatever domain without dots and without `+…` before the @."""
    if (address := plain_email(text)) is None:
        return None
    user, _, domain = address.rpartition("@")
    box = user.partition("+")[0].replace(".", "")
    return f"{box}@{domain}" if box else None


def _external_id(text: str | None) -> str | None:
    """The id in clear, as Microsoft takes it: so not one that is an e-mail address."""
    return None if text is None or "@" in text else text


def _name(conversion: Conversion, destination: Destination) -> str:
    name = mapped_name(EVENT_NAMES, destination, conversion, free=True)
    return name or conversion.event_name
