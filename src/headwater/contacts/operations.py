"""The endpoints of contacts: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from headwater.contacts import inputs, parameters
from headwater.contacts.lookup import find_by_email, resolve
from headwater.contacts.membership import attach_company, detach_company
from headwater.contacts.queries import fetch_contact, list_contacts, queries
from headwater.contacts.schemas import CONTACT, PAGE, SEVERAL
from headwater.contacts.updates import create_contact, update_contact
from headwater.http.bodies import read_json
from headwater.http.ids import INTEGER_ID, parse_id
from headwater.http.openapi import problems
from headwater.http.pagination import PageLink, envelope
from headwater.http.parameters import Query
from headwater.http.paths import REST
from headwater.spaces.access import Caller, requires
from headwater.spaces.spaces import fetch_space

router = APIRouter(tags=["Contacts"])

JSON = "application/json"

ContactId = Annotated[
    str,
    Path(
        alias="id",
        description="The contact's id, or that of a contact merged into it.",
        json_schema_extra=INTEGER_ID,
    ),
]
Email = Annotated[
    str,
    Path(description=parameters.EMAIL.description, json_schema_extra={"pattern": "@"}),
]

Lister = Annotated[Caller, requires("contacts:read", "list_contacts")]
Getter = Annotated[Caller, requires("contacts:read", "get_contact")]
Creator = Annotated[Caller, requires("contacts:write", "create_contact")]
Updater = Annotated[Caller, requires("contacts:write", "update_contact")]

RESTAMPING_SECONDS = 20.0
"""How long a membership may take to change: a contact can have a hundred thousand events."""


@router.get(
    "/contacts",
    operation_id="list_contacts",
    summary="List Contacts",
    responses={200: PAGE, **problems(401, 403, 422, 429, 503)},
    openapi_extra={"parameters": parameters.DOCUMENTATION_OF_LIST},
)
async def list_stored_contacts(request: Request, caller: Lister) -> Response:
    """List contacts made in a time range, with certain addresses, or both, newest first."""
    headwater = request.app.state.headwater
    query = Query(request.scope["query_string"])
    cursors = parameters.cursors(query, headwater.signing_key, caller.space_id)
    async with headwater.database.connection() as connection:
        space = await fetch_space(connection, caller.space_id)
        asked = parameters.read_list_contacts(query, space, cursors, datetime.now(UTC))
        page = await list_contacts(connection, space, asked)
    link = PageLink(headwater.base_url + request.scope["path"], query, cursors)
    return Response(envelope(page, asked.per_page, link), media_type=JSON)


@router.get(
    "/contacts/by-email",
    operation_id="find_contact_by_email",
    summary="Get Contact by Email (query)",
    responses={200: CONTACT, **SEVERAL, **problems(401, 403, 404, 422, 429, 503)},
    openapi_extra={"parameters": parameters.DOCUMENTATION_OF_FIND},
)
async def find_stored_contact(request: Request, caller: Getter) -> Response:
    """Get the only contact with an address, given in the query."""
    return await _answer_by_email(request, caller, "")


@router.get(
    # An address can hold a slash, which arrives as one even where it was sent as %2F.
    f"/contacts/by-email/{{email:{REST}}}",
    operation_id="get_contact_by_email",
    summary="Get Contact by Email (path)",
    responses={200: CONTACT, **SEVERAL, **problems(401, 403, 404, 422, 429, 503)},
    openapi_extra={"parameters": parameters.DOCUMENTATION_OF_GET},
)
async def get_stored_contact_by_email(request: Request, email: Email, caller: Getter) -> Response:
    """Get the only contact with an address, given in the path."""
    return await _answer_by_email(request, caller, email)


@router.get(
    "/contacts/{id}",  # noqa: FAST003 - the alias of ContactId
    operation_id="get_contact",
    summary="Get Contact",
    responses={200: CONTACT, **problems(401, 403, 404, 422, 429, 503)},
    openapi_extra={"parameters": parameters.DOCUMENTATION_OF_GET},
)
async def get_stored_contact(request: Request, contact_id: ContactId, caller: Getter) -> Response:
    """Get one contact, also by an id that was merged into it."""
    number = parse_id("id", contact_id)
    asked = parameters.read_get_contact(Query(request.scope["query_string"]))
    database = request.app.state.headwater.database
    async with database.transaction(heavy=asked.events) as connection:
        await connection.execute(queries["snapshot"])
        space = await fetch_space(connection, caller.space_id)
        canonical = await resolve(connection, space.id, number)
        contact = await fetch_contact(connection, space, canonical, asked)
    return Response(contact, media_type=JSON)


async def _answer_by_email(request: Request, caller: Caller, in_path: str) -> Response:
    query = Query(request.scope["query_string"])
    email = parameters.read_email(query, in_path)
    asked = parameters.read_get_contact(query)
    database = request.app.state.headwater.database
    async with database.transaction(heavy=asked.events) as connection:
        await connection.execute(queries["snapshot"])
        space = await fetch_space(connection, caller.space_id)
        found = await find_by_email(connection, space.id, email)
        contact = await fetch_contact(connection, space, found, asked)
    return Response(contact, media_type=JSON)


@router.post(
    "/contacts",
    operation_id="create_contact",
    summary="Create Contact",
    status_code=201,
    responses={201: inputs.CREATED, **problems(401, 403, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": inputs.BODY_OF_NEW},
)
async def create_stored_contact(request: Request, caller: Creator) -> Response:
    """Create a new contact, also when others have the same addresses."""
    values = inputs.read_new_contact(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        space = await fetch_space(connection, caller.space_id)
        contact_id = await create_contact(connection, space, values)
    told = inputs.answer(contact_id, values, space.zone, "Contact created.")
    return Response(told, 201, media_type=JSON)


@router.put(
    "/contacts/{id}",  # noqa: FAST003 - the alias of ContactId
    operation_id="update_contact",
    summary="Update Contact",
    responses={200: inputs.UPDATED, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": inputs.BODY_OF_CHANGES},
)
async def update_stored_contact(
    request: Request, contact_id: ContactId, caller: Updater
) -> Response:
    """Replace whole collections or all custom fields; whatever is not given stays."""
    number = parse_id("id", contact_id)
    values = inputs.read_changes(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        space = await fetch_space(connection, caller.space_id)
        canonical = await update_contact(connection, space, number, values)
    told = inputs.answer(canonical, values, space.zone, "Contact updated.")
    return Response(told, media_type=JSON)


@router.put(
    "/contacts/{id}/company",  # noqa: FAST003 - likewise
    operation_id="attach_contact_company",
    summary="Attach Contact Company",
    responses={200: inputs.ATTACHED, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": inputs.BODY_OF_COMPANY},
)
async def attach_contact_company(
    request: Request, contact_id: ContactId, caller: Updater
) -> Response:
    """Make the contact a member of a company, with all its events, touchpoints and visits."""
    number = parse_id("id", contact_id)
    company_id = inputs.read_company_id(await read_json(request))
    database = request.app.state.headwater.database
    async with database.transaction(RESTAMPING_SECONDS) as connection:
        canonical = await attach_company(connection, caller.space_id, number, company_id)
    return Response(inputs.membership(canonical, company_id), media_type=JSON)


@router.delete(
    "/contacts/{id}/company",  # noqa: FAST003 - likewise
    operation_id="detach_contact_company",
    summary="Detach Contact Company",
    responses={200: inputs.DETACHED, **problems(401, 403, 404, 422, 429, 503)},
)
async def detach_contact_company(
    request: Request, contact_id: ContactId, caller: Updater
) -> Response:
    """Take the contact out of its company, if it has one, with all it has done."""
    number = parse_id("id", contact_id)
    database = request.app.state.headwater.database
    async with database.transaction(RESTAMPING_SECONDS) as connection:
        canonical = await detach_company(connection, caller.space_id, number)
    return Response(inputs.membership(canonical, None), media_type=JSON)
