"""Rules in words, and the parameter or the referrer by which one decided. Pure: the rule of a touch
is the one stored with it, and is not applied anew.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from headwater.sources import clicks
from headwater.sources.addresses import read_address
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import PARAMETERS as AD_PARAMETERS
from headwater.sources.outcomes import NothingReason
from headwater.sources.parameters import CAMPAIGN, MARKS, read_pairs, read_parameters
from headwater.sources.titles import title_of
from headwater.sources.vocabulary import REFERRERS

MOST_UNREAD = 8
"""The most parameters without a meaning that are named."""

_READ = frozenset({*MARKS, *AD_PARAMETERS, "hsa_net"})

_WORDS = {
    "trk_source": "its trk_source names the source outright",
    "trk_source_alias": "its trk_source has another name of the source",
    "trk_network_alias": "its trk_network has a name of the source, and there is no trk_source",
    "hsa_net": "HubSpot's tracking of ads names the network",
    "declared_network": "its trk_source or trk_network names one of your own paid networks",
    "declared_network_paid": "its trk_source or trk_network names one of your own paid networks",
    "own_network": "its utm_source names one of your own paid networks",
    "own_network_paid": "its utm_source names one of your own paid networks",
    "own_utm_source_paid": "its utm_source has a name that you have mapped to the source",
    "own_utm_source": "its utm_source has a name that you have mapped to the source",
    "utm_source_paid": "its utm_source names it, and its utm_medium says that it was paid for",
    "utm_source": "its utm_source names it",
    "utm_medium": "its utm_medium says that an e-mail or a text message brought the link",
    "referrer_paid": "the site before it is a known one, and utm_medium says that it was paid for",
    "referrer": "the site before it is a known one",
    "paid_medium": "its utm_medium says that it was paid for, and nothing names the network",
    "paid_type": "its trk_type or trk_network says that it was paid for, and nothing names the network",
    "campaign": "the link was made for a campaign, but nothing in it names a listed source",
    "other_site": "another site led here, which is no listed source",
    "direct": "nothing led here that could be seen",
    "fallback": "its parameters name no listed source, so it counts as a referral",
    NothingReason.OWN_HOST: "one of the business's own pages led here",
    NothingReason.PAYMENT_PROVIDER: "they came back from a payment",
    NothingReason.LOGIN_HOST: "they came back from signing in",
    NothingReason.EXCLUDED_HOST: "the site before it is an excluded one",
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
"""The parameters whose values a rule reads, where it is not named after the one that it reads."""
_BY_REFERRER = frozenset({"referrer_paid", "referrer", "other_site", *NothingReason})
_EVENTS_OWN = frozenset({"trk_source", "trk_network", "trk_type"})
"""Parameters that an event may have beside its URL; their values are not kept."""

_EXCLUDED = {
    NothingReason.OWN_HOST: "one of the business's own pages",
    NothingReason.PAYMENT_PROVIDER: "a payment provider",
    NothingReason.LOGIN_HOST: "a place to sign in",
    NothingReason.EXCLUDED_HOST: "a host that the Space excludes",
}


class Clue(msgspec.Struct, frozen=True, gc=False):
    """A parameter or a referrer that decided."""

    kind: Literal["parameter", "referrer", "sent"]
    """`sent` is a parameter that came with the event, not in the URL."""
    name: str
    value: str | None

    @property
    def text(self) -> str:
        """The clue on one line, as in a URL."""
        if self.kind == "referrer":
            return f"referrer {self.value}"
        return self.name if self.value is None else f"{self.name}={self.value}"


class RuleReason(msgspec.Struct, frozen=True, gc=False):
    """A rule in words, and what it went by."""

    rule: str
    words: str
    clues: tuple[Clue, ...]


def explain_rule(rule: str, url: str | None, referrer: str | None) -> RuleReason:
    """Return the reason for a source that a rule named: `url` is the page that was opened, and
    `referrer` the URL or the host that led to it.
    """
    clues = [*_parameters(rule, url)]
    if rule in _BY_REFERRER and (address := read_address(_full(referrer))) is not None:
        clues.append(Clue("referrer", "referrer", address.host))
    return RuleReason(rule, _words(rule), tuple(clues))


def list_findings(url: str | None, referrer: str | None, exclusions: Exclusions = SHIPPED) -> list[str]:
    """Return, in sentences, what was looked at to name the source of a touch, and what was there:
    for a touch that no rule but `direct` has named.
    """
    return [_of_address(url), *_unread(url), _of_referrer(url, referrer, exclusions)]


def _words(rule: str) -> str:
    if rule in clicks.ADS:
        return f"only ads of {title_of(clicks.ADS[rule])} put {rule} on a link"
    if rule in clicks.LINKS:
        return f"{title_of(clicks.LINKS[rule])} puts {rule} on every link, paid for or not"
    if rule in clicks.MAIL:
        return f"mail software puts {rule} on its links"
    if rule in clicks.OTHER:
        return f"{rule} is a click id of a network that is no listed source"
    return _WORDS.get(rule, f"the rule {rule}")


def _parameters(rule: str, url: str | None) -> list[Clue]:
    """The parameters by which a rule decides, those first that the URL has."""
    in_url = _read(url)
    if rule == "campaign":
        name = next((name for name in CAMPAIGN if name in in_url), None)
        return [] if name is None else [Clue("parameter", name, in_url[name])]
    names = _DECIDED_BY.get(rule, (rule,) if rule in MARKS else ())
    clues = [Clue("parameter", name, in_url[name]) for name in names if name in in_url]
    if not clues and names and names[0] in _EVENTS_OWN:
        clues.append(Clue("sent", names[0], None))
    return clues


def _read(url: str | None) -> dict[str, str]:
    return read_parameters(url, _READ, clicks.CLICK_IDS) if url else {}


def _of_address(url: str | None) -> str:
    if not url:
        return "There is no address of a page that could have parameters."
    parameters = _read(url)
    stale = [name for name in parameters if name in clicks.AD_CLICKS]
    if stale:
        return (
            f"The page's address has {', '.join(stale)}, but of a click that was first seen in "
            "another browser and long before: the link was passed on."
        )
    if parameters:
        return f"The page's address has {', '.join(parameters)}, which name no source."
    return (
        "The page's address has no parameter that names a source: none of the "
        f"{len(clicks.ADS | clicks.LINKS | clicks.MAIL | clicks.OTHER)} known click ids and other "
        "marks of networks, no UTM parameter and none of trk_."
    )


def _unread(url: str | None) -> list[str]:
    """A sentence on the parameters that no rule reads, if there are any."""
    unread: dict[str, None] = {}
    for full, _ in read_pairs(url or ""):
        name = full[:40].replace("\0", "")
        if name.strip() and full not in _READ:
            unread[name] = None
    if not unread:
        return []
    names = list(unread)
    more = f" and {len(names) - MOST_UNREAD} more" if len(names) > MOST_UNREAD else ""
    return [f"It has {', '.join(names[:MOST_UNREAD])}{more}, which no rule reads."]


def _of_referrer(url: str | None, referrer: str | None, exclusions: Exclusions) -> str:
    address = read_address(_full(referrer))
    if address is None:
        return (
            "No site before it was named: the address was typed in or opened from a bookmark, an "
            "app or a message, or the site before it does not say where its visitors go."
        )
    excluded = exclusions.find(address, read_address(url))
    if excluded is not None:
        return f"The site before it was {address.host}, {_EXCLUDED[excluded.reason]}."
    known = "a known one" if REFERRERS.find(address) is not None else "no listed source"
    return f"The site before it was {address.host}, {known}."


def _full(referrer: str | None) -> str | None:
    """A referrer as an address; what is stored is its host."""
    return referrer if referrer is None or "//" in referrer else f"//{referrer}"
