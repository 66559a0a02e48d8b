"""Tools for ad spend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as replace_parameter
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec
from msgspec import to_builtins
from msgspec.structs import asdict, replace

from headwater.assistants.mcp.confirmation import CONFIRM, PREVIEW, find_preview, read_confirmation
from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.schemas import Schema
from headwater.assistants.mcp.tool import Arguments, Tool, as_in, describe_arguments
from headwater.assistants.mcp.tools.reports import load_hints
from headwater.http.answers import Message, inline_schema
from headwater.http.errors import MAX_FAULTS, Invalid, shorten
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import JsonInput, ListParameter, Parameter
from headwater.http.openapi import object_schema
from headwater.reports.changes.answers import CHANGES_SINCE, spend_changes_answer
from headwater.reports.changes.change import ChangeQuery
from headwater.reports.changes.spend import query_spend_changes
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.questions.cohorts import LIMIT, CohortReport, load_cohorts, read_cohort_query
from headwater.reports.questions.cohorts import PARAMETERS as COHORT_PARAMETERS
from headwater.reports.questions.platform_comparison import PARAMETERS as COMPARISON_PARAMETERS
from headwater.reports.questions.platform_comparison import PLATFORM as COMPARED_PLATFORM
from headwater.reports.questions.platform_comparison import (
    PlatformComparison,
    load_comparison,
    read_comparison_query,
)
from headwater.reports.questions.spend import GROUP, PARAMETERS, AdSpendReport, load_spend, read_spend_query
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.models import Space
from headwater.spend import parameters
from headwater.spend.inputs import FIELDS, read_spend
from headwater.spend.ledger import count_spend, delete_spend, put_report, require_platform

_OPTIONAL = ", ".join(name for name, field in FIELDS.items() if not field.missing)
_ROWS: Schema = {
    "type": "array",
    "items": {"type": "object"},
    "description": f"Rows: date, platform, amount, currency; optional: {_OPTIONAL}.",
}
_DELETE = "delete_spend"
COHORTS = Parameter(
    name="cohorts",
    kind=one_of((0, 1)),
    default=0,
    description="1: customers by month of first order, payback.",
)
PLATFORM = replace_parameter(
    COMPARED_PLATFORM, required=False, description="Its own figures and ours, step by step."
)
MOST_KEYS = 5
_ANSWER: Schema = {
    "type": "object",
    "properties": {},
    "anyOf": [inline_schema(AdSpendReport), inline_schema(CohortReport), inline_schema(PlatformComparison)],
}
"""One of three reports; the tool list describes none."""


async def _query(context: ToolContext, arguments: Arguments) -> Any:
    space = await context.load_space()
    query = JsonInput(arguments)
    if COHORTS.read(query):
        return await _query_cohorts(context, space, arguments)
    if query.single(PLATFORM.name) is not None:
        return await _compare_platform(context, space, arguments)
    start = CHANGES_SINCE.read(query)
    spend_query = read_spend_query(query, space, datetime.now(UTC))
    async with context.transaction(CONNECTION_SECONDS) as connection:
        report = await load_spend(connection, context.space_id, spend_query)
    answer = replace(report, hints=await load_hints(context, spend_query))
    if start is None:
        return answer
    question = ChangeQuery(spend_query, start)
    async with context.transaction(CONNECTION_SECONDS) as connection:
        changes = await query_spend_changes(connection, context.space_id, question)
    return to_builtins({**to_builtins(answer), "changes": spend_changes_answer(changes)})


async def _query_cohorts(context: ToolContext, space: Space, arguments: Arguments) -> Any:
    """Query cohorts, by default for few keys because each has many figures."""
    query = JsonInput({LIMIT.name: MOST_KEYS, **arguments})
    _refuse_others(query, arguments, COHORTS, COHORT_PARAMETERS)
    cohort_query = read_cohort_query(query, space, datetime.now(UTC))
    async with context.transaction(CONNECTION_SECONDS) as connection:
        report = await load_cohorts(connection, context.space_id, cohort_query)
    return replace(report, hints=await load_hints(context, cohort_query))


async def _compare_platform(context: ToolContext, space: Space, arguments: Arguments) -> Any:
    values = JsonInput(arguments)
    _refuse_others(values, arguments, PLATFORM, COMPARISON_PARAMETERS)
    query = read_comparison_query(values, space, datetime.now(UTC))
    async with context.transaction(CONNECTION_SECONDS) as connection:
        return await load_comparison(connection, context.space_id, query)


def _refuse_others(
    query: JsonInput,
    arguments: Arguments,
    choice: Parameter[Any],
    parameters: Iterable[Parameter[Any] | ListParameter[Any]],
) -> None:
    """Refuse arguments that the report of `choice` would ignore."""
    allowed_names = {choice.name, *(parameter.name for parameter in parameters)}
    for name in sorted(name for name, value in arguments.items() if value and name not in allowed_names):
        query.refuse(name, f"must not be given with {choice.name}.")


async def _put(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        sources = (await context.space(connection)).sources
        report = read_spend(arguments, datetime.now(UTC), sources)
        _refuse_unknown_fields(arguments["spend"])
        await put_report(connection, context.space_id, report.rows, report.as_of)
        await context.note(connection, "put_spend", AuditChange("spend", after={"rows": len(report.rows)}))
    return Message(f"Rows stored: {len(report.rows)}.")


def _refuse_unknown_fields(rows: list[Arguments]) -> None:
    """Refuse misspelt fields. A cost without its campaign would replace the cost of the whole platform."""
    fields = ", ".join(FIELDS)
    unknown = ((index, name) for index, row in enumerate(rows) for name in row if name not in FIELDS)
    if errors := {
        f"spend.{index}.{shorten(name)}": [f"The spend.{index} has no {shorten(name)}; there are: {fields}."]
        for index, name in islice(unknown, MAX_FAULTS)
    }:
        raise Invalid(errors)


async def _delete(context: ToolContext, arguments: Arguments) -> Any:
    confirmation = read_confirmation(arguments)
    query = JsonInput({name: value for name, value in arguments.items() if name != CONFIRM.name})
    choice = parameters.read_choice(query, days_required=True)
    query.finish()
    async with context.transaction() as connection:
        await require_platform(connection, await context.space(connection), choice)
        count = await count_spend(connection, context.space_id, choice)
        would_go = msgspec.to_builtins({**asdict(count), **choice.bound(context.space_id)})
        if (preview := find_preview(context, _DELETE, would_go, confirmation)) is not None:
            return preview
        await delete_spend(connection, context.space_id, choice)
        await context.note(connection, _DELETE, AuditChange("spend", after={"rows": -count.rows}))
    return {"message": f"Rows deleted: {count.rows}."}


TOOLS = (
    Tool(
        name="query_spend",
        title="Query spend",
        description="Ad spend, what it brought: ROAS, CPA, CAC; totals of platforms with spend.",
        arguments=describe_arguments(GROUP, COHORTS, PLATFORM)
        | as_in("query_report", describe_arguments(*PARAMETERS[1:], CHANGES_SINCE)),
        answer=_ANSWER,
        call=_query,
    ),
    Tool(
        name="put_spend",
        title="Store spend",
        description="Store what ads cost; a known day and place is replaced.",
        arguments={"spend": _ROWS, "as_of": {"type": "string", "description": "If not now."}},
        required=("spend",),
        answer=Message,
        call=_put,
        writes=True,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        name=_DELETE,
        title="Delete spend",
        description="Delete spend of some days; the first call only counts.",
        arguments=describe_arguments(parameters.START, parameters.END, parameters.PLATFORM, CONFIRM),
        required=("start_date", "end_date"),
        answer=object_schema(PREVIEW, "would_go", "confirm"),
        call=_delete,
        writes=True,
        destructive=True,
        idempotent=True,
    ),
)
