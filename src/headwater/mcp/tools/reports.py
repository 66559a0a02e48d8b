"""The tool that adds up: one call for a question such as which channels brought last month's
revenue. Arguments that are left out have the default that most questions mean.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from headwater.contacts import filters
from headwater.http.parameters import JsonInput
from headwater.mcp.context import ToolContext
from headwater.mcp.tool import Arguments, Schema, Tool, arguments_of
from headwater.reports.parameters import GROUP_BY, NO_GROUPS, PARAMETERS, read_report_query
from headwater.reports.report import query_report
from headwater.reports.report_answer import REPORT, report_answer
from headwater.reports.report_reader import CONNECTION_SECONDS


async def _query_report(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        space = await context.space(connection)
    if arguments.get(GROUP_BY.name) == []:
        arguments = {**arguments, GROUP_BY.name: [NO_GROUPS]}
    query = read_report_query(JsonInput(arguments), space, datetime.now(UTC))
    async with context.transaction(CONNECTION_SECONDS) as connection:
        report = await query_report(connection, context.space_id, query)
    return report_answer(query, report)


def _described() -> dict[str, Schema]:
    arguments = arguments_of(*PARAMETERS) | filters.ARGUMENT
    arguments[GROUP_BY.name] |= {"minItems": 0}
    return arguments


TOOLS = (
    Tool(
        name="query_report",
        title="Query a report",
        description=(
            "Revenue, orders, credit and contacts in total and by channel, campaign, day, country "
            "and more; every argument may be left out. Which channels brought last month's "
            'revenue: {"period": "last month"}. Answers columns and rows; a null key has none. '
            "With compare, …_before is the other time's figure, …_change the change as a ratio. "
            "totals + unattributed = overall. event_names says what was added up; first_event and "
            "last_event where data begins or ends within the period. Spend is not known."
        ),
        arguments=_described(),
        answer=REPORT,
        call=_query_report,
    ),
)
