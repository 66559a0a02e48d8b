"""Microsoft Advertising: UET Conversions API. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.events.accepted import STANDARD_NAMES
from headwater.forwarding.platforms.amounts import as_number
from headwater.forwarding.platforms.consent import is_limited
from headwater.forwarding.platforms.identifiers import (
    hash_in_form,
    microsoft_email,
    phone_digits,
    phone_with_plus,
    plain_email,
    plain_external_id,
)
from headwater.forwarding.platforms.microsoft.responses import classify
from headwater.forwarding.platforms.microsoft.settings import MicrosoftSettings
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import (
    MEGABYTE,
    drop_empty,
    get_event_seconds,
    require_identifier,
    value_fields,
)
from headwater.forwarding.platforms.platform import DAY, Limits, Platform

PAGE_LOAD = "pageLoad"

_EVENT_NAMES = {name: name for name in STANDARD_NAMES} | {"view_content": PAGE_LOAD}
_PAGE_TYPES = {
    "add_to_cart": "cart",
    "initiate_checkout": "cart",
    "purchase": "purchase",
    "upsell_purchase": "purchase",
}
_IDENTIFIERS = frozenset({"msclkid", "em", "ph", "externalId"})


class Microsoft(Platform):
    """Events of a UET tag; the token is in a header."""

    name = "microsoft"
    title = "Microsoft Advertising"
    has_test_mode = False
    url = "https://capi.uet.microsoft.com"
    sources = frozenset({"bing_ads"})
    settings = MicrosoftSettings
    secrets = {
        "access_token": "The UET tag's Conversions API token: Conversion tracking, UET tags, the"
        " tag's Conversions API."
    }
    limits = Limits(batch=1000, age=7 * DAY, size=MEGABYTE)
    event_names = _EVENT_NAMES
    free_names = True
    kept_fields = frozenset(
        {
            "eventType",
            "eventName",
            "eventTime",
            "eventId",
            "adStorageConsent",
            "value",
            "currency",
            "pageType",
        }
    )
    kept_urls = frozenset({"eventSourceUrl"})
    quoted_fields = frozenset({"attemptedValue"})

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Require a click id, email, phone number or external id."""
        return require_identifier(_make_user(conversion, destination.settings), _IDENTIFIERS)

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        name = self.find_name(conversion, destination) or conversion.event_name
        return drop_empty(
            **_make_type(name, conversion),
            eventTime=get_event_seconds(conversion),
            eventId=conversion.dedup_id,
            eventSourceUrl=conversion.url,
            adStorageConsent=_format_consent(conversion),
            userData=_make_user(conversion, destination.settings),
            customData=drop_empty(
                **value_fields(conversion, as_number),
                transactionId=conversion.order_id,
                pageType=_PAGE_TYPES.get(conversion.event_name),
            ),
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: MicrosoftSettings = destination.settings
        # useless for a single event
        continues = settings.continue_on_validation_error and len(parts) > 1
        return make_json_call(
            f"{destination.url}/{settings.api_version}/{settings.tag_id}/events",
            drop_empty(data=list(parts), continueOnValidationError=continues or None),
            bearer(destination.secrets["access_token"]),
        )

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)


def _make_type(name: str, conversion: Conversion) -> dict[str, str]:
    """Return a page load with a URL, else a named event."""
    if name == PAGE_LOAD and conversion.url:
        return {"eventType": PAGE_LOAD}
    event_name = conversion.event_name if name == PAGE_LOAD else name
    return {"eventType": "custom", "eventName": event_name}


def _format_consent(conversion: Conversion) -> str | None:
    if is_limited(conversion):
        return "D"
    return "G" if conversion.consent.ad_user_data else None


def _make_user(conversion: Conversion, settings: MicrosoftSettings) -> dict[str, Any]:
    person = conversion.person
    email_form = microsoft_email if settings.email_form == "canonical" else plain_email
    phone_form = phone_with_plus if settings.phone_form == "e164" else phone_digits
    return drop_empty(
        em=hash_in_form(person.email, email_form),
        ph=hash_in_form(person.phone, phone_form),
        msclkid=conversion.click_id("msclkid"),
        externalId=plain_external_id(person.external_id),
        clientIpAddress=conversion.ip,
        clientUserAgent=conversion.user_agent,
    )
