"""The tool that finds an order by number."""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.pages import filled
from headwater.assistants.mcp.tool import Arguments, Tool, describe_arguments, make_schema, partial
from headwater.events.answers import EventAnswer
from headwater.events.queries import fetch_event, find_order, queries
from headwater.http.inputs.fields import text_up_to
from headwater.http.inputs.parameters import JsonInput, Parameter
from headwater.http.openapi import object_schema

MAX_EVENTS = 50
LONGEST_NUMBER = 255

_NUMBER = Parameter(
    name="number",
    kind=text_up_to(LONGEST_NUMBER, shortest=1, trim=True, integers=True),
    description="The order's id or name, such as 1001 or #1001.",
    required=True,
)
_ANSWER = object_schema(
    {"events": {"type": "array", "items": partial(make_schema(EventAnswer))}, "has_more": {"type": "boolean"}}
)


async def _find_order(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput(arguments)
    number = _NUMBER.read(query)
    query.finish()
    assert number is not None
    async with context.transaction() as connection:
        await connection.execute(queries["snapshot"])
        event_ids = await find_order(connection, context.space_id, number, MAX_EVENTS + 1)
        events = [
            await fetch_event(connection, context.space_id, event_id) for event_id in event_ids[:MAX_EVENTS]
        ]
    return {
        "events": [filled(msgspec.json.decode(event)) for event in events],
        "has_more": len(event_ids) > MAX_EVENTS,
    }


TOOLS = (
    Tool(
        name="find_order",
        title="Find an order",
        description=(
            "All events of one order: its purchase, upsells and refunds. No events: no order has "
            "this number, which must be given in full."
        ),
        arguments=describe_arguments(_NUMBER),
        required=("number",),
        answer=_ANSWER,
        call=_find_order,
    ),
)
