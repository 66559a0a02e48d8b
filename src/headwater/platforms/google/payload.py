"""A conversion as Google's Data Manager API takes it. Pure.

A part is an event with the conversion action it is for as its only destination reference. A call
lists the actions of its parts as destinations; where there is one only, events need not name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.masking import mask_fields
from headwater.platforms.amounts import as_number
from headwater.platforms.google.settings import GoogleSettings
from headwater.platforms.identifiers import google_email, hash_in_form, phone_with_plus
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import present
from headwater.platforms.persons import is_refused, why_never
from headwater.platforms.platform import mapped_name

MOST_ACTIONS = 10
"""Destinations in one call."""

_CLICK_IDS = ("gclid", "gbraid", "wbraid")
_KEPT = frozenset({
    "transactionId", "eventTimestamp", "eventSource", "currency", "conversionValue",
    "adUserData", "adPersonalization", "destinationReferences",
})  # fmt: skip


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:
    """Why Google cannot take it."""
    settings: GoogleSettings = destination.settings
    denied = is_refused(conversion)
    reason = why_never(conversion, settings.consent_denied)
    if reason is not None:
        return reason
    if _click(conversion):
        return None
    if denied:
        return SkipReason.NO_CONSENT
    return None if _identifiers(conversion) else SkipReason.NO_IDENTIFIER


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """An event, with the conversion action it is for."""
    settings: GoogleSettings = destination.settings
    action = mapped_name({}, destination, conversion, free=False)
    amount, consent = conversion.amount, conversion.consent
    return present(
        destinationReferences=[action] if action else None,
        transactionId=conversion.dedup_id,
        eventTimestamp=_timestamp(conversion.event_time),
        eventSource=settings.event_source,
        adIdentifiers=_click(conversion),
        userData=None
        if is_refused(conversion)
        else present(userIdentifiers=_identifiers(conversion)),
        currency=None if amount is None else conversion.currency,
        conversionValue=None if amount is None else as_number(amount),
        consent=present(
            adUserData=_consent(consent.ad_user_data),
            adPersonalization=_consent(consent.ad_personalization),
        ),
    )


def fits(parts: Sequence[dict[str, Any]]) -> int:
    """As many of the first parts as have no more conversion actions than a call can name."""
    actions: set[str] = set()
    for position, part in enumerate(parts):
        actions.update(part["destinationReferences"])
        if len(actions) > MOST_ACTIONS:
            return position
    return len(parts)


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call. A header holds the token."""
    settings: GoogleSettings = destination.settings
    actions = list(dict.fromkeys(name for part in parts for name in part["destinationReferences"]))
    several = len(actions) > 1
    body = {
        "destinations": [_destination(action, settings, named=several) for action in actions],
        "encoding": "HEX",
        "validateOnly": destination.test,
        "events": parts if several else [_unaddressed(part) for part in parts],
    }
    return Call(
        url=f"{destination.url}/{settings.api_version}/events:ingest",
        headers={"Authorization": f"Bearer {destination.access_token}"},
        body=msgspec.json.encode(body),
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, frozenset())


def _destination(action: str, settings: GoogleSettings, *, named: bool) -> dict[str, Any]:
    return present(
        reference=action if named else None,
        operatingAccount=_account(settings.customer_id),
        loginAccount=_account(settings.login_customer_id) if settings.login_customer_id else None,
        productDestinationId=action,
    )


def _account(customer_id: str) -> dict[str, str]:
    return {"accountType": "GOOGLE_ADS", "accountId": customer_id}


def _unaddressed(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != "destinationReferences"}


def _click(conversion: Conversion) -> dict[str, str]:
    """One click id: of the credited touchpoint before the event's own URL, and the most exact."""
    credited = conversion.click.ids if conversion.click is not None else {}
    for ids in (credited, conversion.url_click_ids):
        for name in _CLICK_IDS:
            if ids.get(name):
                return {name: ids[name]}
    return {}


def _identifiers(conversion: Conversion) -> list[dict[str, str]]:
    # An address counts only with a postal code, which is not known, so names are of no use.
    email = hash_in_form(conversion.person.email, google_email)
    phone = hash_in_form(conversion.person.phone, phone_with_plus)
    return [
        identifier
        for identifier in (present(emailAddress=email), present(phoneNumber=phone))
        if identifier
    ]


def _consent(given: bool | None) -> str | None:
    if given is None:
        return None
    return "CONSENT_GRANTED" if given else "CONSENT_DENIED"


def _timestamp(milliseconds: int) -> str:
    whole, rest = divmod(milliseconds, 1000)
    fraction = f".{rest:03}" if rest else ""
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}{fraction}Z"
