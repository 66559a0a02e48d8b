"""Reclassify stored touches after a Space changed its source names. Pure.

Uses the stored data: the whole URL, the referrer's host, and the rule, but not the values, of declared
parameters.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from headwater.sources import clicks
from headwater.sources.catalogue import find_channel
from headwater.sources.classify import decide
from headwater.sources.evidence import UNDECLARED, Evidence, Landing, read_evidence
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import build_ad
from headwater.sources.outcomes import Ad, Outcome, Source
from headwater.sources.parameters import read_parameters
from headwater.sources.resolve import name_source
from headwater.sources.rules import DECLARED, DECLARED_NETWORK, PAID_RULES
from headwater.sources.source_names import SourceNames, normal_name

_UTM_SOURCE = frozenset({"utm_source"})
_NAMING_NETWORKS = frozenset({"utm_source", "trk_source", "trk_network"})


class TouchKind(Enum):
    """The origin of a touch, which decides its classification."""

    EVENT = 1
    SENT = 2
    """On its own, over the API or from a file."""
    VIEW = 3


class ClassifiedTouch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    kind: TouchKind
    url: str
    referrer_host: str | None
    source: str
    rule: str
    ad: Ad
    stale: frozenset[str] = frozenset()


def name_in(url: str) -> str | None:
    """Return utm_source in the form of stored names."""
    value = read_parameters(url, _UTM_SOURCE, ()).get("utm_source")
    return normal_name(value) if value is not None else None


def networks_in(url: str, names: SourceNames) -> set[str]:
    """Return the Space's networks that values could name."""
    values = read_parameters(url, _NAMING_NETWORKS, ()).values()
    networks = (names.find_network(value, is_paid=True) for value in values)
    return {network for network in networks if network is not None}


def classify_anew(touch: ClassifiedTouch, exclusions: Exclusions, names: SourceNames) -> ClassifiedTouch:
    """Reclassify by current names. `exclusions` apply to page views only."""
    if touch.rule in DECLARED:
        return touch
    if touch.rule in DECLARED_NETWORK and names.has_network(touch.source):
        return touch
    exclusions = exclusions if touch.kind is TouchKind.VIEW else SHIPPED
    landing = Landing(touch.url, touch.referrer_host, stale=touch.stale)
    # No declared parameter named a source, or its rule would have been kept. But the URL may name a network
    # added since.
    evidence = read_evidence(landing, exclusions, names, paid=_was_paid(touch))
    evidence = msgspec.structs.replace(evidence, declared=UNDECLARED)
    source, rule = _decide(touch.kind, evidence)
    return msgspec.structs.replace(touch, source=source, rule=rule, ad=_read_ad(touch, evidence, source))


def _was_paid(touch: ClassifiedTouch) -> bool:
    """Check for a paid medium or traffic type, possibly outside the URL."""
    if touch.rule in clicks.LINKS:
        return find_channel(touch.source) == "paid"
    return touch.rule in PAID_RULES


def _decide(kind: TouchKind, evidence: Evidence) -> tuple[str, str]:
    if kind is TouchKind.EVENT:
        return name_source(evidence)
    outcome: Outcome = decide(evidence)
    if not isinstance(outcome, Source) and kind is TouchKind.VIEW:
        # The host was excluded later: the touch stays, classified without the referrer.
        outcome = decide(msgspec.structs.replace(evidence, referrer=None))
    if isinstance(outcome, Source):
        return outcome.name, outcome.rule
    return "direct", outcome.reason.value


def _read_ad(touch: ClassifiedTouch, evidence: Evidence, source: str) -> Ad:
    """Read the ad again if all of it came from the URL: the meaning of utm_term depends on the source."""
    if source == touch.source or touch.ad != build_ad(evidence.parameters, touch.source):
        return touch.ad
    return build_ad(evidence.parameters, source)
