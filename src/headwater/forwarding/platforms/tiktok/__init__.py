"""TikTok: Events API 2.0. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.base.egress.calls import make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.amounts import as_number
from headwater.forwarding.platforms.identifiers import (
    google_name,
    hash_in_form,
    hash_text,
    phone_with_plus,
    plain_email,
)
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import (
    drop_empty,
    get_event_seconds,
    make_list,
    require_identifier,
    value_fields,
)
from headwater.forwarding.platforms.platform import DAY, Limits, Platform
from headwater.forwarding.platforms.tiktok.currencies import CURRENCIES
from headwater.forwarding.platforms.tiktok.responses import classify
from headwater.forwarding.platforms.tiktok.settings import TikTokSettings

_IDENTIFIERS = frozenset({"email", "phone", "external_id", "ttclid", "ttp"})
_BROWSER = frozenset({"ip", "user_agent"})


class TikTok(Platform):
    """Events of a pixel; the token is in a header."""

    name = "tiktok"
    title = "TikTok Ads"
    url = "https://business-api.tiktok.com"
    sources = frozenset({"tiktok_ads"})
    settings = TikTokSettings
    secrets = {
        "access_token": "Access token of the pixel: TikTok Ads Manager, Tools, Events, Web events,"
        " the pixel's Settings, Generate access token."
    }
    limits = Limits(batch=1000, age=7 * DAY)
    event_names = {
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
    free_names = True
    kept_fields = frozenset({"event", "event_time", "event_id", "currency", "value", "limited_data_use"})
    kept_urls = frozenset({"url"})
    test_code = "test_event_code"
    test_code_place = "Events Manager, Test events"

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Require an identifier, or an IP address with user agent."""
        return require_identifier(_make_user(conversion), _IDENTIFIERS, _BROWSER)

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        settings: TikTokSettings = destination.settings
        return drop_empty(
            event=self.find_name(conversion, destination),
            event_time=get_event_seconds(conversion),
            event_id=conversion.dedup_id,
            user=_make_user(conversion),
            properties=_make_properties(conversion),
            page=drop_empty(url=conversion.url),
            limited_data_use=settings.limits(conversion) or None,
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: TikTokSettings = destination.settings
        test_event_code = settings.test_event_code if destination.test else None
        body = {"event_source": "web", "event_source_id": settings.pixel_code, "data": parts}
        return make_json_call(
            f"{destination.url}/open_api/{settings.api_version}/event/track/",
            body | drop_empty(test_event_code=test_event_code),
            {"Access-Token": destination.secrets["access_token"]},
        )

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)


def _make_user(conversion: Conversion) -> dict[str, Any]:
    person = conversion.person
    return drop_empty(
        email=make_list(hash_in_form(person.email, plain_email)),
        phone=make_list(hash_in_form(person.phone, phone_with_plus)),
        external_id=make_list(hash_text(person.external_id) if person.external_id else None),
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


def _make_properties(conversion: Conversion) -> dict[str, Any]:
    # An unknown currency makes TikTok reject the call.
    value = value_fields(conversion, as_number) if conversion.currency in CURRENCIES else {}
    return value | drop_empty(order_id=conversion.order_id)
