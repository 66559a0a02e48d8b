"""Report tools: one call answers a question such as which channels brought last month's revenue. Missing
arguments have the most common defaults.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.schemas import Schema
from headwater.assistants.mcp.tool import Arguments, Tool, as_in, describe_arguments, without_values
from headwater.http.inputs.parameters import JsonInput
from headwater.people.contacts import filters
from headwater.reports.changes.answers import CHANGES_SINCE, changes_answer
from headwater.reports.changes.change import ChangeQuery
from headwater.reports.changes.credit import query_changes
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.hints import Hints, find_hints
from headwater.reports.query import Question
from headwater.reports.questions.paths import (
    GROUP,
    LIMIT,
    OF_REPORTS,
    PathReport,
    load_paths,
    read_paths_query,
)
from headwater.reports.questions.report import (
    ALL_MODELS,
    GROUP_BY,
    ORDER_BY,
    PARAMETERS,
    Report,
    load_report,
    read_report_query,
)
from headwater.reports.questions.shared import NO_GROUPS

_REPORT = "query_report"


async def _query_report(context: ToolContext, arguments: Arguments) -> Any:
    space = await context.load_space()
    if arguments.get(GROUP_BY.name) == []:
        arguments = {**arguments, GROUP_BY.name: [NO_GROUPS]}
    values = JsonInput(arguments)
    start = CHANGES_SINCE.read(values)
    query = read_report_query(values, space, datetime.now(UTC))
    async with context.transaction(CONNECTION_SECONDS) as connection:
        report = await load_report(connection, context.space_id, query)
    answer = replace(report, hints=await load_hints(context, query))
    if start is None:
        return answer
    question = ChangeQuery(query, start)
    async with context.transaction(CONNECTION_SECONDS) as connection:
        changes = await query_changes(connection, context.space_id, question)
    return to_builtins({**to_builtins(answer), "changes": changes_answer(question, changes)})


async def _query_paths(context: ToolContext, arguments: Arguments) -> Any:
    space = await context.load_space()
    query = read_paths_query(JsonInput(arguments), space, datetime.now(UTC))
    async with context.transaction(CONNECTION_SECONDS) as connection:
        report = await load_paths(connection, context.space_id, query)
    return replace(report, hints=await load_hints(context, query))


async def load_hints(context: ToolContext, query: Question) -> Hints:
    """Return hints on a report's filters, in a transaction of their own."""
    async with context.transaction() as connection:
        return await find_hints(connection, context.space_id, query.filters)


def _described() -> dict[str, Schema]:
    arguments = describe_arguments(*PARAMETERS, CHANGES_SINCE) | filters.ARGUMENT
    arguments[GROUP_BY.name] |= {"minItems": 0}
    repeating = (ORDER_BY.name, ALL_MODELS.name)
    return arguments | {name: without_values(arguments[name]) for name in repeating}


TOOLS = (
    Tool(
        name=_REPORT,
        title="Query a report",
        description=(
            "Revenue, orders, credit and contacts in total and by channel, campaign, day, country "
            "and more; no argument is needed. Last month's channels: "
            '{"period": "last month"}. A null key means without one. With compare, …_before is the earlier '
            "figure, …_change the relative change. event_names lists the summed events; first_event and "
            "last_event delimit the data."
        ),
        arguments=_described(),
        answer=Report,
        call=_query_report,
    ),
    Tool(
        name="query_paths",
        title="Query paths",
        description=(
            "Paths of sources or channels to events with a touchpoint in the window, most "
            "conversions first; the number of touchpoints and days; the first by the last source."
        ),
        arguments=describe_arguments(GROUP)
        | as_in(_REPORT, describe_arguments(*OF_REPORTS) | filters.ARGUMENT)
        | describe_arguments(LIMIT),
        answer=PathReport,
        call=_query_paths,
    ),
)
