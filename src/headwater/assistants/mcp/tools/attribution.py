"""The tool that explains an event."""

from __future__ import annotations

from typing import Any

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.tool import ID, Arguments, Tool, as_in, describe_arguments, make_bare_schema
from headwater.attribution.trained_models.choice import TRAINED_MODEL
from headwater.events.filters import QUERY_MODE
from headwater.http.inputs.parameters import JsonInput
from headwater.reports.explanation import (
    AttributionExplanation,
    describe_explanation,
    explain_event,
    read_path,
)
from headwater.reports.questions.shared import WINDOW


async def _explain(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput({name: arguments[name] for name in arguments if name != "event_id"})
    window_days, by_company, trained_model = read_path(query)
    async with context.transaction() as connection:
        explanation = await explain_event(
            connection,
            context.space_id,
            arguments["event_id"],
            window_days,
            by_company=by_company,
            trained_model=trained_model,
        )
    return describe_explanation(explanation, window_days)


TOOLS = (
    Tool(
        name="explain_attribution",
        title="Explain an event's attribution",
        description=(
            "An event's contact and its touchpoints in order, each with the rule that named its source "
            "and its credit under every attribution model, or the reason for no credit."
        ),
        arguments={"event_id": {**ID, "description": "The event's id, from list_events."}}
        | as_in("query_report", describe_arguments(WINDOW, QUERY_MODE, TRAINED_MODEL)),
        required=("event_id",),
        answer=make_bare_schema(AttributionExplanation),
        call=_explain,
        hint="Find the event's id with list_events.",
    ),
)
