"""A conversion as LinkedIn's Conversions API takes it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.masking import mask_fields
from headwater.platforms.amounts import as_text
from headwater.platforms.identifiers import hash_in_form, plain_email
from headwater.platforms.linkedin.settings import LinkedInSettings
from headwater.platforms.models import Call, Conversion, Destination, SkipReason
from headwater.platforms.payload_parts import one, present
from headwater.platforms.persons import why_never
from headwater.platforms.platform import mapped_name

RULE = "urn:lla:llaPartnerConversion:"

_KEPT = frozenset({
    "conversion", "conversionHappenedAt", "currencyCode", "amount", "eventId", "idType",
})  # fmt: skip


def why_not(conversion: Conversion, destination: Destination) -> SkipReason | None:  # noqa: ARG001 - the same everywhere
    """Why LinkedIn cannot take it. It has no field for consent, so a denial is not sent."""
    reason = why_never(conversion, "skip")
    if reason is not None:
        return reason
    if not _user_ids(conversion) and not _user_info(conversion):
        return SkipReason.NO_IDENTIFIER
    return None


def build(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    """One element of `elements`."""
    rule = mapped_name({}, destination, conversion, free=False) or ""
    # LinkedIn wants the list of ids even where it is empty.
    user = {"userIds": _user_ids(conversion)} | present(
        userInfo=_user_info(conversion), externalIds=one(conversion.person.external_id)
    )
    return present(
        conversion=rule if rule.startswith(RULE) else f"{RULE}{rule}",
        conversionHappenedAt=conversion.event_time,
        conversionValue=_value(conversion),
        eventId=conversion.dedup_id,
        user=user,
    )


def request(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    """The call. A header holds the token."""
    settings: LinkedInSettings = destination.settings
    token = destination.access_token or destination.secrets.get("access_token", "")
    return Call(
        url=f"{destination.url}/rest/conversionEvents",
        headers={
            "Authorization": f"Bearer {token}",
            "LinkedIn-Version": settings.api_version,
            "X-Restli-Protocol-Version": "2.0.0",
            "X-RestLi-Method": "BATCH_CREATE",
        },
        body=msgspec.json.encode({"elements": parts}),
    )


def redact(part: dict[str, Any]) -> dict[str, Any]:
    """What happened, when and for how much, without whom it was."""
    return mask_fields(part, _KEPT, frozenset())


def why_no_trial(destination: Destination) -> str | None:  # noqa: ARG001 - the same everywhere
    """There is no way to send what does not count."""
    return "LinkedIn has no test mode: a trial would be a conversion."


def _user_ids(conversion: Conversion) -> list[dict[str, str]]:
    ids = {
        "SHA256_EMAIL": hash_in_form(conversion.person.email, plain_email),
        "LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID": conversion.click_id("li_fat_id"),
    }
    return [{"idType": kind, "idValue": value} for kind, value in ids.items() if value]


def _user_info(conversion: Conversion) -> dict[str, Any]:
    """Both names in clear text or neither, as LinkedIn refuses one alone."""
    person = conversion.person
    if not person.first_name or not person.last_name:
        return {}
    return present(
        firstName=person.first_name, lastName=person.last_name, countryCode=person.country
    )


def _value(conversion: Conversion) -> dict[str, Any]:
    if conversion.amount is None or not conversion.currency:
        return {}
    return {"currencyCode": conversion.currency, "amount": as_text(conversion.amount)}
