"""The source that a stored touch would have if it came today: what a change of a Space's own names
means for the past. Pure.

The decision is the one about new touches, made of what is stored. That is the whole URL; of the
referrer only its host, so that a pattern of a path no longer matches; and of parameters that were
declared besides the URL nothing but the rule by which they decided.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from headwater.sources import clicks
from headwater.sources.catalogue import channel_of
from headwater.sources.classify import decide
from headwater.sources.evidence import UNDECLARED, Evidence, Landing, read_evidence
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import ad_of
from headwater.sources.outcomes import Ad, Outcome, Source
from headwater.sources.parameters import read_parameters
from headwater.sources.resolve import name_source
from headwater.sources.rules import DECLARED, DECLARED_NETWORK, PAID_RULES
from headwater.sources.source_names import SourceNames, normal_name

_UTM_SOURCE = frozenset({"utm_source"})
_NAMING_NETWORKS = frozenset({"utm_source", "trk_source", "trk_network"})


class TouchKind(Enum):
    """The way a touch came, by which its source is decided."""

    EVENT = 1
    """With an event that had attribution parameters."""
    SENT = 2
    """By itself, over the API or from a file."""
    VIEW = 3
    """A page view."""


class ClassifiedTouch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A touch with its source, as it is stored."""

    kind: TouchKind
    url: str
    referrer_host: str | None
    source: str
    rule: str
    ad: Ad
    stale: frozenset[str] = frozenset()
    """Of a page view, the click ids that were ignored."""


def name_in(url: str) -> str | None:
    """The value of utm_source in a URL, as names are stored; None without one."""
    value = read_parameters(url, _UTM_SOURCE, ()).get("utm_source")
    return normal_name(value) if value is not None else None


def networks_in(url: str, names: SourceNames) -> set[str]:
    """The Space's own networks that values in a URL could name."""
    values = read_parameters(url, _NAMING_NETWORKS, ()).values()
    networks = (names.find_network(value, is_paid=True) for value in values)
    return {network for network in networks if network is not None}


def classify_anew(touch: ClassifiedTouch, exclusions: Exclusions, names: SourceNames) -> ClassifiedTouch:
    """Return the touch with the source, rule and ad that it has by a Space's names as they are now;
    `exclusions` are the Space's, which count for page views.
    """
    if touch.rule in DECLARED:
        return touch
    if touch.rule in DECLARED_NETWORK and names.has_network(touch.source):
        return touch
    by = exclusions if touch.kind is TouchKind.VIEW else SHIPPED
    landing = Landing(touch.url, touch.referrer_host, stale=touch.stale)
    # What was declared, besides the URL or in it, named no source, or its rule would stand. Only a
    # network that the Space has added since may be named by what the URL declares.
    evidence = read_evidence(landing, by, names, paid=_was_paid(touch))
    evidence = msgspec.structs.replace(evidence, declared=UNDECLARED)
    source, rule = _decide(touch.kind, evidence)
    return msgspec.structs.replace(touch, source=source, rule=rule, ad=_read_ad(touch, evidence, source))


def _was_paid(touch: ClassifiedTouch) -> bool:
    """True when a medium or a traffic type said paid, which need not be in the URL."""
    if touch.rule in clicks.LINKS:
        return channel_of(touch.source) == "paid"
    return touch.rule in PAID_RULES


def _decide(kind: TouchKind, evidence: Evidence) -> tuple[str, str]:
    """The source and its rule, or the reason for which there is none."""
    if kind is TouchKind.EVENT:
        return name_source(evidence)
    outcome: Outcome = decide(evidence)
    if not isinstance(outcome, Source) and kind is TouchKind.VIEW:
        # The host is excluded since: the touch stays, and is decided without it.
        outcome = decide(msgspec.structs.replace(evidence, referrer=None))
    if isinstance(outcome, Source):
        return outcome.name, outcome.rule
    return "direct", outcome.reason.value


def _read_ad(touch: ClassifiedTouch, evidence: Evidence, source: str) -> Ad:
    """The ad, read anew where all of it came from the URL: what utm_term means depends on the
    source.
    """
    if source == touch.source or touch.ad != ad_of(evidence.parameters, touch.source):
        return touch.ad
    return ad_of(evidence.parameters, source)
