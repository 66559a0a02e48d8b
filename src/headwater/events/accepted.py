"""The event payload in the inbox, validated once at ingest."""

from __future__ import annotations

import msgspec

STANDARD_NAMES = (
    "add_payment_info",
    "add_to_cart",
    "complete_registration",
    "contact",
    "initiate_checkout",
    "lead_generated",
    "purchase",
    "schedule",
    "sign_up",
    "start_trial",
    "submit_application",
    "subscribe",
    "upsell_purchase",
    "view_content",
    "webinar_registration",
)
CUSTOM_NAMES = tuple(f"custom_event_{number}" for number in range(1, 51))
EVENT_NAMES = STANDARD_NAMES + CUSTOM_NAMES
ORDER_NAME = "purchase"
UPSELL_NAME = "upsell_purchase"
SALES_EVENTS = (ORDER_NAME, UPSELL_NAME)
STEP_EVENTS = ("view_content", "add_to_cart", "initiate_checkout", "add_payment_info")
"""Steps before a conversion. They count as conversions only in queries that name them."""
CONVERSIONS = tuple(name for name in EVENT_NAMES if name not in STEP_EVENTS)
EVENT_NAMES_IN_WORDS = f"{', '.join(STANDARD_NAMES)}, or {CUSTOM_NAMES[0]} to {CUSTOM_NAMES[-1]}"


class EventColumns(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """Members that the event's row stores in columns of their names."""

    user_agent: str | None = None
    ip: str | None = None
    amount: str | None = None
    """A decimal number with at most 4 decimals; text keeps money out of floats."""
    currency: str | None = None
    """Currency of the amount; None means the Space's."""
    is_upsell: bool = False
    order_id: str | None = None
    order_name: str | None = None
    checkout_token: str | None = None
    upsell_common_id: str | None = None
    idempotency_key: str | None = None
    company_external_id: str | None = None
    heard_about_us: str | None = None
    """The contact's answer to "How did you hear about us?"."""
    do_not_capi: bool = False
    ad_user_data: bool | None = None
    ad_personalization: bool | None = None
    """Consent to the use of personal data for ads; None if unknown."""


class AcceptedEvent(EventColumns, omit_defaults=True, frozen=True, kw_only=True):
    """Blank strings become None; the email is trimmed and lower-case."""

    event_name: str
    event_time: int
    """Milliseconds since 1970, UTC; by default the time of receipt."""
    email: str | None = None
    trk_token: str | None = None
    fingerprint: str | None = None
    tracking_id: str | None = None
    company_name: str | None = None
    full_name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    phone: str | None = None
    url: str | None = None
    trk_source: str | None = None
    trk_network: str | None = None
    trk_campaign: str | None = None
    trk_ad_group: str | None = None
    trk_ad_id: str | None = None
    trk_keyword: str | None = None
    trk_type: str | None = None
    referrer: str | None = None
    """The page before the visit, reported by a shop's order."""
    profile_fields: dict[int, str] = {}
    """Slot number to value: text (1-15), a decimal number (16-25), or a date (26-30): `YYYY-MM-DD`
    in the Space's time zone, or a UTC instant `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    """
    cookies: dict[str, str] = {}
    address_key: str | None = None
    """The sender's address, for events from pages. people/identity/joins.py counts by it."""
    join_rule: str | None = None
    """SIGNED_ONLY if only signed identifies may link a browser of this site to a known contact."""
    warnings: tuple[str, ...] = ()


PERSONAL_MEMBERS = frozenset(
    {
        "email",
        "trk_token",
        "fingerprint",
        "ip",
        "tracking_id",
        "full_name",
        "first_name",
        "last_name",
        "phone",
        "user_agent",
        "profile_fields",
        "cookies",
        "heard_about_us",
        "warnings",
        "address_key",
    }
)
"""Members that identify a person, removed by an erasure."""

KEPT_MEMBERS = frozenset(
    {
        "event_name",
        "event_time",
        "company_external_id",
        "company_name",
        "url",
        "amount",
        "order_id",
        "order_name",
        "checkout_token",
        "is_upsell",
        "upsell_common_id",
        "trk_source",
        "trk_network",
        "trk_campaign",
        "trk_ad_group",
        "trk_ad_id",
        "trk_keyword",
        "trk_type",
        "referrer",
        "idempotency_key",
        "do_not_capi",
        "currency",
        "ad_user_data",
        "ad_personalization",
        "join_rule",
    }
)
"""Members that describe the event and its source, kept by an erasure."""
