"""Meta: Conversions API, for ads on Facebook and Instagram. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from headwater.base.egress.calls import make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.amounts import as_number
from headwater.forwarding.platforms.identifiers import hash_person
from headwater.forwarding.platforms.meta.responses import classify
from headwater.forwarding.platforms.meta.settings import MetaSettings
from headwater.forwarding.platforms.models import ClickCredit, Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import (
    drop_empty,
    get_event_seconds,
    require_identifier,
    value_fields,
)
from headwater.forwarding.platforms.platform import DAY, CreditReports, Limits, Platform

CLICK_LIFE = 90 * 86_400_000
"""The maximum age of a click id, in milliseconds."""

_NEEDS_AMOUNT = "Purchase"
# Any of these identifies a person; a user agent or country doesn't.
_IDENTIFIERS = frozenset({"em", "ph", "external_id", "client_ip_address", "fbc", "fbp"})
_FULL_NAME = frozenset({"fn", "ln"})
_COOKIE = re.compile(r"fb\.[0-9]\.([0-9]{10,13})\..+", re.DOTALL)


CREDIT_MODELS = {
    "first_touch": "first_touch",
    "last_touch": "last_touch",
    "linear": "linear",
    "time_decay": "time_decay",
    "u_shaped": "position_based",
}
"""Meta's names of our models; others are `customized_multi_touch`."""


class Meta(Platform):
    """Events of a dataset (pixel); the token is in the URL."""

    name = "meta"
    title = "Meta Ads"
    url = "https://graph.facebook.com"
    sources = frozenset({"facebook_ads", "instagram_ads"})
    settings = MetaSettings
    secrets = {
        "access_token": "Access token of the dataset or of a system user: Events Manager, Settings,"
        " Conversions API, Generate access token."
    }
    limits = Limits(batch=1000, age=7 * DAY, future=60)
    credits = CreditReports(age=2 * DAY, ids=frozenset({"fbclid", "fbc"}))
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
    kept_fields = frozenset(
        {
            "event_name",
            "event_time",
            "event_id",
            "action_source",
            "currency",
            "value",
            "attribution_model",
            "attribution_share",
            "attribution_value",
            "attr_window",
            "total_credit",
            "visit_time",
            "data_processing_options",
            "data_processing_options_country",
            "data_processing_options_state",
        }
    )
    kept_urls = frozenset({"event_source_url"})
    test_code = "test_event_code"
    test_code_place = "Events Manager, Test events"

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        if conversion.amount is None and self.find_name(conversion, destination) == _NEEDS_AMOUNT:
            return SkipReason.NO_AMOUNT
        return require_identifier(_make_user_data(conversion), _IDENTIFIERS, _FULL_NAME)

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        is_on_page = conversion.url and conversion.user_agent
        return drop_empty(
            event_name=self.find_name(conversion, destination),
            event_time=get_event_seconds(conversion),
            event_id=conversion.dedup_id,
            # Events on a page have both; server events have neither.
            action_source="website" if is_on_page else "system_generated",
            event_source_url=conversion.url,
            user_data=_make_user_data(conversion),
            custom_data=value_fields(conversion, as_number) | drop_empty(order_id=conversion.order_id),
        ) | _make_limited_data_use(conversion, destination.settings)

    def build_credit(
        self, conversion: Conversion, destination: Destination, credit: ClickCredit
    ) -> dict[str, Any]:
        """Return an event of its own, which names the conversion."""
        sale, frozen = self.build(conversion, destination), credit.frozen
        original = {name: sale[name] for name in ("event_name", "event_time", "event_id")}
        value = conversion.amount
        return {
            **sale,
            "event_name": "AppendAttribution",
            "event_time": credit.made_at // 1000,
            "event_id": f"{conversion.dedup_id}:credit:{credit.number}",
            "original_event_data": original | drop_empty(order_id=conversion.order_id),
            "attribution_data": drop_empty(
                visit_time=None if conversion.click is None else conversion.click.occurred_at // 1000,
                campaign_id=credit.campaign_id,
                adset_id=credit.adset_id,
                ad_id=credit.ad_id,
                attribution_model=CREDIT_MODELS.get(frozen.model, "customized_multi_touch"),
                attr_window=frozen.window_days or None,
                attribution_share=as_number(frozen.share),
                attribution_value=None if value is None else as_number(value * frozen.share),
                total_credit=as_number(frozen.paid_share),
            ),
        }

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: MetaSettings = destination.settings
        test_event_code = settings.test_event_code if destination.test else None
        token = quote(destination.secrets["access_token"], safe="")
        path = f"{settings.api_version}/{settings.pixel_id}/events"
        return make_json_call(
            f"{destination.url}/{path}?access_token={token}",
            {"data": parts} | drop_empty(test_event_code=test_event_code),
        )

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)


def _make_user_data(conversion: Conversion) -> dict[str, Any]:
    return hash_person(conversion.person) | drop_empty(
        client_ip_address=conversion.ip,
        client_user_agent=conversion.user_agent,
        fbc=_make_fbc(conversion),
        fbp=conversion.cookie("fbp"),
    )


def _make_limited_data_use(conversion: Conversion, settings: MetaSettings) -> dict[str, Any]:
    if not settings.limits(conversion):
        return {}
    return {
        "data_processing_options": ["LDU"],
        "data_processing_options_country": settings.data_processing_country,
        "data_processing_options_state": settings.data_processing_state,
    }


def _make_fbc(conversion: Conversion) -> str | None:
    """Return Meta's cookie, else the click id and time, which never change."""
    cookie = conversion.cookie("fbc")
    cookie_match = _COOKIE.fullmatch(cookie) if cookie else None
    if cookie_match and _is_recent(int(cookie_match[1].ljust(13, "0")), conversion):
        return cookie
    click = conversion.click
    if click is not None and (id_ := click.ids.get("fbclid")):
        clicked_at = click.occurred_at
    elif id_ := conversion.url_click_ids.get("fbclid"):
        # The time of the click is unknown.
        clicked_at = conversion.event_time
    else:
        return None
    return f"fb.1.{clicked_at}.{id_}" if _is_recent(clicked_at, conversion) else None


def _is_recent(clicked_at: int, conversion: Conversion) -> bool:
    return 0 <= conversion.event_time - clicked_at <= CLICK_LIFE
