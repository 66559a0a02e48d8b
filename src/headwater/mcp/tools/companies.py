"""Tools about companies."""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.companies import parameters
from headwater.companies.queries import fetch_company, list_companies
from headwater.companies.schemas import BODY_OF_CHANGE, CHANGED, COMPANY, PAGE
from headwater.companies.updates import read_change, update_company
from headwater.http.json_decoder import refuse_bad_text
from headwater.http.parameters import JsonInput
from headwater.mcp.context import ToolContext
from headwater.mcp.pages import PAGING, paged, told
from headwater.mcp.tool import ID, Arguments, Tool, arguments_of, list_of, rows_schema, schema_of

_COMPANY_ID = {"company_id": {**ID, "description": "The company's id, from list_companies."}}
_UNKNOWN = "Find the company's id with list_companies."


async def _list_companies(asking: ToolContext, given: Arguments) -> Any:
    query = JsonInput(paged(given))
    cursors = parameters.cursors(query, asking.service.signing_key, asking.space_id)
    async with asking.transaction() as connection:
        space = await asking.space(connection)
        asked = parameters.read_list_companies(query, space, cursors)
        page = await list_companies(connection, space.id, asked)
    return told(page, cursors)


async def _get_company(asking: ToolContext, given: Arguments) -> Any:
    async with asking.transaction() as connection:
        company = await fetch_company(connection, asking.space_id, given["company_id"])
    return msgspec.json.decode(company)


async def _update_company(asking: ToolContext, given: Arguments) -> Any:
    refuse_bad_text(given)
    change = read_change(given)
    async with asking.transaction() as connection:
        company = await update_company(connection, asking.space_id, given["company_id"], change)
    return msgspec.json.decode(company)


TOOLS = (
    Tool(
        name="list_companies",
        title="List companies",
        description="Companies, the newest first; those made in a time range, if one is given.",
        arguments=arguments_of(*parameters.CREATED.parameters, *PAGING),
        answer=list_of(rows_schema(PAGE)),
        call=_list_companies,
    ),
    Tool(
        name="get_company",
        title="Get a company",
        description="One company by its id.",
        arguments=_COMPANY_ID,
        required=("company_id",),
        answer=schema_of(COMPANY),
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
        arguments=_COMPANY_ID | schema_of(BODY_OF_CHANGE)["properties"],
        required=("company_id",),
        answer=schema_of(CHANGED),
        call=_update_company,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
)
