"""Build campaign links: a page's URL with parameters that name a source. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_plus

import msgspec

from headwater.sources.addresses import APP, read_address
from headwater.sources.catalogue import PAID_OTHER, SOURCES, find_channel
from headwater.sources.clicks import CLICK_IDS
from headwater.sources.hierarchy import term_level
from headwater.sources.links.address_notes import has_scheme

MAX_VALUE = 512
SET_BY_LINKS = frozenset(
    {"utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "trk_ad_group", "trk_keyword"}
)
"""Parameters that a built link replaces in its address."""

_SEARCH = frozenset({"google", "bing", "yahoo", "duckduckgo", "brave"})
_VIDEO = frozenset({"youtube", "twitch"})
_OTHER_SOURCES = {
    "ai_chat_gpt": ("chatgpt.com", "referral"),
    "ai_perplexity": ("perplexity.ai", "referral"),
    "ai_copilot": ("copilot.microsoft.com", "referral"),
    "ai_claude": ("claude.ai", "referral"),
    "ai_grok": ("grok.com", "referral"),
    "ai_gemini": ("gemini.google.com", "referral"),
    "ai_deepseek": ("deepseek.com", "referral"),
    "email": ("newsletter", "email"),
    "sms": ("sms", "sms"),
    "substack": ("substack", "email"),
    "chatgpt_ads": ("chatgpt", "cpc"),
    PAID_OTHER: ("ad_network", "cpc"),
}
_MACROS = "{}"
"""Not escaped, because ad platforms replace values in braces."""


class LinkTags(msgspec.Struct, frozen=True, gc=False):
    source: str
    medium: str


class LinkParts(msgspec.Struct, frozen=True, gc=False):
    """The parts of a link. Empty texts are left out."""

    source: str
    campaign: str = ""
    adset: str = ""
    ad: str = ""
    keyword: str = ""
    utm_source: str = ""
    """Replaces the source's value."""
    utm_medium: str = ""
    """Replaces the usual medium."""


class BadAddress(ValueError):
    """A page's URL can't become a link. The text gives the reason and advice."""


def choose_tags(source: str) -> LinkTags | None:
    """Return None for `direct`."""
    if source == "direct":
        return None
    if source in _OTHER_SOURCES:
        return LinkTags(*_OTHER_SOURCES[source])
    channel = find_channel(source)
    platform = source.removesuffix("_ads").removesuffix("_organic")
    if channel == "paid":
        if platform in _SEARCH:
            return LinkTags(platform, "cpc")
        return LinkTags(platform, "paid_video" if platform in _VIDEO else "paid_social")
    if channel == "organic":
        return LinkTags(platform, "organic" if platform in _SEARCH else "social")
    return LinkTags(source, "referral")


LINKED = tuple(source for source in SOURCES if choose_tags(source) is not None)


def list_parameters(parts: LinkParts) -> dict[str, str]:
    tags = choose_tags(parts.source)
    usual = LinkTags("", "") if tags is None else tags
    term = term_level(parts.source)
    values = {
        "utm_source": parts.utm_source or usual.source,
        "utm_medium": parts.utm_medium or usual.medium,
        "utm_campaign": parts.campaign,
        "utm_term": parts.adset if term == "adset" else parts.keyword,
        "utm_content": parts.ad,
        # The level that utm_term doesn't have for this source.
        "trk_ad_group": "" if term == "adset" else parts.adset,
        "trk_keyword": parts.keyword if term == "adset" else "",
    }
    return {name: value for name, value in values.items() if value}


def build_link(address: str, parts: LinkParts) -> str:
    """Add parameters before the fragment, replacing SET_BY_LINKS. Raises BadAddress."""
    base = read_page_address(address)
    page, hash_sign, fragment = base.partition("#")
    path, _, query = page.partition("?")
    existing_parameters = [
        parameter for parameter in query.split("&") if parameter and read_name(parameter) not in SET_BY_LINKS
    ]
    new = [f"{name}={quote(value, safe=_MACROS)}" for name, value in list_parameters(parts).items()]
    return f"{path}?{'&'.join([*existing_parameters, *new])}{hash_sign}{fragment}"


def read_page_address(address: str) -> str:
    """Return a page's URL, with https:// if missing, blanks percent-encoded. Raises BadAddress."""
    text = address.strip()
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise BadAddress("The address contains a line break or another control character. Remove it.")
    if not has_scheme(text):
        scheme, separator, _ = text.partition("://")
        if separator:
            raise BadAddress(
                f"The address begins with {scheme[:20]}://. Use a page's, which begins with https://."
            )
        text = f"https://{text.removeprefix('//')}"
    page = read_address(text)
    # Without a scheme or a path before it, an @ belongs to an email address.
    is_email = "@" in re.split("[/?#]", address.strip(), maxsplit=1)[0]
    if page is None or is_email or page.host.startswith(APP) or not can_have_pages(page.host):
        raise BadAddress("This is not a page URL: it needs a host, as in https://shop.example/tents.")
    return text.replace(" ", "%20")


def can_have_pages(host: str) -> bool:
    """Accept a name with a dot, an IP address, or this machine."""
    return "." in host or host.startswith("[") or host == "localhost"


def replaced_in(address: str) -> list[str]:
    return [parameter for parameter in _split_query(address) if read_name(parameter) in SET_BY_LINKS]


def click_ids_in(address: str) -> list[str]:
    """Return names of click ids left over from earlier clicks."""
    return [name for name in map(read_name, _split_query(address)) if name in CLICK_IDS]


def _split_query(address: str) -> list[str]:
    query = address.partition("#")[0].partition("?")[2]
    return [parameter for parameter in query.split("&") if parameter]


def read_name(parameter: str) -> str:
    return unquote_plus(parameter.partition("=")[0]).lower().removeprefix("amp;")
