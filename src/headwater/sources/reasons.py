"""Explain a stored rule in words, with the deciding parameter or referrer. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from headwater.base.name_lists import list_names
from headwater.sources import clicks
from headwater.sources.addresses import read_address
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import PARAMETERS as AD_PARAMETERS
from headwater.sources.outcomes import NothingReason
from headwater.sources.parameters import CAMPAIGN, MARKS, read_pairs, read_parameters
from headwater.sources.titles import format_title
from headwater.sources.vocabulary import REFERRERS

MAX_UNREAD = 8

_READ_PARAMETERS = frozenset({*MARKS, *AD_PARAMETERS, "hsa_net"})

_WORDS = {
    "trk_source": "its trk_source names the source explicitly",
    "trk_source_alias": "its trk_source is another name of the source",
    "trk_network_alias": "its trk_network names the source, and there is no trk_source",
    "hsa_net": "HubSpot's ad tracking names the network",
    "declared_network": "its trk_source or trk_network names one of your own paid networks",
    "declared_network_paid": "its trk_source or trk_network names one of your own paid networks",
    "own_network": "its utm_source names one of your own paid networks",
    "own_network_paid": "its utm_source names one of your own paid networks",
    "own_utm_source_paid": "you mapped its utm_source to the source",
    "own_utm_source": "you mapped its utm_source to the source",
    "utm_source_paid": "its utm_source names it, and its utm_medium indicates paid traffic",
    "utm_source": "its utm_source names it",
    "utm_medium": "its utm_medium indicates an email or a text message",
    "referrer_paid": "its referrer is a known site, and utm_medium indicates paid traffic",
    "referrer": "its referrer is a known site",
    "paid_medium": "its utm_medium indicates paid traffic, but nothing names the network",
    "paid_type": "its trk_type or trk_network indicates paid traffic, but nothing names the network",
    "campaign": "the link was made for a campaign, but nothing in it names a listed source",
    "other_site": "its referrer is a site that is not a listed source",
    "direct": "it has no referrer and no parameter that names a source",
    "fallback": "its parameters name no listed source, so it counts as a referral",
    NothingReason.OWN_HOST: "its referrer is one of the business's own pages",
    NothingReason.PAYMENT_PROVIDER: "the visitor came back from a payment",
    NothingReason.LOGIN_HOST: "the visitor came back from signing in",
    NothingReason.EXCLUDED_HOST: "its referrer is an excluded site",
}

_DECIDED_BY = {
    "trk_source": ("trk_source",),
    "trk_source_alias": ("trk_source",),
    "trk_network_alias": ("trk_network",),
    "hsa_net": ("hsa_net",),
    "declared_network": ("trk_source",),
    "declared_network_paid": ("trk_source",),
    "own_network": ("utm_source",),
    "own_network_paid": ("utm_source", "utm_medium"),
    "own_utm_source_paid": ("utm_source",),
    "own_utm_source": ("utm_source",),
    "utm_source_paid": ("utm_source", "utm_medium"),
    "utm_source": ("utm_source",),
    "utm_medium": ("utm_medium",),
    "referrer_paid": ("utm_medium",),
    "paid_medium": ("utm_medium",),
    "paid_type": ("trk_type", "trk_network"),
}
"""The parameters that a rule reads, if not the one it is named after."""
_BY_REFERRER = frozenset({"referrer_paid", "referrer", "other_site", *NothingReason})
_EVENT_PARAMETERS = frozenset({"trk_source", "trk_network", "trk_type"})
"""Parameters that events may have besides their URL; their values aren't stored."""

_EXCLUDED = {
    NothingReason.OWN_HOST: "one of the business's own pages",
    NothingReason.PAYMENT_PROVIDER: "a payment provider",
    NothingReason.LOGIN_HOST: "a sign-in page",
    NothingReason.EXCLUDED_HOST: "a host that the Space excludes",
}


class Clue(msgspec.Struct, frozen=True, gc=False):
    kind: Literal["parameter", "referrer", "sent"]
    name: str
    value: str | None

    @property
    def text(self) -> str:
        """The clue on one line, as in a URL."""
        if self.kind == "referrer":
            return f"referrer {self.value}"
        return self.name if self.value is None else f"{self.name}={self.value}"


class RuleReason(msgspec.Struct, frozen=True, gc=False):
    rule: str
    words: str
    clues: tuple[Clue, ...]


def explain_rule(rule: str, url: str | None, referrer: str | None) -> RuleReason:
    """Explain a rule. `url` is the opened page, and `referrer` the URL or host before it."""
    clues = [*_parameters(rule, url)]
    if rule in _BY_REFERRER and (address := read_address(_full(referrer))) is not None:
        clues.append(Clue("referrer", "referrer", address.host))
    return RuleReason(rule, _words(rule), tuple(clues))


def list_findings(url: str | None, referrer: str | None, exclusions: Exclusions = SHIPPED) -> list[str]:
    """Describe evidence examined in vain, for a touch of the rule `direct`."""
    return [_describe_address(url), *_describe_unread(url), _describe_referrer(url, referrer, exclusions)]


def _words(rule: str) -> str:
    if rule in clicks.ADS:
        return f"only ads of {format_title(clicks.ADS[rule])} add {rule} to a link"
    if rule in clicks.LINKS:
        return f"{format_title(clicks.LINKS[rule])} adds {rule} to every link, paid or not"
    if rule in clicks.MAIL:
        return f"email software adds {rule} to its links"
    if rule in clicks.OTHER:
        return f"{rule} is a click id of a network that is not a listed source"
    return _WORDS.get(rule, f"the rule {rule}")


def _parameters(rule: str, url: str | None) -> list[Clue]:
    url_parameters = _read(url)
    if rule == "campaign":
        name = next((name for name in CAMPAIGN if name in url_parameters), None)
        return [] if name is None else [Clue("parameter", name, url_parameters[name])]
    names = _DECIDED_BY.get(rule, (rule,) if rule in MARKS else ())
    clues = [Clue("parameter", name, url_parameters[name]) for name in names if name in url_parameters]
    if not clues and names and names[0] in _EVENT_PARAMETERS:
        clues.append(Clue("sent", names[0], None))
    return clues


def _read(url: str | None) -> dict[str, str]:
    return read_parameters(url, _READ_PARAMETERS, clicks.CLICK_IDS) if url else {}


def _describe_address(url: str | None) -> str:
    if not url:
        return "There is no page URL that could have parameters."
    parameters = _read(url)
    stale_names = [name for name in parameters if name in clicks.AD_CLICKS]
    if stale_names:
        return (
            f"The page's URL has {', '.join(stale_names)} of a click first seen long before in another "
            "browser: the link was shared."
        )
    if parameters:
        return f"The page's URL has {', '.join(parameters)}, which name no source."
    return (
        "The page's URL has no parameter that names a source: none of the "
        f"{len(clicks.ADS | clicks.LINKS | clicks.MAIL | clicks.OTHER)} known click ids and other "
        "network parameters, and no UTM or trk_ parameter."
    )


def _describe_unread(url: str | None) -> list[str]:
    unread_names: dict[str, None] = {}
    for full, _ in read_pairs(url or ""):
        name = full[:40].replace("\0", "")
        if name.strip() and full not in _READ_PARAMETERS:
            unread_names[name] = None
    if not unread_names:
        return []
    return [f"It has {list_names([*unread_names], MAX_UNREAD)}, which no rule reads."]


def _describe_referrer(url: str | None, referrer: str | None, exclusions: Exclusions) -> str:
    address = read_address(_full(referrer))
    if address is None:
        return (
            "There is no referrer: the URL was typed in or opened from a bookmark, an app or a "
            "message, or the previous site hides where its visitors go."
        )
    exclusion = exclusions.find(address, read_address(url))
    if exclusion is not None:
        return f"The referrer was {address.host}, {_EXCLUDED[exclusion.reason]}."
    kind = "a known site" if REFERRERS.find(address) is not None else "not a listed source"
    return f"The referrer was {address.host}, {kind}."


def _full(referrer: str | None) -> str | None:
    """Complete stored referrers, which are hosts."""
    return referrer if referrer is None or "//" in referrer else f"//{referrer}"
