"""Pinterest: API for Conversions v5. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.events.accepted import CUSTOM_NAMES
from headwater.forwarding.platforms.amounts import as_text
from headwater.forwarding.platforms.consent import is_limited
from headwater.forwarding.platforms.identifiers import hash_person
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import (
    drop_empty,
    get_event_seconds,
    require_identifier,
    value_fields,
)
from headwater.forwarding.platforms.pinterest.responses import classify
from headwater.forwarding.platforms.pinterest.settings import PinterestSettings
from headwater.forwarding.platforms.platform import DAY, Limits, Platform

_IDENTIFIERS = frozenset({"em"})
_BROWSER = frozenset({"client_ip_address", "client_user_agent"})


class Pinterest(Platform):
    """Events of an ad account; the token is in a header."""

    name = "pinterest"
    title = "Pinterest Ads"
    url = "https://api.pinterest.com"
    sources = frozenset({"pinterest_ads"})
    settings = PinterestSettings
    secrets = {
        "access_token": "The ad account's conversion access token: Ads Manager, Conversions, API"
        " for Conversions, Generate new token."
    }
    limits = Limits(batch=1000, age=7 * DAY)
    event_names = {
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
    kept_fields = frozenset(
        {
            "event_name",
            "action_source",
            "event_time",
            "event_id",
            "opt_out",
            "opt_out_type",
            "currency",
            "value",
        }
    )
    kept_urls = frozenset({"event_source_url"})

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Require an email address, or an IP address with user agent."""
        return require_identifier(_make_user(conversion), _IDENTIFIERS, _BROWSER)

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        settings: PinterestSettings = destination.settings
        return drop_empty(
            event_name=self.find_name(conversion, destination) or conversion.event_name,
            action_source="web",
            event_time=get_event_seconds(conversion),
            event_id=conversion.dedup_id,
            event_source_url=conversion.url,
            opt_out=_format_opt_out(conversion),
            user_data=_make_user(conversion),
            custom_data=drop_empty(
                **value_fields(conversion, as_text),
                order_id=conversion.order_id,
                opt_out_type="LDP" if settings.limited_data_processing else None,
            ),
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: PinterestSettings = destination.settings
        account = f"{settings.api_version}/ad_accounts/{settings.ad_account_id}"
        test = "?test=true" if destination.test else ""
        url = f"{destination.url}/{account}/events{test}"
        return make_json_call(url, {"data": parts}, bearer(destination.secrets["access_token"]))

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)


def _format_opt_out(conversion: Conversion) -> bool | None:
    if is_limited(conversion):
        return True
    return False if conversion.consent.ad_user_data else None


def _make_user(conversion: Conversion) -> dict[str, Any]:
    return drop_empty(
        **hash_person(conversion.person),
        client_ip_address=conversion.ip,
        client_user_agent=conversion.user_agent,
        click_id=conversion.click_id("epik"),
    )
