"""Snapchat: Conversions API v3. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from headwater.base.egress.calls import make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.events.accepted import CUSTOM_NAMES
from headwater.forwarding.platforms.amounts import as_text
from headwater.forwarding.platforms.identifiers import hash_person
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import (
    MEGABYTE,
    drop_empty,
    get_event_seconds,
    require_identifier,
    value_fields,
)
from headwater.forwarding.platforms.platform import DAY, Limits, Platform
from headwater.forwarding.platforms.snapchat.responses import classify
from headwater.forwarding.platforms.snapchat.settings import SnapchatSettings

CUSTOM_EVENTS = 5
"""Snap's number of custom events."""

_IDENTIFIERS = frozenset({"em", "ph"})
_BROWSER = frozenset({"client_ip_address", "client_user_agent"})


class Snapchat(Platform):
    """Events of a Snap pixel; the token is in the URL."""

    name = "snapchat"
    title = "Snapchat Ads"
    url = "https://tr.snapchat.com"
    sources = frozenset({"snapchat_ads"})
    settings = SnapchatSettings
    secrets = {
        "access_token": "The long-lived Conversions API token of the pixel's organization: Ads"
        " Manager, Business details, Conversions API tokens."
    }
    limits = Limits(batch=2000, age=37 * DAY, size=2 * MEGABYTE)
    event_names = {
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
    kept_fields = frozenset(
        {
            "event_name",
            "event_time",
            "event_id",
            "action_source",
            "currency",
            "value",
            "data_processing_options",
            "data_processing_options_country",
            "data_processing_options_state",
        }
    )
    kept_urls = frozenset({"event_source_url"})

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Require an email address, a phone number, or an IP address with user agent."""
        return require_identifier(_make_user(conversion), _IDENTIFIERS, _BROWSER)

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        return drop_empty(
            event_name=self.find_name(conversion, destination) or conversion.event_name,
            event_time=get_event_seconds(conversion),
            event_id=conversion.dedup_id,
            event_source_url=conversion.url,
            action_source="WEB",
            user_data=_make_user(conversion),
            custom_data=value_fields(conversion, as_text) | drop_empty(order_id=conversion.order_id),
            **_make_limited_data_use(conversion, destination.settings),
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: SnapchatSettings = destination.settings
        token = quote(destination.secrets["access_token"], safe="")
        validate = "/validate" if destination.test else ""
        path = f"{settings.api_version}/{settings.pixel_id}/events{validate}"
        return make_json_call(f"{destination.url}/{path}?access_token={token}", {"data": parts})

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)


def _make_user(conversion: Conversion) -> dict[str, Any]:
    return drop_empty(
        **hash_person(conversion.person),
        client_ip_address=conversion.ip,
        client_user_agent=conversion.user_agent,
        sc_click_id=conversion.click_id("sccid"),
        sc_cookie1=conversion.cookie("scid"),
    )


def _make_limited_data_use(conversion: Conversion, settings: SnapchatSettings) -> dict[str, Any]:
    if not settings.limits(conversion):
        return {}
    return {
        "data_processing_options": [settings.limited_data_use_option],
        "data_processing_options_country": settings.limited_data_use_country,
        "data_processing_options_state": settings.limited_data_use_state,
    }
