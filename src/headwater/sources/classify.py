"""Where a visit came from: one of the listed sources, or nowhere new. Pure."""

from __future__ import annotations

from urllib.parse import urlencode

from headwater.sources.clicks import CLICK_IDS
from headwater.sources.evidence import MARKS, Evidence, Landing, read_evidence
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import ad_of
from headwater.sources.outcomes import Classification, Outcome, Source
from headwater.sources.rules import ARRIVING

DIRECT = Source("direct", "direct")


def classify(arrival: Landing, exclusions: Exclusions = SHIPPED) -> Outcome:
    """The source of an arrival and the rule that named it, or why it makes no touch."""
    return _ask(read_evidence(arrival, exclusions))


def explain(arrival: Landing, exclusions: Exclusions = SHIPPED) -> Classification:
    """All that an arrival tells: its source, the ad, the click ids."""
    evidence = read_evidence(arrival, exclusions)
    outcome = _ask(evidence)
    return Classification(
        outcome,
        ad_of(evidence.given, outcome.name if isinstance(outcome, Source) else None),
        {name: value for name, value in evidence.given.items() if name in CLICK_IDS},
        None if MARKS.isdisjoint(evidence.given) else _in_one(evidence.given),
    )


def _ask(evidence: Evidence) -> Outcome:
    for rule in ARRIVING:
        answer = rule(evidence)
        if answer is not None:
            return answer
    return DIRECT


def _in_one(given: dict[str, str]) -> str:
    return urlencode(sorted(given.items()), errors="replace")
