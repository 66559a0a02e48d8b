"""The rules that choose a source, described in docs/attribution.md: functions from evidence to an outcome or
None, listed at the end in order of application.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.sources import clicks
from headwater.sources.catalogue import PAID_OTHER, SOURCE_IDS
from headwater.sources.evidence import UNDECLARED, Evidence, ListedReferrer, OtherReferrer
from headwater.sources.outcomes import NoTouch, Outcome, Source
from headwater.sources.parameters import CAMPAIGN
from headwater.sources.vocabulary import choose_source, find_message, find_target, is_paid, strip_kind, words

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
    target = find_target(name)
    if target is None:
        return None
    return Source(choose_source(target, paid=evidence.paid), rule, name)


def _click_id(evidence: Evidence) -> Source | None:
    parameters = evidence.parameters
    if clicks.ADS.keys().isdisjoint(parameters):
        return None
    for parameter, network in clicks.ADS.items():
        if parameter in parameters and (platform := _find_placement(network, evidence)) is not None:
            return Source(choose_source(platform, paid=True), parameter)
    return None


def _hubspot(evidence: Evidence) -> Source | None:
    target = find_target(evidence.parameters.get("hsa_net"))
    if target is None or (platform := _find_placement(strip_kind(target), evidence)) is None:
        return None
    return Source(choose_source(platform, paid=True), "hsa_net", evidence.parameters["hsa_net"])


def _find_placement(network: str, evidence: Evidence) -> str | None:
    """Return the platform that showed a network's ad; None if utm_source or the referrer show that the link
    was shared elsewhere after the click.
    """
    name, referrer = evidence.named_source, evidence.referrer
    if name is not None:
        platform = strip_kind(name)
    elif isinstance(referrer, ListedReferrer):
        platform = strip_kind(referrer.target)
    else:
        platform = network
    if platform != network and SHOWS_ADS_OF.get(platform) != network:
        return None
    if network == "google":
        campaign = words(evidence.parameters.get("utm_campaign", ""))
        return "youtube" if platform == "youtube" or not _VIDEO.isdisjoint(campaign) else network
    # Only utm_source wins over the network: the referrer may be a partner's.
    return platform if name is not None else network


def _utm_source(evidence: Evidence) -> Source | None:
    if evidence.named_source is None:
        return None
    value = evidence.parameters["utm_source"]
    if evidence.network is not None:
        # The rule's name keeps that it was paid, in case the network or name is removed
        # later.
        return Source(evidence.network, f"own_network{_ending(evidence)}", value)
    if evidence.is_own_name:
        return Source(evidence.named_source, f"own_utm_source{_ending(evidence)}", value)
    # Email tools send text messages too.
    if evidence.named_source == "email" and _medium(evidence) == "sms":
        return Source("sms", "utm_medium", evidence.parameters["utm_medium"])
    rule = "utm_source_paid" if evidence.paid else "utm_source"
    return Source(choose_source(evidence.named_source, paid=evidence.paid), rule, value)


def _ending(evidence: Evidence) -> str:
    return "_paid" if evidence.paid else ""


def _utm_medium(evidence: Evidence) -> Source | None:
    medium = _medium(evidence)
    if medium is None:
        return None
    return Source(medium, "utm_medium", evidence.parameters["utm_medium"])


def _medium(evidence: Evidence) -> str | None:
    """Return `email` or `sms` if utm_medium is a message, not an ad in one."""
    value = evidence.parameters.get("utm_medium")
    return None if value is None or evidence.paid else find_message(value)


def _mail(evidence: Evidence) -> Source | None:
    parameter = _first(clicks.MAIL, evidence)
    return Source("email", parameter) if parameter is not None else None


def _referrer(evidence: Evidence) -> Source | None:
    referrer = evidence.referrer
    if not isinstance(referrer, ListedReferrer):
        return None
    paid = evidence.paid and referrer.target not in SOURCE_IDS
    rule = "referrer_paid" if paid else "referrer"
    return Source(choose_source(referrer.target, paid=paid), rule, referrer.pattern)


def _link(evidence: Evidence) -> Source | None:
    """Match a network's mark on all its links, unless another site shared the link."""
    parameter = _first(clicks.LINKS, evidence)
    if parameter is None or isinstance(evidence.referrer, OtherReferrer):
        return None
    return Source(choose_source(clicks.LINKS[parameter], paid=evidence.paid), parameter)


def _paid(evidence: Evidence) -> Source | None:
    """Match paid traffic of an unnamed network."""
    if not evidence.paid:
        return None
    medium = evidence.parameters.get("utm_medium")
    if is_paid(medium):
        return Source(PAID_OTHER, "paid_medium", medium)
    return Source(PAID_OTHER, "paid_type")


def _campaign(evidence: Evidence) -> Source | None:
    """Match a campaign of an unlisted sender: a referral, not a direct visit."""
    parameter = _first(clicks.OTHER, evidence)
    if parameter is not None:
        return Source("referral", parameter)
    name = next((name for name in CAMPAIGN if name in evidence.parameters), None)
    return Source("referral", "campaign", evidence.parameters[name]) if name is not None else None


def _coming_back(evidence: Evidence) -> NoTouch | None:
    """Exclude visitors from the site itself, or back from a payment or sign-in."""
    return evidence.referrer if isinstance(evidence.referrer, NoTouch) else None


def _other_site(evidence: Evidence) -> Source | None:
    site = evidence.referrer
    return Source("referral", "other_site", site.host) if isinstance(site, OtherReferrer) else None


def _first(parameters: Mapping[str, str], evidence: Evidence) -> str | None:
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

ARRIVING: tuple[Rule, ...] = (*NAMING, _campaign, _coming_back, _other_site)
"""Rules for an opened page. Without a match, it was opened directly."""

DECLARED = frozenset({"trk_source", "trk_source_alias", "trk_network_alias"})
DECLARED_NETWORK = frozenset({"declared_network", "declared_network_paid"})

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
"""Rules that require a medium or traffic type indicating paid traffic."""
