"""Tools about the Space itself: its settings, its custom events, and dates on its clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from headwater.events.accepted import CUSTOM_NAMES
from headwater.http.fields import text_up_to
from headwater.http.openapi import TEXT, object_schema
from headwater.http.parameters import JsonInput
from headwater.http.period_words import ALL_WORDS, LONGEST_WORDS, UNREADABLE, DateSpan, read_dates
from headwater.mcp.context import ToolContext
from headwater.mcp.descriptions import describe_space
from headwater.mcp.tool import ID, Arguments, Tool

_WORDS = text_up_to(LONGEST_WORDS, rule="must be a string.", length_rule=UNREADABLE)
_LABELS = {"type": "object", "additionalProperties": TEXT}


async def _get_space(context: ToolContext, _: Arguments) -> Any:
    async with context.transaction() as connection:
        return describe_space(await context.space(connection), context.bearer.role)


async def _list_custom_events(context: ToolContext, _: Arguments) -> Any:
    async with context.transaction() as connection:
        labels = (await context.space(connection)).event_labels
    named = [{"name": name, "label": labels[name]} for name in CUSTOM_NAMES if name in labels]
    return {"custom_events": named, "unnamed": len(CUSTOM_NAMES) - len(named)}


async def _resolve_date_range(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        space = await context.space(connection)
    today = datetime.now(UTC).astimezone(space.zone).date()
    query = JsonInput(arguments)
    dates = query.read(
        "words", _WORDS.then(lambda words: read_dates(words, today)), arguments["words"]
    )
    query.finish()
    assert dates is not None
    before = dates.before
    return {
        **_written(dates),
        "days": dates.days,
        "timezone": space.timezone,
        "today": today.isoformat(),
        "previous_period": _written(before),
    }


def _written(dates: DateSpan) -> dict[str, str]:
    return {"start_date": f"{dates.first} 00:00:00", "end_date": f"{dates.last} 23:59:59"}


_DATES = {"start_date": TEXT, "end_date": TEXT}

TOOLS = (
    Tool(
        name="get_space",
        title="Get the Space",
        description=(
            "The Space's name, time zone, currency and the names people gave to custom events and "
            "fields. Call it first: all times and amounts are on its clock and in its currency."
        ),
        answer=object_schema(
            {
                "id": ID, "name": TEXT, "timezone": TEXT, "currency": TEXT,
                "company_identity_mode": TEXT, "event_labels": _LABELS, "field_labels": _LABELS,
                "may_write": {"type": "boolean"},
            }
        ),
        call=_get_space,
    ),
    Tool(
        name="list_custom_events",
        title="List custom events",
        description="What custom_event_1 to custom_event_50 are called in this Space.",
        answer=object_schema(
            {
                "custom_events": {
                    "type": "array", "items": object_schema({"name": TEXT, "label": TEXT})
                },
                "unnamed": {"type": "integer", "description": "Custom events without a name."},
            }
        ),
        call=_list_custom_events,
    ),
    Tool(
        name="resolve_date_range",
        title="Turn words into dates",
        description=(
            "Turn words for a stretch of time into start_date and end_date on the Space's clock, "
            "as the other tools want them, with the same number of days before."
        ),
        arguments={"words": {**TEXT, "maxLength": 100, "description": f"One of: {ALL_WORDS}."}},
        required=("words",),
        answer=object_schema(
            {
                **_DATES, "days": {"type": "integer"}, "timezone": TEXT, "today": TEXT,
                "previous_period": object_schema(_DATES),
            }
        ),
        call=_resolve_date_range,
    ),
)  # fmt: skip
