"""ChatGPT ads: OpenAI's Conversions API. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.events.accepted import CUSTOM_NAMES
from headwater.forwarding.platforms.amounts import as_minor_units, as_number
from headwater.forwarding.platforms.chatgpt_ads.responses import classify
from headwater.forwarding.platforms.chatgpt_ads.settings import ChatGPTAdsSettings
from headwater.forwarding.platforms.consent import is_limited, is_refused
from headwater.forwarding.platforms.identifiers import (
    hash_in_form,
    hash_text,
    openai_name,
    phone_digits,
    plain_email,
)
from headwater.forwarding.platforms.models import ClickCredit, Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import drop_empty, make_list, require_identifier
from headwater.forwarding.platforms.platform import DAY, CreditReports, Limits, Platform

CUSTOM = "custom"
DATA_TYPES = {
    "appointment_scheduled": "customer_action",
    "checkout_started": "contents",
    "contents_viewed": "contents",
    CUSTOM: CUSTOM,
    "items_added": "contents",
    "lead_created": "customer_action",
    "order_created": "contents",
    "page_viewed": "contents",
    "registration_completed": "customer_action",
    "subscription_created": "plan_enrollment",
    "trial_started": "plan_enrollment",
}
"""Event type → the type of its data. Types of apps need another action source."""

_CUSTOM_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_-]+")
_LONGEST_PLACE = 128
_IDENTIFIERS = frozenset({"oppref", "emails_sha256", "phone_numbers_sha256", "external_ids_sha256", "obref"})
_BROWSER = frozenset({"ip_address", "user_agent"})


class ChatGPTAds(Platform):
    """Events of an OpenAI pixel; the token is in a header."""

    name = "chatgpt_ads"
    title = "ChatGPT Ads"
    url = "https://bzr.openai.com"
    sources = frozenset({"chatgpt_ads"})
    settings = ChatGPTAdsSettings
    secrets = {
        "access_token": "A Conversions API key, not the Ads API key of the settings: Ads Manager,"
        " Conversions, Conversion keys."
    }
    limits = Limits(batch=1000, age=7 * DAY, future=600)
    credits = CreditReports(age=2 * DAY, ids=frozenset({"oppref"}))
    event_names = {
        "add_payment_info": CUSTOM,
        "add_to_cart": "items_added",
        "complete_registration": "registration_completed",
        "contact": CUSTOM,
        "initiate_checkout": "checkout_started",
        "lead_generated": "lead_created",
        "purchase": "order_created",
        "schedule": "appointment_scheduled",
        "sign_up": "registration_completed",
        "start_trial": "trial_started",
        "submit_application": CUSTOM,
        "subscribe": "subscription_created",
        "upsell_purchase": "order_created",
        "view_content": "contents_viewed",
        "webinar_registration": "registration_completed",
        **dict.fromkeys(CUSTOM_NAMES, CUSTOM),
    }
    name_pattern = r"[A-Za-z0-9]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?"
    name_rule = (
        "must be an event type, or the name of a custom event: 1 to 64 letters, digits, _ or -,"
        " a letter or digit at both ends."
    )
    kept_fields = frozenset(
        {"id", "type", "timestamp_ms", "action_source", "custom_event_name", "opt_out", "amount", "currency"}
    )
    kept_urls = frozenset({"source_url"})

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Require a click id, an identifier, or an IP address with user agent."""
        fields = drop_empty(oppref=_find_click_id(conversion), **_make_user(conversion))
        return require_identifier(fields, _IDENTIFIERS, _BROWSER)

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        name = self.find_name(conversion, destination) or conversion.event_name
        event_type = name.lower() if name.lower() in DATA_TYPES else CUSTOM
        return drop_empty(
            id=conversion.dedup_id,
            type=event_type,
            custom_event_name=_find_custom_name(name, conversion) if event_type == CUSTOM else None,
            timestamp_ms=conversion.event_time,
            # OpenAI refuses events of the web without a URL.
            action_source="web" if conversion.url else "other",
            source_url=conversion.url,
            oppref=_find_click_id(conversion),
            opt_out=is_limited(conversion) or None,
            user=_make_user(conversion),
            data={"type": DATA_TYPES[event_type], **_make_amount(conversion)},
        )

    def build_credit(
        self, conversion: Conversion, destination: Destination, credit: ClickCredit
    ) -> dict[str, Any]:
        """Return an event of its own, which names the conversion."""
        sale, frozen = self.build(conversion, destination), credit.frozen
        return {
            **sale,
            "id": f"{conversion.dedup_id}:credit:{credit.number}",
            "type": "attribution_appended",
            "timestamp_ms": credit.made_at,
            "data": {
                "type": "attribution",
                "original_event_id": conversion.dedup_id,
                "original_event_type": sale["type"],
                "attribution_model": frozen.model,
                "attribution_share": as_number(frozen.share),
            },
        }

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: ChatGPTAdsSettings = destination.settings
        return make_json_call(
            f"{destination.url}/{settings.api_version}/events?pid={settings.pixel_id}",
            {"validate_only": destination.test, "integration_source": "headwater", "events": list(parts)},
            bearer(destination.secrets["access_token"]),
        )

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)


def _find_click_id(conversion: Conversion) -> str | None:
    """Prefer URLs to the cookie of OpenAI's pixel, which lasts 30 days."""
    return conversion.click_id("oppref") or conversion.cookie("oppref")


def _find_custom_name(name: str, conversion: Conversion) -> str:
    """Return a mapped name, the event's label in OpenAI's alphabet, or our name."""
    label = conversion.configured_name or "" if name == CUSTOM else name
    ascii_label = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    words = _NOT_IN_NAMES.sub("_", ascii_label).strip("_-")[:64].rstrip("_-")
    return words if _CUSTOM_NAME.fullmatch(words) and words not in DATA_TYPES else conversion.event_name


def _make_user(conversion: Conversion) -> dict[str, Any]:
    """Return nothing about people who refused: opt_out alone would still match them."""
    if is_refused(conversion):
        return {}
    person = conversion.person
    return drop_empty(
        emails_sha256=make_list(hash_in_form(person.email, plain_email)),
        phone_numbers_sha256=make_list(hash_in_form(person.phone, phone_digits)),
        external_ids_sha256=make_list(hash_text(person.external_id) if person.external_id else None),
        first_names_sha256=make_list(hash_in_form(person.first_name, openai_name)),
        last_names_sha256=make_list(hash_in_form(person.last_name, openai_name)),
        cities=_make_place(person.city),
        regions=_make_place(person.state),
        countries=_make_place(person.country),
        obref=conversion.cookie("obref"),
        ip_address=conversion.ip,
        user_agent=conversion.user_agent,
    )


def _make_place(text: str | None) -> list[str] | None:
    place = (text or "").strip()[:_LONGEST_PLACE]
    return [place] if place else None


def _make_amount(conversion: Conversion) -> dict[str, Any]:
    if conversion.amount is None or conversion.currency is None:
        return {}
    amount = as_minor_units(conversion.amount, conversion.currency)
    return {"amount": amount, "currency": conversion.currency}
