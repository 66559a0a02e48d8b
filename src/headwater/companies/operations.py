"""The endpoints of companies: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from headwater.companies import parameters
from headwater.companies.queries import fetch_company, list_companies
from headwater.companies.schemas import BODY_OF_CHANGE, CHANGED, CLAIMED, COMPANY, PAGE
from headwater.companies.updates import read_change, update_company
from headwater.http.bodies import read_json
from headwater.http.ids import INTEGER_ID, parse_id
from headwater.http.openapi import problems
from headwater.http.pagination import PageLink, envelope
from headwater.http.parameters import Query
from headwater.spaces.access import Caller, requires
from headwater.spaces.spaces import fetch_space

router = APIRouter(tags=["Companies"])

JSON = "application/json"

CompanyId = Annotated[
    str,
    Path(
        alias="id",
        description="The company's id.",
        json_schema_extra=INTEGER_ID,
    ),
]

Lister = Annotated[Caller, requires("companies:read", "list_companies")]
Getter = Annotated[Caller, requires("companies:read", "get_company")]
Updater = Annotated[Caller, requires("companies:write", "update_company")]


@router.get(
    "/companies",
    operation_id="list_companies",
    summary="List Companies",
    responses={200: PAGE, **problems(401, 403, 422, 429, 503)},
    openapi_extra={"parameters": parameters.DOCUMENTATION},
)
async def list_stored_companies(request: Request, caller: Lister) -> Response:
    """List companies, the newest first."""
    headwater = request.app.state.headwater
    query = Query(request.scope["query_string"])
    cursors = parameters.cursors(query, headwater.signing_key, caller.space_id)
    async with headwater.database.connection() as connection:
        space = await fetch_space(connection, caller.space_id)
        asked = parameters.read_list_companies(query, space, cursors)
        page = await list_companies(connection, caller.space_id, asked)
    link = PageLink(headwater.base_url + request.scope["path"], query, cursors)
    return Response(envelope(page, asked.per_page, link), media_type=JSON)


@router.get(
    "/companies/{id}",  # noqa: FAST003 - the alias of CompanyId
    operation_id="get_company",
    summary="Get Company",
    responses={200: COMPANY, **problems(401, 403, 404, 422, 429, 503)},
)
async def get_stored_company(request: Request, company_id: CompanyId, caller: Getter) -> Response:
    """Get one company."""
    number = parse_id("id", company_id)
    async with request.app.state.headwater.database.connection() as connection:
        company = await fetch_company(connection, caller.space_id, number)
    return Response(company, media_type=JSON)


@router.put(
    "/companies/{id}",  # noqa: FAST003 - the alias of CompanyId
    operation_id="update_company",
    summary="Update Company",
    responses={200: CHANGED, **CLAIMED, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": BODY_OF_CHANGE},
)
async def update_stored_company(
    request: Request, company_id: CompanyId, caller: Updater
) -> Response:
    """Change a company's domain, external id or name; null releases a domain or an external id."""
    number = parse_id("id", company_id)
    change = read_change(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        company = await update_company(connection, caller.space_id, number, change)
    return Response(company, media_type=JSON)
