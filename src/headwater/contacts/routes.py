"""The endpoints of contacts: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from headwater.contacts import bodies
from headwater.contacts.changing import create_contact, update_contact
from headwater.contacts.membership import attach_company, detach_company
from headwater.http.bodies import read_json
from headwater.http.ids import parse_id
from headwater.http.openapi import problems
from headwater.spaces.access import Caller, requires
from headwater.spaces.spaces import fetch_space

router = APIRouter(tags=["Contacts"])

JSON = "application/json"

ContactId = Annotated[
    str,
    Path(
        alias="id",
        description="The contact's id, or that of a contact merged into it.",
        json_schema_extra={"pattern": "^[0-9]{1,18}$"},
    ),
]

Creator = Annotated[Caller, requires("contacts:write", "create_contact")]
Updater = Annotated[Caller, requires("contacts:write", "update_contact")]

RESTAMPING_SECONDS = 60
"""How long a membership may take to change: a contact can have a hundred thousand events."""


@router.post(
    "/contacts",
    operation_id="create_contact",
    summary="Create Contact",
    status_code=201,
    responses={201: bodies.CREATED, **problems(401, 403, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": bodies.BODY_OF_NEW},
)
async def create_stored_contact(request: Request, caller: Creator) -> Response:
    """Make a new contact, also when others have the same addresses."""
    values = bodies.read_new_contact(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        space = await fetch_space(connection, caller.space_id)
        contact_id = await create_contact(connection, space, values)
    told = bodies.answer(contact_id, values, space.zone, "Contact created.")
    return Response(told, 201, media_type=JSON)


@router.put(
    "/contacts/{id}",  # noqa: FAST003 - the alias of ContactId
    operation_id="update_contact",
    summary="Update Contact",
    responses={200: bodies.UPDATED, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": bodies.BODY_OF_CHANGES},
)
async def update_stored_contact(
    request: Request, contact_id: ContactId, caller: Updater
) -> Response:
    """Replace whole collections or all custom fields; whatever is not given stays."""
    number = parse_id("id", contact_id)
    values = bodies.read_changes(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        space = await fetch_space(connection, caller.space_id)
        canonical = await update_contact(connection, space, number, values)
    told = bodies.answer(canonical, values, space.zone, "Contact updated.")
    return Response(told, media_type=JSON)


@router.put(
    "/contacts/{id}/company",  # noqa: FAST003 - likewise
    operation_id="attach_contact_company",
    summary="Attach Contact Company",
    responses={200: bodies.ATTACHED, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": bodies.BODY_OF_COMPANY},
)
async def attach_contact_company(
    request: Request, contact_id: ContactId, caller: Updater
) -> Response:
    """Make the contact a member of a company, with all its events, touchpoints and visits."""
    number = parse_id("id", contact_id)
    company_id = bodies.read_company_id(await read_json(request))
    database = request.app.state.headwater.database
    async with database.transaction(RESTAMPING_SECONDS) as connection:
        canonical = await attach_company(connection, caller.space_id, number, company_id)
    return Response(bodies.membership(canonical, company_id), media_type=JSON)


@router.delete(
    "/contacts/{id}/company",  # noqa: FAST003 - likewise
    operation_id="detach_contact_company",
    summary="Detach Contact Company",
    responses={200: bodies.DETACHED, **problems(401, 403, 404, 422, 429, 503)},
)
async def detach_contact_company(
    request: Request, contact_id: ContactId, caller: Updater
) -> Response:
    """Take the contact out of its company, if it has one, with all it has done."""
    number = parse_id("id", contact_id)
    database = request.app.state.headwater.database
    async with database.transaction(RESTAMPING_SECONDS) as connection:
        canonical = await detach_company(connection, caller.space_id, number)
    return Response(bodies.membership(canonical, None), media_type=JSON)
