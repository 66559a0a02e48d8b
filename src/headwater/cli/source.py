"""`headwater source …`: classify a visit without a database; a Space's own source names."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import msgspec

from headwater.base.settings import Settings
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output
from headwater.sources.explanation import VisitExplanation, explain_visit
from headwater.sources.outcomes import Source
from headwater.spaces.reclassifications import list_reclassified_names
from headwater.spaces.spaces import fetch_space

group = CommandGroup()


@group.command(
    "explain",
    "show the source of a visit",
    Option("url", metavar="URL", help="the page that was opened"),
    Option("referrer", nargs="?", metavar="REFERRER", help="what led to it"),
    JSON,
)
@prints
def explain(_: Settings, arguments: Namespace) -> Output:
    return _describe(explain_visit(arguments.url, arguments.referrer))


@group.command("names", "list a Space's own names of sources", SPACE, JSON)
@prints
async def list_names(settings: Settings, arguments: Namespace) -> Output:
    """Return the names, including removed ones still used for past visits."""
    async with transaction(settings) as connection:
        names = (await fetch_space(connection, arguments.space)).source_names
        reclassifications = await list_reclassified_names(connection, arguments.space)
    under_way = {name.name: name for name in reclassifications}
    return [
        {
            "name": name,
            "source": names.get(name),
            "reclassified": under_way[name].percentage if name in under_way else "all",
            "changed": under_way[name].changed if name in under_way else None,
        }
        for name in sorted({*names, *under_way})
    ]


def _describe(visit: VisitExplanation) -> dict[str, Any]:
    outcome = visit.classification.outcome
    return {
        "source": visit.source,
        "rule": outcome.rule if isinstance(outcome, Source) else None,
        "nothing": None if isinstance(outcome, Source) else outcome.reason,
        "detail": outcome.detail,
        "why": visit.reason.words,
        "decided_by": [clue.text for clue in visit.reason.clues],
        "ad": msgspec.to_builtins(visit.classification.ad),
        "click_ids": visit.classification.click_ids,
    }
