"""The two sample businesses, and where their visitors come from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Channel:
    """A way to a business: the parameters its links carry, and how often it is taken."""

    source: str
    weight: float
    campaigns: tuple[tuple[str, str, str], ...] = ()
    """Campaign, ad group and ad of each paid link."""


@dataclass(frozen=True)
class Shop:
    """A sample business, which becomes a Space."""

    name: str
    slug: str
    settings: dict[str, str]
    domain: str
    people: int
    business: bool
    """Sells to companies: buyers write from them, rather than from a private mailbox."""
    prices: tuple[float, ...]
    channels: tuple[Channel, ...]
    seed: int


_LIMITS = {"limit.track": "1000000", "limit.list_events": "10000"}

NORDLICHT = Shop(
    name="Nordlicht Outdoor (sample)",
    slug="nordlicht",
    settings=_LIMITS | {
        "timezone": "Europe/Berlin", "currency": "EUR", "company_identity_mode": "auto",
        "phone_region": "DE", "event_label.custom_event_1": "Newsletter",
        "field_label.profile_field_1": "Favourite sport",
        "field_label.profile_field_16": "Shoe size",
        "field_label.profile_field_26": "Customer since",
    },
    domain="nordlicht-outdoor.example",
    people=420,
    business=False,
    prices=(39.9, 59.0, 89.5, 129.0, 189.95, 249.0),
    channels=(
        Channel("google_ads", 24, (("21000000001", "31000000001", "41000000001"),
                                   ("21000000002", "31000000002", "41000000002"))),
        Channel("facebook_ads", 18, (("Autumn hikes", "Lookalike", "23850000000001"),)),
        Channel("instagram_ads", 8, (("Autumn hikes", "Stories", "23850000000002"),)),
        Channel("google_organic", 20),
        Channel("email", 12, (("Newsletter", "Weekly", ""),)),
        Channel("ai_chat_gpt", 6),
        Channel("referral", 4),
        Channel("direct", 14),
    ),
    seed=1,
)  # fmt: skip

HARBOR = Shop(
    name="Harbor Analytics (sample)",
    slug="harbor",
    settings=_LIMITS | {
        "timezone": "America/New_York", "currency": "USD",
        "company_identity_mode": "external_id", "phone_region": "US",
        "event_label.custom_event_1": "Demo booked", "field_label.profile_field_1": "Plan",
        "field_label.profile_field_16": "Seats",
    },
    domain="harbor-analytics.example",
    people=260,
    business=True,
    prices=(490.0, 990.0, 1490.0, 2990.0),
    channels=(
        Channel("linkedin_ads", 22, (("Founders Q4", "US directors", "500000001"),
                                     ("Retargeting", "Visitors", "500000002"))),
        Channel("google_ads", 16, (("22000000001", "32000000001", "42000000001"),)),
        Channel("google_organic", 18),
        Channel("email", 12, (("Product letter", "Monthly", ""),)),
        Channel("ai_chat_gpt", 9),
        Channel("ai_perplexity", 4),
        Channel("g2", 6),
        Channel("direct", 13),
    ),
    seed=2,
)  # fmt: skip

SHOPS = (NORDLICHT, HARBOR)
