from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.descriptions import describe_space
from headwater.assistants.mcp.periods import WORDS, written
from headwater.assistants.mcp.tool import ID, Arguments, Tool
from headwater.events.accepted import CUSTOM_NAMES
from headwater.http.inputs.parameters import JsonInput
from headwater.http.inputs.period_words import UNREADABLE, DateSpan, read_dates
from headwater.http.openapi import TEXT, TEXT_OR_NULL, object_schema

_LABELS = {"type": "object", "additionalProperties": TEXT}


async def _get_space(context: ToolContext, _: Arguments) -> Any:
    return await describe_space(context)


async def _list_custom_events(context: ToolContext, _: Arguments) -> Any:
    labels = (await context.load_space()).event_labels
    custom_events = [{"name": name, "label": labels[name]} for name in CUSTOM_NAMES if name in labels]
    return {"custom_events": custom_events, "unnamed": len(CUSTOM_NAMES) - len(custom_events)}


async def _resolve_date_range(context: ToolContext, arguments: Arguments) -> Any:
    space = await context.load_space()
    today = datetime.now(UTC).astimezone(space.zone).date()
    query = JsonInput(arguments)
    range_ = query.read("words", WORDS.then(lambda words: _read_both(words, today)), arguments["words"])
    query.finish()
    assert range_ is not None
    dates, before = range_
    return {
        **written(dates),
        "days": dates.days,
        "timezone": space.timezone,
        "today": today.isoformat(),
        "note": _about_today(dates, today),
        "previous_period": written(before),
    }


def _read_both(words: str, today: date) -> tuple[DateSpan, DateSpan]:
    dates = read_dates(words, today)
    try:
        return dates, dates.before
    except (ValueError, OverflowError):
        raise ValueError(UNREADABLE) from None


def _about_today(dates: DateSpan, today: date) -> str:
    if dates.first <= today <= dates.last:
        return f"Today, {today}, is included and not over yet."
    return f"Today, {today}, is left out."


_DATES = {"start_date": TEXT, "end_date": TEXT}

TOOLS = (
    Tool(
        name="get_space",
        title="Get the Space",
        description=(
            "The Space's name, time zone, currency, today's date, first and last event, the "
            "events there are, the names of custom events and fields, and what is not known. "
            "Call it first: times are on its clock, and all sums in its currency."
        ),
        answer=object_schema(
            {
                "id": ID,
                "name": TEXT,
                "timezone": TEXT,
                "currency": TEXT,
                "today": TEXT,
                "first_event": TEXT_OR_NULL,
                "last_event": TEXT_OR_NULL,
                "event_counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                "not_known": {"type": "array", "items": TEXT},
                "company_identity_mode": TEXT,
                "half_life_days": {"type": "integer"},
                "event_labels": _LABELS,
                "field_labels": _LABELS,
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
                "custom_events": {"type": "array", "items": object_schema({"name": TEXT, "label": TEXT})},
                "unnamed": {"type": "integer"},
            }
        ),
        call=_list_custom_events,
    ),
    Tool(
        name="resolve_date_range",
        title="Turn words into dates",
        description=(
            "Turn words for a time into start_date and end_date on the Space's clock, "
            "with the period before it and today's date. 'last 30 days' ends today."
        ),
        arguments={"words": {**TEXT, "maxLength": 100, "description": "As period in query_report."}},
        required=("words",),
        answer=object_schema(
            {
                **_DATES,
                "days": {"type": "integer"},
                "timezone": TEXT,
                "today": TEXT,
                "note": TEXT,
                "previous_period": object_schema(_DATES),
            }
        ),
        call=_resolve_date_range,
    ),
)
