"""Explain the source of a visit: the applied rules and their evidence. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from headwater.base.name_lists import list_names
from headwater.sources import clicks
from headwater.sources.classify import explain
from headwater.sources.evidence import Evidence, Landing, ListedReferrer, OtherReferrer, read_evidence
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.outcomes import Classification, NoTouch, Source
from headwater.sources.parameters import CAMPAIGN
from headwater.sources.reasons import RuleReason, explain_rule
from headwater.sources.rules import ARRIVING
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames

MAX_NAMED_PARAMETERS = 6


class RuleStep(msgspec.Struct, frozen=True, gc=False):
    question: str
    evidence: str | None
    decided: bool


class VisitExplanation(msgspec.Struct, frozen=True, gc=False):
    landing: Landing
    classification: Classification
    reason: RuleReason
    steps: tuple[RuleStep, ...]

    @property
    def source(self) -> str | None:
        """The source; None if the visit makes no touch."""
        outcome = self.classification.outcome
        return outcome.name if isinstance(outcome, Source) else None

    @property
    def excluded_by(self) -> str | None:
        outcome = self.classification.outcome
        return outcome.detail if isinstance(outcome, NoTouch) else None


def explain_visit(
    url: str | None,
    referrer: str | None,
    exclusions: Exclusions = SHIPPED,
    names: SourceNames = SHIPPED_ALONE,
) -> VisitExplanation:
    landing = Landing(url, referrer)
    classification = explain(landing, exclusions, names)
    outcome = classification.outcome
    rule = outcome.rule if isinstance(outcome, Source) else outcome.reason
    evidence = read_evidence(landing, exclusions, names)
    return VisitExplanation(landing, classification, explain_rule(rule, url, referrer), _steps(evidence))


def _steps(evidence: Evidence) -> tuple[RuleStep, ...]:
    steps: list[RuleStep] = []
    for rule, (question, describe) in zip(ARRIVING, _QUESTIONS, strict=True):
        is_decided = rule(evidence) is not None
        steps.append(RuleStep(question, describe(evidence), is_decided))
        if is_decided:
            return tuple(steps)
    return (*steps, RuleStep("Then it was opened directly", None, decided=True))


def _list_parameters(parameters: Collection[str]) -> Callable[[Evidence], str | None]:

    def describe(evidence: Evidence) -> str | None:
        names = [name for name in parameters if name in evidence.parameters]
        return list_names(names, MAX_NAMED_PARAMETERS) if names else None

    return describe


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
    (
        "Does trk_source or trk_network name a source explicitly?",
        _list_parameters(("trk_source", "trk_network")),
    ),
    ("Does the link have a parameter found only on ads?", _list_parameters(clicks.ADS)),
    ("Does HubSpot's hsa_net name an ad network?", _list_parameters(("hsa_net",))),
    ("Does utm_source name a source?", _list_parameters(("utm_source",))),
    ("Does utm_medium indicate email or SMS?", _list_parameters(("utm_medium",))),
    ("Does the link have a parameter of email software?", _list_parameters(clicks.MAIL)),
    ("Is the referrer a known site?", _referrer),
    ("Does the link have a parameter that a network adds to all its links?", _list_parameters(clicks.LINKS)),
    (
        "Does the medium or traffic type indicate paid traffic?",
        _list_parameters(("utm_medium", "trk_type", "trk_network")),
    ),
    ("Was the link made for another campaign?", _list_parameters((*clicks.OTHER, *CAMPAIGN))),
    ("Is the referrer one of your own pages, a payment, a sign-in or an excluded host?", _referrer),
    ("Is there any other referrer?", _referrer),
)
"""The question of each rule of ARRIVING, and a description of its evidence."""
