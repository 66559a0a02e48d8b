from __future__ import annotations

from msgspec import Struct, field


class Channel(Struct, frozen=True):
    """A channel of a business, without the name of its source."""

    weight: float
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    """Parameters of its links; {campaign}, {advert} and {click} are replaced for each click."""
    referrer: str | None = None
    campaigns: tuple[tuple[str, str], ...] = (("", ""),)


class AdAccount(Struct, frozen=True):
    platform: str
    id: str
    currency: str
    timezone: str
    campaigns: tuple[tuple[str, str, float], ...]
    """Id, name unless links have it, and daily cost of each campaign."""
    fee: int = 0
    """The account's monthly fee, besides its campaigns."""


class Shop(Struct, frozen=True):
    name: str
    slug: str
    settings: dict[str, str]
    domain: str
    people: int
    passers_by: int
    """Visitors who never sign up or order."""
    business: bool
    """True for a shop that sells to companies: its buyers use business addresses."""
    prices: tuple[float, ...]
    pages: tuple[str, ...]
    channels: tuple[Channel, ...]
    accounts: tuple[AdAccount, ...]
    seed: int
    abroad: str | None = None
    """The currency of some of its customers."""

    @property
    def origin(self) -> str:
        return f"https://{self.domain}"


GOOGLE = "https://www.google.com/"
GOOGLE_ADS = {
    "utm_source": "google",
    "utm_medium": "cpc",
    "utm_campaign": "{campaign}",
    "gad_campaignid": "{campaign}",
    "gclid": "{click}",
}
LINKEDIN_ADS = {
    "utm_source": "linkedin",
    "utm_medium": "cpc",
    "utm_campaign": "{campaign}",
    "utm_content": "{advert}",
    "li_fat_id": "{click}",
}
NEWSLETTER = {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "{campaign}"}


def _paid_social(network: str) -> dict[str, str]:
    return {
        "utm_source": network,
        "utm_medium": "paid_social",
        "utm_campaign": "{campaign}",
        "utm_content": "{advert}",
        "fbclid": "{click}",
    }


_LIMITS = {"limit.track": "1000000", "limit.list_events": "10000"}

NORDLICHT = Shop(
    name="Nordlicht Outdoor (sample)",
    slug="nordlicht",
    settings=_LIMITS
    | {
        "timezone": "Europe/Berlin",
        "currency": "EUR",
        "cost_rate": "45",
        "company_identity_mode": "auto",
        "phone_region": "DE",
        "event_label.custom_event_1": "Newsletter",
        "field_label.profile_field_1": "Favourite sport",
        "field_label.profile_field_16": "Shoe size",
        "field_label.profile_field_26": "Customer since",
    },
    domain="nordlicht-outdoor.example",
    people=640,
    passers_by=19_000,
    business=False,
    prices=(39.9, 59.0, 89.5, 129.0, 189.95, 249.0),
    pages=(
        "tents",
        "boots",
        "jackets",
        "backpacks",
        "sleeping-bags",
        "climbing/ropes",
        "sale",
        "guides/first-hut-tour",
        "size-guide",
        "delivery",
        "stores",
    ),
    channels=(
        Channel(24, GOOGLE_ADS, GOOGLE, (("21000000001", "41000000001"), ("21000000002", "41000000002"))),
        Channel(
            18, _paid_social("facebook"), "https://l.facebook.com/", (("Autumn hikes", "23850000000001"),)
        ),
        Channel(
            8, _paid_social("instagram"), "https://l.instagram.com/", (("Autumn hikes", "23850000000002"),)
        ),
        Channel(20, {}, GOOGLE),
        Channel(12, NEWSLETTER, None, (("Weekly", ""),)),
        Channel(6, {"utm_source": "chatgpt.com"}, "https://chatgpt.com/"),
        Channel(4, {}, "https://wanderblog.example/best-boots"),
        Channel(3, {"utm_source": "fb-paid", "utm_medium": "post"}),
        Channel(14),
    ),
    accounts=(
        AdAccount(
            "google",
            "123-456-7890",
            "EUR",
            "Europe/Berlin",
            (("21000000001", "Brand", 24.0), ("21000000002", "Boots", 31.0)),
            fee=120,
        ),
        AdAccount("meta", "act_2385", "USD", "America/Los_Angeles", (("Autumn hikes", "", 38.0),)),
    ),
    seed=1,
    abroad="CHF",
)

HARBOR = Shop(
    name="Harbor Analytics (sample)",
    slug="harbor",
    settings=_LIMITS
    | {
        "timezone": "America/New_York",
        "currency": "USD",
        "company_identity_mode": "external_id",
        "phone_region": "US",
        "event_label.custom_event_1": "Demo booked",
        "field_label.profile_field_1": "Plan",
        "field_label.profile_field_16": "Seats",
    },
    domain="harbor-analytics.example",
    people=480,
    passers_by=13_000,
    business=True,
    prices=(490.0, 990.0, 1490.0, 2990.0),
    pages=("product", "pricing", "customers", "integrations", "blog/attribution-basics", "demo", "security"),
    channels=(
        Channel(
            22,
            LINKEDIN_ADS,
            "https://www.linkedin.com/",
            (("Founders Q4", "500000001"), ("Retargeting", "500000002")),
        ),
        Channel(16, GOOGLE_ADS, GOOGLE, (("22000000001", "42000000001"),)),
        Channel(18, {}, GOOGLE),
        Channel(12, NEWSLETTER, None, (("Monthly", ""),)),
        Channel(9, {"utm_source": "chatgpt.com"}, "https://chatgpt.com/"),
        Channel(4, {}, "https://www.perplexity.ai/"),
        Channel(6, {}, "https://www.g2.com/products/harbor-analytics"),
        Channel(13),
    ),
    accounts=(
        AdAccount("linkedin", "5012", "USD", "UTC", (("Founders Q4", "", 210.0), ("Retargeting", "", 65.0))),
        AdAccount("google", "987-654-3210", "EUR", "Europe/Berlin", (("22000000001", "Analytics", 140.0),)),
    ),
    seed=2,
)

SHOPS = (NORDLICHT, HARBOR)
