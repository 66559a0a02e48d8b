"""Find the source of an event's touchpoint. Pure."""

from __future__ import annotations

from functools import lru_cache

from headwater.sources.evidence import Evidence, Landing, SourceParameters, read_evidence
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.outcomes import NoTouch
from headwater.sources.parameters import MARKS
from headwater.sources.rules import NAMING
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames

ResolvedSource = tuple[str, str]


@lru_cache(maxsize=16_384)
def resolve(
    parameters: SourceParameters,
    landing_url: str | None = None,
    names: SourceNames = SHIPPED_ALONE,
    exclusions: Exclusions = SHIPPED,
) -> ResolvedSource:
    """Return the source and its rule; a referral without a matching rule."""
    return name_source(read_evidence(Landing(landing_url, None, parameters), exclusions, names))


@lru_cache(maxsize=16_384)
def find_return(
    parameters: SourceParameters, landing_url: str | None, exclusions: Exclusions
) -> NoTouch | None:
    """Return why there is no touch: the source is a payment page, a sign-in page or the shop itself."""
    evidence = read_evidence(Landing(landing_url, None, parameters), exclusions)
    if not isinstance(evidence.referrer, NoTouch) or evidence.paid:
        return None
    return evidence.referrer if MARKS.isdisjoint(evidence.parameters) else None


def name_source(evidence: Evidence) -> ResolvedSource:
    for rule in NAMING:
        source = rule(evidence)
        if source is not None:
            return source.name, source.rule
    return "referral", "fallback"
