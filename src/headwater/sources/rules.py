"""The rules that name a source, each a function from evidence to its answer or None. The tables at
the end say in which order they are asked; docs/attribution.md says it in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.sources import clicks
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.evidence import CAMPAIGN, UNSAID, Evidence, ListedReferrer, OtherReferrer
from headwater.sources.outcomes import NothingReason, NoTouch, Outcome, Source
from headwater.sources.vocabulary import ALIASES, of_platform, says_paid, target_of, words

Rule = Callable[[Evidence], Outcome | None]

SHOWS_ADS_OF = {"youtube": "google", "duckduckgo": "bing", "yahoo": "bing", "ai_copilot": "bing"}
"""Platforms whose ads carry another network's click id."""

_MEDIA = {"email": "email", "newsletter": "email", "sms": "sms", "mms": "sms"}
"""First words of media that say how a message was sent."""

_VIDEO = frozenset({"youtube", "video", "videos", "yt"})


def _coming_back(evidence: Evidence) -> NoTouch | None:
    """A payment provider or a sign-in sends people back with the parameters they once came with:
    nothing there is new.
    """
    came = evidence.referrer
    if isinstance(came, NoTouch) and came.reason is not NothingReason.OWN_HOST:
        return came
    return None


def _said(evidence: Evidence) -> Source | None:
    said = evidence.said
    if said is UNSAID:
        return None
    source = said.source.strip().lower() if said.source is not None else ""
    if source in SOURCE_IDS:
        return Source(source, "trk_source")
    rule, name = ("trk_source_alias", source) if source else ("trk_network_alias", said.network)
    target = target_of(name)
    if target is None:
        return None
    paid = says_paid(said.type) or says_paid(said.network)
    return Source(of_platform(target, paid=paid), rule, name)


def _click_id(evidence: Evidence) -> Source | None:
    given = evidence.given
    if clicks.ADS.keys().isdisjoint(given):
        return None
    for parameter, network in clicks.ADS.items():
        if parameter in given and (place := _shown_on(network, evidence)) is not None:
            return Source(of_platform(place, paid=True), parameter)
    return None


def _hubspot(evidence: Evidence) -> Source | None:
    """HubSpot's tracking of ads names their network."""
    target = target_of(evidence.given.get("hsa_net"))
    if target is None or (place := _shown_on(target.removesuffix("_ads"), evidence)) is None:
        return None
    return Source(of_platform(place, paid=True), "hsa_net", evidence.given["hsa_net"])


def _shown_on(network: str, evidence: Evidence) -> str | None:
    """The platform that showed a network's ad, or None when the link went on from the ad's click
    to somewhere else: links are shared and copied with the parameters of the click that opened
    them, and utm_source or the referrer then says so.
    """
    named, came = evidence.named, evidence.referrer
    if named is not None:
        place = named.removesuffix("_ads")
    elif isinstance(came, ListedReferrer):
        place = came.target.removesuffix("_ads")
    else:
        place = network
    if place != network and SHOWS_ADS_OF.get(place) != network:
        return None
    if network == "google":
        campaign = words(evidence.given.get("utm_campaign", ""))
        return "youtube" if place == "youtube" or not _VIDEO.isdisjoint(campaign) else network
    # Only a name given to the link is believed over the network: the referrer may be a partner's.
    return place if named is not None else network


def _utm_source(evidence: Evidence) -> Source | None:
    named = evidence.named
    if named is None:
        return None
    value = evidence.given["utm_source"]
    # Tools for mail send text messages as well.
    if named == "email" and _medium(evidence) == "sms":
        return Source("sms", "utm_medium", evidence.given["utm_medium"])
    rule = "utm_source_paid" if evidence.paid else "utm_source"
    return Source(of_platform(named, paid=evidence.paid), rule, value)


def _utm_medium(evidence: Evidence) -> Source | None:
    medium = _medium(evidence)
    if medium is None:
        return None
    return Source(medium, "utm_medium", evidence.given["utm_medium"])


def _medium(evidence: Evidence) -> str | None:
    """`email` or `sms` when utm_medium says that a message brought the link."""
    value = evidence.given.get("utm_medium")
    if value is None:
        return None
    target = ALIASES.get(value.lower())
    if target in ("email", "sms"):
        return target
    return _MEDIA.get(next(iter(words(value)), ""))


def _mail(evidence: Evidence) -> Source | None:
    parameter = _first(clicks.MAIL, evidence)
    return Source("email", parameter) if parameter is not None else None


def _referrer(evidence: Evidence) -> Source | None:
    came = evidence.referrer
    if not isinstance(came, ListedReferrer):
        return None
    paid = evidence.paid and came.target not in SOURCE_IDS
    rule = "referrer_paid" if paid else "referrer"
    return Source(of_platform(came.target, paid=paid), rule, came.pattern)


def _link(evidence: Evidence) -> Source | None:
    """A network's mark on all its links, as long as no other site passed the link on."""
    parameter = _first(clicks.LINKS, evidence)
    if parameter is None or isinstance(evidence.referrer, OtherReferrer):
        return None
    return Source(of_platform(clicks.LINKS[parameter], paid=evidence.paid), parameter)


def _campaign(evidence: Evidence) -> Source | None:
    """A campaign of somebody unlisted: a referral, not a direct visit."""
    parameter = _first(clicks.OTHER, evidence)
    if parameter is not None:
        return Source("referral", parameter)
    name = next((name for name in CAMPAIGN if name in evidence.given), None)
    return Source("referral", "campaign", evidence.given[name]) if name is not None else None


def _own_host(evidence: Evidence) -> NoTouch | None:
    return evidence.referrer if isinstance(evidence.referrer, NoTouch) else None


def _other_site(evidence: Evidence) -> Source | None:
    came = evidence.referrer
    return Source("referral", "other_site", came.host) if isinstance(came, OtherReferrer) else None


def _first(parameters: Mapping[str, str], evidence: Evidence) -> str | None:
    """The first of the parameters that the URL has, in the order of their table."""
    if parameters.keys().isdisjoint(evidence.given):
        return None
    return next(name for name in parameters if name in evidence.given)


NAMING: tuple[Callable[[Evidence], Source | None], ...] = (
    _said, _click_id, _hubspot, _utm_source, _utm_medium, _mail, _referrer, _link,
)  # fmt: skip
"""Rules that know a source by name. The first that answers wins."""

ARRIVING: tuple[Rule, ...] = (_coming_back, *NAMING, _campaign, _own_host, _other_site)
"""Rules for a page that was opened; when none answers, it was opened directly."""

RULES = frozenset(
    {
        "trk_source", "trk_source_alias", "trk_network_alias", "hsa_net", "utm_source_paid",
        "utm_source", "utm_medium", "referrer_paid", "referrer", "campaign", "other_site",
        "direct", "fallback",
    }
    | clicks.ADS.keys() | clicks.LINKS.keys() | clicks.MAIL.keys() | clicks.OTHER.keys()
)  # fmt: skip
"""Every name that a rule goes by in what it answers."""
