"""The place of an ad in its account, from the parameters of the URL it led to. Pure."""

from __future__ import annotations

from functools import lru_cache

from headwater.sources.catalogue import channel_of
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
    # HubSpot's tracking of ads
    ("hsa_acc", "account_id"),
    ("hsa_cam", "campaign"),
    ("hsa_grp", "adset"),
    ("hsa_ad", "ad"),
    ("hsa_kw", "keyword"),
    # The names that Google, Microsoft and Pinterest suggest for their own values
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
"""Parameters in order of precedence, and the level that each names: `campaign_id` and the like take
the value as it is; `campaign`, `adset` and `ad` are ids when all digits and names otherwise.
"""

_SEARCH_ADS = frozenset({"google_ads", "bing_ads", "yahoo_ads", "duckduckgo_ads"})

NO_AD = Ad()

PARAMETERS = frozenset({"utm_term", *(parameter for parameter, _ in LEVELS)})


def ad_of(parameters: dict[str, str], source: str | None) -> Ad:
    """The ad that a URL's parameters name, for a visit from `source`."""
    if PARAMETERS.isdisjoint(parameters):
        return NO_AD
    fields: dict[str, str] = {}
    for parameter, level in (*LEVELS, ("utm_term", meaning_of_term(source))):
        value = parameters.get(parameter)
        if value is not None:
            fields.setdefault(field_of(level, value), value)
    return Ad(**fields)


def ad_at(url: str | None, parameters: dict[str, str], source: str) -> Ad:
    """The ad that `parameters` of LEVELS name, with the URL's where those are absent, for a visit
    from `source`.
    """
    if url is None or ("?" not in url and "#" not in url):
        return ad_of(parameters, source)
    return ad_of({**_read(url), **parameters}, source)


@lru_cache(maxsize=4096)
def _read(url: str) -> dict[str, str]:
    return read_parameters(url, PARAMETERS, ())


def meaning_of_term(source: str | None) -> str:
    """The level of utm_term: a keyword, but on social networks advertisers put the ad set there."""
    paid = source is not None and channel_of(source) == "paid"
    return "adset" if paid and source not in _SEARCH_ADS else "keyword"


def field_of(level: str, value: str) -> str:
    """The field of an Ad that a value is for: a level that says neither id nor name takes digits
    for an id.
    """
    if level not in ("campaign", "adset", "ad"):
        return level
    return f"{level}_id" if value.isascii() and value.isdigit() else f"{level}_name"
