"""The rules that name a source, each a function from evidence to its answer or None. The tables at
the end have the order in which they are applied; docs/attribution.md describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.sources import clicks
from headwater.sources.catalogue import PAID_OTHER, SOURCE_IDS
from headwater.sources.evidence import UNDECLARED, Evidence, ListedReferrer, OtherReferrer
from headwater.sources.outcomes import NoTouch, Outcome, Source
from headwater.sources.parameters import CAMPAIGN
from headwater.sources.vocabulary import is_paid, message_of, of_platform, platform_of, target_of, words

Rule = Callable[[Evidence], Outcome | None]

SHOWS_ADS_OF = {"youtube": "google", "duckduckgo": "bing", "yahoo": "bing", "ai_copilot": "bing"}
"""Platforms whose ads carry another network's click id."""

_VIDEO = frozenset({"youtube", "video", "videos", "yt"})


def _declared_source(evidence: Evidence) -> Source | None:
    declared = evidence.declared
    if declared is UNDECLARED and evidence.declared_network is None:
        return None
    source = declared.source.strip().lower() if declared.source is not None else ""
    if source in SOURCE_IDS:
        return Source(source, "trk_source")
    if evidence.declared_network is not None:
        value = declared.source or declared.network
        return Source(evidence.declared_network, f"declared_network{_ending(evidence)}", value)
    rule, name = ("trk_source_alias", source) if source else ("trk_network_alias", declared.network)
    target = target_of(name)
    if target is None:
        return None
    return Source(of_platform(target, paid=evidence.paid), rule, name)


def _click_id(evidence: Evidence) -> Source | None:
    parameters = evidence.parameters
    if clicks.ADS.keys().isdisjoint(parameters):
        return None
    for parameter, network in clicks.ADS.items():
        if parameter in parameters and (place := _placement(network, evidence)) is not None:
            return Source(of_platform(place, paid=True), parameter)
    return None


def _hubspot(evidence: Evidence) -> Source | None:
    """The network that HubSpot's tracking of ads names."""
    target = target_of(evidence.parameters.get("hsa_net"))
    if target is None or (place := _placement(platform_of(target), evidence)) is None:
        return None
    return Source(of_platform(place, paid=True), "hsa_net", evidence.parameters["hsa_net"])


def _placement(network: str, evidence: Evidence) -> str | None:
    """The platform that showed a network's ad, or None when the link went on from the ad's click
    to somewhere else: links are shared and copied with the parameters of the click that opened
    them, and utm_source or the referrer then says so.
    """
    named, referrer = evidence.named, evidence.referrer
    if named is not None:
        place = platform_of(named)
    elif isinstance(referrer, ListedReferrer):
        place = platform_of(referrer.target)
    else:
        place = network
    if place != network and SHOWS_ADS_OF.get(place) != network:
        return None
    if network == "google":
        campaign = words(evidence.parameters.get("utm_campaign", ""))
        return "youtube" if place == "youtube" or not _VIDEO.isdisjoint(campaign) else network
    # Only utm_source wins over the network: the referrer may be a partner's.
    return place if named is not None else network


def _utm_source(evidence: Evidence) -> Source | None:
    named = evidence.named
    if named is None:
        return None
    value = evidence.parameters["utm_source"]
    if evidence.network is not None:
        # The rule keeps that it was paid for, in case the network or name is taken away again.
        return Source(evidence.network, f"own_network{_ending(evidence)}", value)
    if evidence.is_own_name:
        return Source(named, f"own_utm_source{_ending(evidence)}", value)
    # Tools for mail send text messages as well.
    if named == "email" and _medium(evidence) == "sms":
        return Source("sms", "utm_medium", evidence.parameters["utm_medium"])
    rule = "utm_source_paid" if evidence.paid else "utm_source"
    return Source(of_platform(named, paid=evidence.paid), rule, value)


def _ending(evidence: Evidence) -> str:
    """The end of a rule's name that says paid."""
    return "_paid" if evidence.paid else ""


def _utm_medium(evidence: Evidence) -> Source | None:
    medium = _medium(evidence)
    if medium is None:
        return None
    return Source(medium, "utm_medium", evidence.parameters["utm_medium"])


def _medium(evidence: Evidence) -> str | None:
    """`email` or `sms` when utm_medium says that a message brought the link, not an ad in one."""
    value = evidence.parameters.get("utm_medium")
    return None if value is None or evidence.paid else message_of(value)


def _mail(evidence: Evidence) -> Source | None:
    parameter = _first(clicks.MAIL, evidence)
    return Source("email", parameter) if parameter is not None else None


def _referrer(evidence: Evidence) -> Source | None:
    referrer = evidence.referrer
    if not isinstance(referrer, ListedReferrer):
        return None
    paid = evidence.paid and referrer.target not in SOURCE_IDS
    rule = "referrer_paid" if paid else "referrer"
    return Source(of_platform(referrer.target, paid=paid), rule, referrer.pattern)


def _link(evidence: Evidence) -> Source | None:
    """A network's mark on all its links, as long as no other site passed the link on."""
    parameter = _first(clicks.LINKS, evidence)
    if parameter is None or isinstance(evidence.referrer, OtherReferrer):
        return None
    return Source(of_platform(clicks.LINKS[parameter], paid=evidence.paid), parameter)


def _paid(evidence: Evidence) -> Source | None:
    """A paid click on an ad of a network that nothing names."""
    if not evidence.paid:
        return None
    medium = evidence.parameters.get("utm_medium")
    if is_paid(medium):
        return Source(PAID_OTHER, "paid_medium", medium)
    return Source(PAID_OTHER, "paid_type")


def _campaign(evidence: Evidence) -> Source | None:
    """A campaign of somebody unlisted: a referral, not a direct visit."""
    parameter = _first(clicks.OTHER, evidence)
    if parameter is not None:
        return Source("referral", parameter)
    name = next((name for name in CAMPAIGN if name in evidence.parameters), None)
    return Source("referral", "campaign", evidence.parameters[name]) if name is not None else None


def _coming_back(evidence: Evidence) -> NoTouch | None:
    """No touch for people who come from the site itself, or back from a payment or a sign-in."""
    return evidence.referrer if isinstance(evidence.referrer, NoTouch) else None


def _other_site(evidence: Evidence) -> Source | None:
    site = evidence.referrer
    return Source("referral", "other_site", site.host) if isinstance(site, OtherReferrer) else None


def _first(parameters: Mapping[str, str], evidence: Evidence) -> str | None:
    """The first of the parameters that the URL has, in the order of their table."""
    if parameters.keys().isdisjoint(evidence.parameters):
        return None
    return next(name for name in parameters if name in evidence.parameters)


NAMING: tuple[Callable[[Evidence], Source | None], ...] = (
    _declared_source,
    _click_id,
    _hubspot,
    _utm_source,
    _utm_medium,
    _mail,
    _referrer,
    _link,
    _paid,
)
"""Rules that name a source. The first that answers wins."""

ARRIVING: tuple[Rule, ...] = (*NAMING, _campaign, _coming_back, _other_site)
"""Rules for a page that was opened; when none answers, it was opened directly."""

DECLARED = frozenset({"trk_source", "trk_source_alias", "trk_network_alias"})
"""The rules by which parameters decide that declare the source outright."""
DECLARED_NETWORK = frozenset({"declared_network", "declared_network_paid"})
"""The rules by which they name a paid network of the Space's own."""

PAID_RULES = frozenset(
    {
        "declared_network_paid",
        "own_network_paid",
        "own_utm_source_paid",
        "utm_source_paid",
        "referrer_paid",
        "paid_medium",
        "paid_type",
    }
)
"""The rules that only answer when a medium or a traffic type says paid."""

RULES = frozenset(
    {
        *DECLARED,
        *DECLARED_NETWORK,
        *PAID_RULES,
        "hsa_net",
        "own_network",
        "own_utm_source",
        "utm_source",
        "utm_medium",
        "referrer",
        "campaign",
        "other_site",
        "direct",
        "fallback",
    }
    | clicks.ADS.keys()
    | clicks.LINKS.keys()
    | clicks.MAIL.keys()
    | clicks.OTHER.keys()
)
"""Every name of a rule in the answers."""
