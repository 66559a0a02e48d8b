"""The source that a landing URL names: click ids, then utm parameters. Pure.

A click id counts for its own network only, and not when utm_source names another one: links are
shared and copied with the parameters of the click that opened them.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from headwater.sources.vocabulary import ALIASES, of_platform, says_paid

CLICK_IDS = {
    "gclid": "google", "gbraid": "google", "wbraid": "google", "gad_source": "google",
    "msclkid": "bing", "ttclid": "tiktok", "li_fat_id": "linkedin", "twclid": "x",
    "rdt_cid": "reddit", "sccid": "snapchat", "epik": "pinterest", "qclid": "quora",
}  # fmt: skip
"""A network's own parameter for clicks on its ads, in lower case."""

SAME_ADS = {"youtube": "google"}
"""Platforms whose ads carry another network's click id."""

MAX_PARAMETERS = 200

Found = tuple[str, str]
"""A listed source and the rule that named it."""


def landing_source(url: str) -> Found | None:
    """The source a landing URL's parameters name, or None when they name none."""
    given = _parameters(url)
    if not given:
        return None
    named = ALIASES.get(given.get("utm_source", ""))
    return _by_click_id(given, named) or _by_utm(given, named) or _by_weak_hint(given, named)


def _parameters(url: str) -> dict[str, str]:
    """Parameters by lower-case name, the first of each, as far as the URL can be read."""
    try:
        pairs = parse_qsl(urlsplit(url).query, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return {}
    return {name.lower(): value.strip().lower() for name, value in reversed(pairs)}


def _by_click_id(given: dict[str, str], named: str | None) -> Found | None:
    for parameter, network in CLICK_IDS.items():
        if not given.get(parameter):
            continue
        if named is None or named in (network, f"{network}_ads"):
            return f"{network}_ads", parameter
        if SAME_ADS.get(named.removesuffix("_ads")) == network:
            return of_platform(named, paid=True), parameter
    return None


def _by_utm(given: dict[str, str], named: str | None) -> Found | None:
    if named is None:
        return None
    paid = says_paid(given.get("utm_medium"))
    return of_platform(named, paid=paid), "utm_source_paid" if paid else "utm_source"


def _by_weak_hint(given: dict[str, str], named: str | None) -> Found | None:
    """What is left when utm_source says nothing: the medium, and Meta's click id, which is put on
    paid and organic links alike and so proves nothing about payment.
    """
    medium = ALIASES.get(given.get("utm_medium", ""))
    if medium in ("email", "sms"):
        return medium, "utm_medium"
    if given.get("fbclid") and named is None:
        return "facebook_organic", "fbclid"
    return None
