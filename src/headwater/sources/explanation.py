"""The decision on an arrival's source with all that led to it: every rule that was applied, with
what it read. Pure, and the same for the command line and the console.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from headwater.sources import clicks
from headwater.sources.classify import explain
from headwater.sources.evidence import Evidence, Landing, ListedReferrer, OtherReferrer, read_evidence
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.outcomes import Classification, NoTouch, Source
from headwater.sources.parameters import CAMPAIGN
from headwater.sources.reasons import RuleReason, explain_rule
from headwater.sources.rules import ARRIVING
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames

MOST_PRESENT = 6
"""The most parameters that a step names."""


class RuleStep(msgspec.Struct, frozen=True, gc=False):
    """One rule, in the order in which they are applied."""

    question: str
    present: str | None
    """Whatever the arrival has that the rule reads; None when it has nothing of it."""
    decided: bool


class VisitExplanation(msgspec.Struct, frozen=True, gc=False):
    """The decision on an arrival, and how it was come to."""

    landing: Landing
    classification: Classification
    reason: RuleReason
    steps: tuple[RuleStep, ...]
    """The rules that were applied, the one that decided last."""

    @property
    def source(self) -> str | None:
        """The source; None when the arrival makes no touch."""
        outcome = self.classification.outcome
        return outcome.name if isinstance(outcome, Source) else None

    @property
    def excluded_by(self) -> str | None:
        """The host for which the arrival makes no touch; None when it makes one."""
        outcome = self.classification.outcome
        return outcome.detail if isinstance(outcome, NoTouch) else None


def explain_visit(
    url: str | None,
    referrer: str | None,
    exclusions: Exclusions = SHIPPED,
    names: SourceNames = SHIPPED_ALONE,
) -> VisitExplanation:
    """Return the decision on the arrival at `url` from `referrer`, with what led to it."""
    landing = Landing(url, referrer)
    classification = explain(landing, exclusions, names)
    outcome = classification.outcome
    rule = outcome.rule if isinstance(outcome, Source) else outcome.reason
    evidence = read_evidence(landing, exclusions, names)
    return VisitExplanation(landing, classification, explain_rule(rule, url, referrer), _steps(evidence))


def _steps(evidence: Evidence) -> tuple[RuleStep, ...]:
    steps: list[RuleStep] = []
    for rule, (question, present) in zip(ARRIVING, _QUESTIONS, strict=True):
        decided = rule(evidence) is not None
        steps.append(RuleStep(question, present(evidence), decided))
        if decided:
            return tuple(steps)
    return (*steps, RuleStep("Then it was opened directly", None, decided=True))


def _of(parameters: Collection[str]) -> Callable[[Evidence], str | None]:
    """Return the function that names those of the parameters that an arrival has."""

    def present(evidence: Evidence) -> str | None:
        names = [name for name in parameters if name in evidence.parameters]
        if not names:
            return None
        more = f" and {len(names) - MOST_PRESENT} more" if len(names) > MOST_PRESENT else ""
        return ", ".join(names[:MOST_PRESENT]) + more

    return present


def _referrer(evidence: Evidence) -> str | None:
    match evidence.referrer:
        case ListedReferrer(pattern=pattern):
            return f"the referrer {pattern}"
        case OtherReferrer(host=host):
            return f"the referrer {host}"
        case NoTouch(detail=detail):
            return f"the referrer {detail}"
        case _:
            return None


_QUESTIONS: tuple[tuple[str, Callable[[Evidence], str | None]], ...] = (
    ("Does trk_source or trk_network name a source outright?", _of(("trk_source", "trk_network"))),
    ("Does the link have a parameter that only ads carry?", _of(clicks.ADS)),
    ("Does HubSpot's hsa_net name an ad network?", _of(("hsa_net",))),
    ("Does utm_source name a source?", _of(("utm_source",))),
    ("Does utm_medium say e-mail or text message?", _of(("utm_medium",))),
    ("Does the link have a mark of mail software?", _of(clicks.MAIL)),
    ("Is the referrer a known site?", _referrer),
    ("Does the link have a mark that a network puts on all its links?", _of(clicks.LINKS)),
    (
        "Does the medium or the traffic type say that it was paid for?",
        _of(("utm_medium", "trk_type", "trk_network")),
    ),
    ("Was the link made for some other campaign?", _of((*clicks.OTHER, *CAMPAIGN))),
    ("Is the referrer one of your own pages, a payment, a sign-in or an excluded host?", _referrer),
    ("Is there any other referrer?", _referrer),
)
"""Of each rule of ARRIVING the question that it answers, and what of the arrival it reads."""
