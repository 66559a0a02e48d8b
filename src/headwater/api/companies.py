"""API endpoints of companies. Each handler owns its transaction."""

from __future__ import annotations

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.inputs.pagination import answer_page
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.people.companies import parameters
from headwater.people.companies.answers import ClaimedCompany, Company, CompanyPage
from headwater.people.companies.queries import fetch_company, list_companies
from headwater.people.companies.updates import CHANGE, read_change, update_company
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space


async def list_stored_companies(call: Call) -> CompanyPage:
    """List companies, newest first."""
    cursors = parameters.cursors(call.query, call.services.signing_key, call.space_id)
    async with call.services.database.connection() as connection:
        space = await fetch_space(connection, call.space_id)
        listing = parameters.read_list_companies(call.query, space, cursors)
        page = await list_companies(connection, call.space_id, listing)
    return answer_page(CompanyPage, page, listing.per_page, call.page_link(cursors))


async def get_stored_company(call: Call) -> str:
    """Get a company."""
    company_id = call.path_id("id")
    async with call.services.database.connection() as connection:
        return await fetch_company(connection, call.space_id, company_id)


async def update_stored_company(call: Call) -> str:
    """Change a company's domain, external id or name; null releases a domain or an external id."""
    company_id = call.path_id("id")
    change = read_change(await call.body())
    async with call.change() as connection:
        call.note(AuditChange("company", company_id, fields=sorted(change.values)))
        return await update_company(connection, call.space_id, company_id, change)


COMPANY_ID = PathParameter("id", "The company's id.", INTEGER_ID)

OPERATIONS = (
    Operation(
        id="list_companies",
        method="GET",
        path="/companies",
        tag="Companies",
        summary="List Companies",
        scope="companies:read",
        limit=RateLimit("list_companies", 15),
        parameters=parameters.DOCUMENTATION,
        answer=CompanyPage,
        handler=list_stored_companies,
    ),
    Operation(
        id="get_company",
        method="GET",
        path="/companies/{id}",
        tag="Companies",
        summary="Get Company",
        scope="companies:read",
        limit=RateLimit("get_company", 30),
        path_parameters=[COMPANY_ID],
        answer=Company,
        errors=[404],
        handler=get_stored_company,
    ),
    Operation(
        id="update_company",
        method="PUT",
        path="/companies/{id}",
        tag="Companies",
        summary="Update Company",
        scope="companies:write",
        limit=RateLimit("update_company", 60),
        path_parameters=[COMPANY_ID],
        body=body(CHANGE.schema),
        answer=Company,
        conflict=ClaimedCompany,
        errors=[404],
        handler=update_stored_company,
    ),
)
