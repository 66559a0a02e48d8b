"""The tool that explains one event."""

from __future__ import annotations

from typing import Any

from headwater.attribution.models import MODELS, WINDOWS
from headwater.events.parameters import QUERY_MODE
from headwater.http.fields import one_of
from headwater.http.openapi import NUMBER_OR_NULL, TEXT_OR_NULL, object_schema
from headwater.http.parameters import JsonInput, Parameter
from headwater.identity.senders import Sender
from headwater.mcp.context import ToolContext
from headwater.mcp.tool import ID, Arguments, Tool, arguments_of
from headwater.reports.explanation import EventExplanation, explain_event

WINDOW = Parameter(
    name="attribution_window", kind=one_of(WINDOWS), default=30,
    description="How many days before the event a touchpoint may lie; 0 is no limit.",
)  # fmt: skip

_SENDER = {"enum": [*Sender, None]}


async def _explain(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput({name: arguments[name] for name in arguments if name != "event_id"})
    window, mode = WINDOW.read(query), QUERY_MODE.read(query)
    query.finish()
    async with context.transaction() as connection:
        explanation = await explain_event(
            connection, context.space_id, arguments["event_id"], window or 0,
            by_company=mode == "company",
        )  # fmt: skip
    return {
        "event": {"id": arguments["event_id"], **_plain(explanation.event)},
        "attribution_window": window,
        "path": [_plain(touch) for touch in explanation.path],
        "left_out": explanation.left_out,
        "models": [_model_credits(name, explanation) for name in MODELS],
    }


def _model_credits(model: str, explanation: EventExplanation) -> dict[str, Any]:
    of_model = explanation.credits[model]
    credited = of_model.listed
    return {
        "model": model,
        "unattributed": not credited,
        "left_out": of_model.left_out,
        "left_out_amount": _number(
            of_model.amount_left_out(explanation.event["amount"]) if of_model.left_out else None
        ),
        "credits": [
            {"touchpoint_id": touch["id"], "source": touch["source"],
             "amount": _number(credited[touch["id"]])}
            for touch in explanation.path if touch["id"] in credited
        ],
    }  # fmt: skip


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _number(value) if name == "amount" else value for name, value in row.items()}


def _number(amount: Any) -> float | None:
    return None if amount is None else float(amount)


TOOLS = (
    Tool(
        name="explain_attribution",
        title="Explain an event's attribution",
        description=(
            "What brought one event: its touchpoints in order of time, each with the rule that "
            "named its source, and the credit each gets under every attribution model."
        ),
        arguments={"event_id": {**ID, "description": "The event's id, from list_events."}}
        | arguments_of(WINDOW, QUERY_MODE),
        required=("event_id",),
        answer=object_schema(
            {
                "event": object_schema(
                    {
                        "id": ID, "contact_id": ID, "company_id": {"type": ["integer", "null"]},
                        "amount": NUMBER_OR_NULL, "event_name": {"type": "string"},
                        "event_time_utc": {"type": "string"}, "sender": _SENDER,
                    }
                ),
                "attribution_window": {"type": "integer"},
                "path": {
                    "type": "array",
                    "items": object_schema(
                        {
                            "id": ID, "event_time_utc": {"type": "string"}, "contact_id": ID,
                            "sender": _SENDER,
                            "source": {"type": "string"}, "source_rule": {"type": "string"},
                            "is_paid": {"type": "boolean"}, "event_url": TEXT_OR_NULL,
                            "referrer_host": TEXT_OR_NULL, "campaign_id": TEXT_OR_NULL,
                            "campaign_name": TEXT_OR_NULL, "adset_id": TEXT_OR_NULL,
                            "adset_name": TEXT_OR_NULL, "ad_id": TEXT_OR_NULL,
                            "ad_name": TEXT_OR_NULL, "keyword": TEXT_OR_NULL,
                        }
                    ),
                },
                "left_out": {
                    "type": "integer",
                    "description": "Touchpoints in the middle of a long path that are not shown.",
                },
                "models": {
                    "type": "array",
                    "items": object_schema(
                        {
                            "model": {"enum": list(MODELS)},
                            "unattributed": {"type": "boolean"},
                            "left_out": {
                                "type": "integer",
                                "description": "Credited touchpoints that are not shown.",
                            },
                            "left_out_amount": {
                                "type": ["number", "null"],
                                "description": "What those get together.",
                            },
                            "credits": {
                                "type": "array",
                                "items": object_schema(
                                    {
                                        "touchpoint_id": ID, "source": {"type": "string"},
                                        "amount": NUMBER_OR_NULL,
                                    }
                                ),
                            },
                        }
                    ),
                },
            }
        ),
        call=_explain,
        hint="Find the event's id with list_events.",
    ),
)  # fmt: skip
