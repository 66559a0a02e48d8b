from __future__ import annotations

from urllib.parse import urlencode

from headwater.sources.clicks import CLICK_IDS
from headwater.sources.evidence import Evidence, Landing, read_evidence
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import build_ad
from headwater.sources.outcomes import Classification, NothingReason, NoTouch, Outcome, Source
from headwater.sources.parameters import MARKS
from headwater.sources.rules import ARRIVING
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames

DIRECT = Source("direct", "direct")


def classify(
    arrival: Landing, exclusions: Exclusions = SHIPPED, names: SourceNames = SHIPPED_ALONE
) -> Outcome:
    """Return the source and the rule that chose it, or why the visit makes no touch."""
    return decide(read_evidence(arrival, exclusions, names))


def explain(
    arrival: Landing, exclusions: Exclusions = SHIPPED, names: SourceNames = SHIPPED_ALONE
) -> Classification:
    evidence = read_evidence(arrival, exclusions, names)
    outcome = decide(evidence)
    return Classification(
        outcome,
        build_ad(evidence.parameters, outcome.name if isinstance(outcome, Source) else None),
        {name: value for name, value in evidence.parameters.items() if name in CLICK_IDS},
        None if MARKS.isdisjoint(evidence.parameters) else _join(evidence.parameters),
        _is_own_link(evidence),
    )


def decide(evidence: Evidence) -> Outcome:
    for rule in ARRIVING:
        outcome = rule(evidence)
        if outcome is not None:
            return outcome
    return DIRECT


def _is_own_link(evidence: Evidence) -> bool:
    referrer = evidence.referrer
    is_own = isinstance(referrer, NoTouch) and referrer.reason is NothingReason.OWN_HOST
    return is_own and not MARKS.isdisjoint(evidence.parameters)


def _join(parameters: dict[str, str]) -> str:
    return urlencode(sorted(parameters.items()), errors="replace")
