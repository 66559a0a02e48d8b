"""Tools for companies."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.pages import PAGING, page_answer, paged
from headwater.assistants.mcp.periods import PERIODS, with_dates
from headwater.assistants.mcp.tool import (
    ID,
    Arguments,
    Tool,
    as_in,
    describe_arguments,
    make_bare_schema,
    make_page_schema,
    make_schema,
)
from headwater.http.inputs.parameters import JsonInput
from headwater.people.companies import parameters
from headwater.people.companies.answers import Company, ListedCompany
from headwater.people.companies.queries import fetch_company, list_companies
from headwater.people.companies.updates import CHANGE, read_change, update_company
from headwater.spaces.audit.entries import AuditChange

_COMPANY_ID = {"company_id": {**ID, "description": "The company's id, from list_companies."}}
_UNKNOWN = "Find the company's id with list_companies."


async def _list_companies(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        space = await context.space(connection)
        query = JsonInput(with_dates(paged(arguments), space, datetime.now(UTC)))
        cursors = parameters.cursors(query, context.services.signing_key, context.space_id)
        listing = parameters.read_list_companies(query, space, cursors)
        page = await list_companies(connection, space.id, listing)
    return page_answer(page, cursors)


async def _get_company(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        company = await fetch_company(connection, context.space_id, arguments["company_id"])
    return msgspec.json.decode(company)


async def _update_company(context: ToolContext, arguments: Arguments) -> Any:
    change = read_change(arguments)
    async with context.transaction() as connection:
        company_id = arguments["company_id"]
        company = await update_company(connection, context.space_id, company_id, change)
        await context.note(
            connection, "update_company", AuditChange("company", company_id, fields=sorted(change.values))
        )
    return msgspec.json.decode(company)


TOOLS = (
    Tool(
        name="list_companies",
        title="List companies",
        description="Companies, newest first; if given, first stored in a period.",
        arguments=as_in("list_events", describe_arguments(*PERIODS, *PAGING)),
        answer=make_page_schema(make_schema(ListedCompany)),
        call=_list_companies,
    ),
    Tool(
        name="get_company",
        title="Get a company",
        description="One company by its id.",
        arguments=_COMPANY_ID,
        required=("company_id",),
        answer=make_bare_schema(Company),
        call=_get_company,
        hint=_UNKNOWN,
    ),
    Tool(
        name="update_company",
        title="Change a company",
        description=(
            "Change a company's domain, external id or name. Null for domain or external_id "
            "releases it, so that another company can have it."
        ),
        arguments=_COMPANY_ID | CHANGE.schema["properties"],
        required=("company_id",),
        answer=make_bare_schema(Company),
        call=_update_company,
        writes=True,
        destructive=True,
        clears=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
)
