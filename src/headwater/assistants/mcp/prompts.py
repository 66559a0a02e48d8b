"""Prompts: useful questions, with instructions for the assistant."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent
from msgspec import Struct

from headwater.http.errors import shorten
from headwater.reports.questions.shared import DEFAULT_MODEL

LONGEST_ARGUMENT = 500


class Argument(Struct, frozen=True):
    """An argument that a person fills in, required without a `default`."""

    description: str
    default: str | None = None


class PromptTemplate(Struct, frozen=True):
    """A prompt; `text` is a template of its arguments."""

    name: str
    title: str
    description: str
    arguments: dict[str, Argument]
    text: str


_QUESTIONS = (
    PromptTemplate(
        name="channel_review",
        title="Review the channels",
        description="Which channels and campaigns brought revenue, against the period before.",
        arguments={
            "period": Argument("The time to look at, in words.", "last month"),
            "attribution_model": Argument("The model to share out revenue by.", DEFAULT_MODEL),
            "attribution_window": Argument("The attribution window in days.", "30"),
        },
        text=(
            "Review how the channels did in $period.\n\n"
            "1. Get the Space with get_space, and the period's dates with resolve_date_range.\n"
            "2. Call query_report grouped by source, with the measures credited_revenue and "
            "credited_conversions, model $attribution_model, window $attribution_window days, "
            "compared with the period before.\n"
            "3. Call it again grouped by campaign for the three sources with the most credit.\n"
            "4. Say which channels grew and which fell, by how much, and what share of revenue is "
            "unattributed. Name the model and the window with every number. Keep apart what the "
            "numbers show from what you suspect."
        ),
    ),
    PromptTemplate(
        name="explain_conversion",
        title="Explain a conversion",
        description="What brought one event, under every attribution model.",
        arguments={"event_id": Argument("The event's id.")},
        text=(
            "Explain what brought event $event_id.\n\n"
            "1. Get it with get_event, and explain_attribution for its touchpoints and the credit "
            "under every model.\n"
            "2. Get the contact's journey with get_contact_journey.\n"
            "3. Describe in order of time how the person first came, what brought them back, and the "
            "last touchpoint before the event. Then explain how and why the models differ."
        ),
    ),
    PromptTemplate(
        name="data_quality_check",
        title="Check the data",
        description="Whether events arrive, are attributed, and reach the ad platforms.",
        arguments={"period": Argument("The time to look at, in words.", "the last 7 days")},
        text=(
            "Check the quality of the data of $period.\n\n"
            "1. Get the dates with resolve_date_range.\n"
            "2. query_report by day with the measures events and revenue: look for gaps, jumps.\n"
            "3. query_report by source: how large is the share of unattributed and of direct? By "
            "event: does any name that should be there lack?\n"
            "4. list_rejected_events: what was not stored, and why?\n"
            "5. list_deliveries: what do its counts by status say? With each of the statuses failed, "
            "refused, expired and skipped: what did not reach the ad platforms, and why?\n"
            "6. List what is wrong by weight, each with what to do about it. Say so when all is "
            "well."
        ),
    ),
)
PROMPTS = {question.name: question for question in _QUESTIONS}


def describe_prompt(question: PromptTemplate) -> Prompt:
    return Prompt(
        name=question.name,
        title=question.title,
        description=question.description,
        arguments=[
            PromptArgument(name=name, description=argument.description, required=argument.default is None)
            for name, argument in question.arguments.items()
        ],
    )


def render_prompt(question: PromptTemplate, arguments: Mapping[str, str]) -> GetPromptResult:
    """Raise ValueError with the broken rule."""
    unknown = arguments.keys() - question.arguments.keys()
    if unknown:
        raise ValueError(f"There is no argument {shorten(min(unknown))}.")
    values: dict[str, str] = {}
    for name, argument in question.arguments.items():
        value = arguments.get(name, "").strip() or argument.default
        if value is None:
            raise ValueError(f"The {name} is required.")
        if len(value) > LONGEST_ARGUMENT:
            raise ValueError(f"The {name} must not be longer than {LONGEST_ARGUMENT} characters.")
        values[name] = value
    text = Template(question.text).substitute(values)
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=question.description, messages=[message])
