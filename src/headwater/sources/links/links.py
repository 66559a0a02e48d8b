"""Links for campaigns: the parameters by which the rules name a source, put onto the address of a
page. Pure.

What a link is called is never decided here: `explain_visit` says so, as for every visit.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_plus

import msgspec

from headwater.sources.addresses import APP, read_address
from headwater.sources.catalogue import PAID_OTHER, SOURCES, channel_of
from headwater.sources.clicks import CLICK_IDS
from headwater.sources.hierarchy import meaning_of_term
from headwater.sources.links.address_notes import has_scheme

MAX_VALUE = 512
"""The longest value of a parameter, as with events."""
SET_BY_LINKS = frozenset(
    {"utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "trk_ad_group", "trk_keyword"}
)
"""Parameters of which a link that is built has its own, in place of those of its address."""

_SEARCH = frozenset({"google", "bing", "yahoo", "duckduckgo", "brave"})
_VIDEO = frozenset({"youtube", "twitch"})
_OTHERS = {
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
"""Signs that stay as they are in values: ad platforms replace what stands between them."""


class LinkTags(msgspec.Struct, frozen=True, gc=False):
    """The values of utm_source and utm_medium that name a source."""

    source: str
    medium: str


class LinkParts(msgspec.Struct, frozen=True, gc=False):
    """The parts that a link names. Empty texts are left out."""

    source: str
    campaign: str = ""
    adset: str = ""
    ad: str = ""
    keyword: str = ""
    utm_source: str = ""
    """In place of the value that names the source."""
    utm_medium: str = ""
    """Likewise."""


class BadAddress(ValueError):
    """The address of a page cannot be made a link; the text says why, and what to do."""


def tags_of(source: str) -> LinkTags | None:
    """Return the parameters that name a listed source; None for `direct`, which no link can be."""
    if source == "direct":
        return None
    if source in _OTHERS:
        return LinkTags(*_OTHERS[source])
    channel = channel_of(source)
    platform = source.removesuffix("_ads").removesuffix("_organic")
    if channel == "paid":
        if platform in _SEARCH:
            return LinkTags(platform, "cpc")
        return LinkTags(platform, "paid_video" if platform in _VIDEO else "paid_social")
    if channel == "organic":
        return LinkTags(platform, "organic" if platform in _SEARCH else "social")
    return LinkTags(source, "referral")


LINKED = tuple(source for source in SOURCES if tags_of(source) is not None)
"""The sources for which there are links."""


def parameters_of(parts: LinkParts) -> dict[str, str]:
    """Return the parameters of a link, by name, in the order in which they are written."""
    tags = tags_of(parts.source)
    usual = LinkTags("", "") if tags is None else tags
    term = meaning_of_term(parts.source)
    values = {
        "utm_source": parts.utm_source or usual.source,
        "utm_medium": parts.utm_medium or usual.medium,
        "utm_campaign": parts.campaign,
        "utm_term": parts.adset if term == "adset" else parts.keyword,
        "utm_content": parts.ad,
        # What utm_term does not mean for this source.
        "trk_ad_group": "" if term == "adset" else parts.adset,
        "trk_keyword": parts.keyword if term == "adset" else "",
    }
    return {name: value for name, value in values.items() if value}


def build_link(address: str, parts: LinkParts) -> str:
    """Return the address with the parameters of the link, before its fragment. Those that it has
    already of SET_BY_LINKS are left out, all others stay. Raises BadAddress.
    """
    base = read_page_address(address)
    page, hash_sign, fragment = base.partition("#")
    path, _, query = page.partition("?")
    kept = [piece for piece in query.split("&") if piece and name_of(piece) not in SET_BY_LINKS]
    added = [f"{name}={quote(value, safe=_MACROS)}" for name, value in parameters_of(parts).items()]
    return f"{path}?{'&'.join([*kept, *added])}{hash_sign}{fragment}"


def read_page_address(address: str) -> str:
    """Return the address of a page as it goes into a link: with https:// where it has no scheme,
    blanks percent-encoded. Raises BadAddress.
    """
    text = address.strip()
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in text):
        raise BadAddress("The address has a line break or another control character in it.")
    if not has_scheme(text):
        scheme, separator, _ = text.partition("://")
        if separator:
            raise BadAddress(f"The address begins with {scheme[:20]}://: a page's begins with https://.")
        text = f"https://{text.removeprefix('//')}"
    read = read_address(text)
    # With neither a scheme nor a path in front, an @ is of an e-mail address.
    is_mail = "@" in re.split("[/?#]", address.strip(), maxsplit=1)[0]
    if read is None or is_mail or read.host.startswith(APP) or not is_host_of_page(read.host):
        raise BadAddress("This is no address of a page: it needs a host, as in https://shop.example/tents.")
    return text.replace(" ", "%20")


def is_host_of_page(host: str) -> bool:
    """True for a host that a page can have: a name with a dot, an IP address, or this machine."""
    return "." in host or host.startswith("[") or host == "localhost"


def replaced_in(address: str) -> list[str]:
    """Return the parameters of an address that a link has its own of, as they stand there."""
    return [piece for piece in _pieces(address) if name_of(piece) in SET_BY_LINKS]


def click_ids_in(address: str) -> list[str]:
    """Return the names of the click ids in an address: marks of somebody's click, long past."""
    return [name for name in map(name_of, _pieces(address)) if name in CLICK_IDS]


def _pieces(address: str) -> list[str]:
    query = address.partition("#")[0].partition("?")[2]
    return [piece for piece in query.split("&") if piece]


def name_of(piece: str) -> str:
    """Return the name of a parameter as the rules read it."""
    return unquote_plus(piece.partition("=")[0]).lower().removeprefix("amp;")
