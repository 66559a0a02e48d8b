"""Reddit: Conversions API v3. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.events.accepted import CUSTOM_NAMES
from headwater.forwarding.platforms.amounts import as_number
from headwater.forwarding.platforms.identifiers import hash_in_form, hash_text, phone_with_plus, reddit_email
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import drop_empty, require_identifier, value_fields
from headwater.forwarding.platforms.platform import DAY, Limits, Platform
from headwater.forwarding.platforms.reddit.responses import classify
from headwater.forwarding.platforms.reddit.settings import RedditSettings

CUSTOM = "CUSTOM"
TRACKING_TYPES = frozenset(
    {"PAGE_VISIT", "VIEW_CONTENT", "SEARCH", "ADD_TO_CART", "ADD_TO_WISHLIST", "PURCHASE", "LEAD", "SIGN_UP"}
)

_LONGEST_CUSTOM_NAME = 64
_IDENTIFIERS = frozenset({"click_id", "email", "phone_number", "external_id", "uuid"})
_BROWSER = frozenset({"ip_address", "user_agent"})


class Reddit(Platform):
    """Events of a Reddit pixel; the token is in a header."""

    name = "reddit"
    title = "Reddit Ads"
    url = "https://ads-api.reddit.com"
    sources = frozenset({"reddit_ads"})
    settings = RedditSettings
    secrets = {
        "access_token": "The pixel's conversion access token, which does not expire: Events"
        " Manager, Conversions API."
    }
    limits = Limits(batch=1000, age=7 * DAY, future=300)
    event_names = {
        "add_payment_info": CUSTOM,
        "add_to_cart": "ADD_TO_CART",
        "complete_registration": "SIGN_UP",
        "contact": CUSTOM,
        "initiate_checkout": CUSTOM,
        "lead_generated": "LEAD",
        "purchase": "PURCHASE",
        "schedule": CUSTOM,
        "sign_up": "SIGN_UP",
        "start_trial": CUSTOM,
        "submit_application": CUSTOM,
        "subscribe": CUSTOM,
        "upsell_purchase": "PURCHASE",
        "view_content": "VIEW_CONTENT",
        "webinar_registration": "SIGN_UP",
        **dict.fromkeys(CUSTOM_NAMES, CUSTOM),
    }
    kept_fields = frozenset(
        {
            "event_at",
            "action_source",
            "tracking_type",
            "custom_event_name",
            "conversion_id",
            "currency",
            "value",
            "modes",
            "country",
            "region",
        }
    )
    kept_urls = frozenset({"event_source_url"})
    quoted_fields = frozenset({"event"})  # Reddit returns invalid events whole
    test_code = "test_id"
    test_code_place = "Events Manager, Event Testing"

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Require an identifier, or an IP address with user agent."""
        user = _make_user(conversion, destination.settings)
        fields = drop_empty(click_id=conversion.click_id("rdt_cid"), **user)
        return require_identifier(fields, _IDENTIFIERS, _BROWSER)

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        settings: RedditSettings = destination.settings
        name = self.find_name(conversion, destination) or conversion.event_name
        return drop_empty(
            event_at=conversion.event_time,
            action_source="WEBSITE",
            event_source_url=conversion.url,
            click_id=conversion.click_id("rdt_cid"),
            type=_make_type(name, conversion),
            user=_make_user(conversion, settings) | _make_limited_data_use(conversion, settings),
            metadata=drop_empty(conversion_id=conversion.dedup_id, **value_fields(conversion, as_number)),
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: RedditSettings = destination.settings
        test_id = settings.test_id if destination.test else None
        pixel = f"api/{settings.api_version}/pixels/{settings.pixel_id}"
        return make_json_call(
            f"{destination.url}/{pixel}/conversion_events",
            {"data": drop_empty(events=list(parts), test_id=test_id)},
            bearer(destination.secrets["access_token"]),
        )

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)


def _make_type(name: str, conversion: Conversion) -> dict[str, str]:
    if name in TRACKING_TYPES:
        return {"tracking_type": name}
    custom = conversion.configured_name or conversion.event_name if name == CUSTOM else name
    return {"tracking_type": CUSTOM, "custom_event_name": custom[:_LONGEST_CUSTOM_NAME]}


def _make_user(conversion: Conversion, settings: RedditSettings) -> dict[str, Any]:
    person, ip = conversion.person, conversion.ip
    return drop_empty(
        email=hash_in_form(person.email, reddit_email),
        phone_number=hash_in_form(person.phone, phone_with_plus),
        external_id=hash_text(person.external_id) if person.external_id else None,
        ip_address=hash_text(ip) if ip and settings.hash_ip else ip,
        user_agent=conversion.user_agent,
        uuid=conversion.cookie("rdt_uuid"),
    )


def _make_limited_data_use(conversion: Conversion, settings: RedditSettings) -> dict[str, Any]:
    if not settings.limits(conversion):
        return {}
    country = settings.limited_data_use_country or conversion.person.country
    region = settings.limited_data_use_region
    return {"data_processing_options": drop_empty(modes=["LDU"], country=country, region=region)}
