"""`headwater source …`: the source of a visit and the rule that named it, without a database; and a
Space's own names of sources.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import msgspec

from headwater.settings import Settings
from headwater.sources import classify
from headwater.sources.evidence import Landing
from headwater.sources.outcomes import Classification, Source
from headwater.sources.reasons import explain_rule
from headwater.spaces.reclassifications import list_reclassifications
from headwater.spaces.spaces import fetch_space
from headwater.terminal.command import CommandGroup, Option
from headwater.terminal.connection import transaction
from headwater.terminal.execution import prints
from headwater.terminal.options import JSON, SPACE
from headwater.terminal.output import Output, print_output

group = CommandGroup()


@group.command(
    "explain",
    "tell where a visit comes from",
    Option("url", metavar="URL", help="the page that was opened"),
    Option("referrer", nargs="?", metavar="REFERRER", help="what led to it"),
    JSON,
)
def explain(_settings: Settings, arguments: Namespace) -> int:
    landing = Landing(arguments.url, arguments.referrer)
    print_output(_describe(landing, classify.explain(landing)), as_json=arguments.json)
    return 0


@group.command("names", "list a Space's own names of sources", SPACE, JSON)
@prints
async def list_names(settings: Settings, arguments: Namespace) -> Output:
    """Return the names, and those that were removed and still count for some of the past."""
    async with transaction(settings) as connection:
        names = (await fetch_space(connection, arguments.space)).source_names
        left = await list_reclassifications(connection, arguments.space)
    under_way = {each.name: each for each in left}
    return [
        {
            "name": name,
            "source": names.get(name),
            "reclassified": under_way[name].percentage if name in under_way else "all",
            "changed": under_way[name].changed if name in under_way else None,
        }
        for name in sorted({*names, *under_way})
    ]


def _describe(landing: Landing, explanation: Classification) -> dict[str, Any]:
    outcome = explanation.outcome
    decision, rule = (
        ({"source": outcome.name, "rule": outcome.rule, "nothing": None}, outcome.rule)
        if isinstance(outcome, Source)
        else ({"source": None, "rule": None, "nothing": outcome.reason}, outcome.reason)
    )
    reason = explain_rule(rule, landing.url, landing.referrer)
    return {
        **decision,
        "detail": outcome.detail,
        "why": reason.words,
        "decided_by": [clue.text for clue in reason.clues],
        "ad": msgspec.to_builtins(explanation.ad),
        "click_ids": explanation.click_ids,
    }
