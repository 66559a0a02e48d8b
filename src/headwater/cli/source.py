"""`headwater source …`: where a visit comes from, and the rule that says so. Needs no database."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import msgspec

from headwater.settings import Settings
from headwater.sources import classify
from headwater.sources.evidence import Landing
from headwater.sources.outcomes import Classification, Source
from headwater.terminal.output import show


def explain(_settings: Settings, arguments: Namespace) -> int:
    explanation = classify.explain(Landing(arguments.url, arguments.referrer))
    show(_in_words(explanation), as_json=arguments.json)
    return 0


def _in_words(explanation: Classification) -> dict[str, Any]:
    outcome = explanation.outcome
    told = (
        {"source": outcome.name, "rule": outcome.rule, "nothing": None}
        if isinstance(outcome, Source)
        else {"source": None, "rule": None, "nothing": outcome.reason}
    )
    return {
        **told,
        "detail": outcome.detail,
        "ad": msgspec.to_builtins(explanation.ad),
        "click_ids": explanation.click_ids,
    }
