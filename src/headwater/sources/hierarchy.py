"""Read an ad's account, campaign, ad set and keyword from the URL's parameters. Pure."""

from __future__ import annotations

from functools import lru_cache

from headwater.sources.catalogue import find_channel
from headwater.sources.outcomes import Ad
from headwater.sources.parameters import read_parameters

LEVELS = (
    ("trk_campaign", "campaign"),
    ("trk_ad_group", "adset"),
    ("trk_ad_id", "ad_id"),
    ("trk_keyword", "keyword"),
    ("campaign_id", "campaign_id"),
    ("campaign_name", "campaign_name"),
    ("adset_id", "adset_id"),
    ("adset_name", "adset_name"),
    ("ad_id", "ad_id"),
    ("ad_name", "ad_name"),
    # HubSpot's ad tracking
    ("hsa_acc", "account_id"),
    ("hsa_cam", "campaign"),
    ("hsa_grp", "adset"),
    ("hsa_ad", "ad"),
    ("hsa_kw", "keyword"),
    # Names that Google, Microsoft and Pinterest suggest for their own values
    ("gad_campaignid", "campaign_id"),
    ("campaignid", "campaign"),
    ("adgroupid", "adset"),
    ("adgroup_id", "adset"),
    ("ad_group_id", "adset"),
    ("adsetid", "adset"),
    ("creative", "ad"),
    ("adid", "ad"),
    ("utm_id", "campaign_id"),
    ("utm_campaign", "campaign"),
    ("utm_content", "ad"),
)
"""Parameters in order of precedence, with their levels. `campaign`, `adset` and `ad` are ids if all digits,
otherwise names.
"""

_SEARCH_ADS = frozenset({"google_ads", "bing_ads", "yahoo_ads", "duckduckgo_ads"})

NO_AD = Ad()

PARAMETERS = frozenset({"utm_term", *(parameter for parameter, _ in LEVELS)})


def build_ad(parameters: dict[str, str], source: str | None) -> Ad:
    if PARAMETERS.isdisjoint(parameters):
        return NO_AD
    fields: dict[str, str] = {}
    for parameter, level in (*LEVELS, ("utm_term", term_level(source))):
        value = parameters.get(parameter)
        if value is not None:
            fields.setdefault(choose_ad_field(level, value), value)
    return Ad(**fields)


def read_ad(url: str | None, parameters: dict[str, str], source: str) -> Ad:
    """Return the ad in `parameters`, completed by the URL's."""
    if url is None or ("?" not in url and "#" not in url):
        return build_ad(parameters, source)
    return build_ad({**_read(url), **parameters}, source)


@lru_cache(maxsize=4096)
def _read(url: str) -> dict[str, str]:
    return read_parameters(url, PARAMETERS, ())


def term_level(source: str | None) -> str:
    """Return utm_term's level: the ad set on paid social networks, otherwise the keyword."""
    paid = source is not None and find_channel(source) == "paid"
    return "adset" if paid and source not in _SEARCH_ADS else "keyword"


def choose_ad_field(level: str, value: str) -> str:
    """Return the id's field if the value is all digits and the level allows both."""
    if level not in ("campaign", "adset", "ad"):
        return level
    return f"{level}_id" if value.isascii() and value.isdigit() else f"{level}_name"
