"""The endpoints that erase a person: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Request, Response

from headwater.contacts.lookup import find_by_any_email, resolve
from headwater.contacts.schemas import SEVERAL
from headwater.http.errors import Invalid
from headwater.http.ids import INTEGER_ID, parse_id
from headwater.http.openapi import problems
from headwater.http.parameters import Query
from headwater.privacy.erasures import request_erasure
from headwater.privacy.schemas import EMAIL, QUEUED
from headwater.spaces.access import Caller, requires

router = APIRouter(tags=["Contacts"])

ContactId = Annotated[
    str,
    Path(
        alias="id",
        description="The contact's id, from 1 on, or that of one merged into it.",
        json_schema_extra=INTEGER_ID,
    ),
]

Eraser = Annotated[Caller, requires("contacts:delete", "delete_contact_pii")]


@router.delete(
    "/contacts/{id}/pii",  # noqa: FAST003 - the alias of ContactId
    operation_id="delete_contact_pii",
    summary="Delete Contact PII",
    status_code=202,
    responses={202: QUEUED, **problems(401, 403, 404, 422, 429, 503)},
)
async def erase_contact(request: Request, contact_id: ContactId, caller: Eraser) -> Response:
    """Have a contact's personal data erased for good. Its events and its id stay."""
    asked = _read_id(contact_id, Query(request.scope["query_string"]))
    async with request.app.state.headwater.database.transaction() as connection:
        found = await resolve(connection, caller.space_id, asked)
        await request_erasure(connection, caller.space_id, found)
    return _queued(found)


@router.delete(
    "/contacts/pii",
    operation_id="delete_contact_pii_by_email",
    summary="Delete Contact PII by Email",
    status_code=202,
    responses={202: QUEUED, **SEVERAL, **problems(401, 403, 404, 422, 429, 503)},
    openapi_extra={"parameters": [EMAIL.openapi()]},
)
async def erase_contact_by_email(request: Request, caller: Eraser) -> Response:
    """Have the personal data of the one contact that has or had an address erased for good."""
    query = Query(request.scope["query_string"])
    email = EMAIL.read(query)
    query.finish()
    assert email is not None
    async with request.app.state.headwater.database.transaction() as connection:
        found = await find_by_any_email(connection, caller.space_id, email)
        await request_erasure(connection, caller.space_id, found)
    return _queued(found)


def _read_id(text: str, query: Query) -> int:
    """The id in the path, which must be all that says who is meant. Raises Invalid."""
    number = parse_id("id", text)
    if number == 0:
        raise Invalid.of("id", "must be 1 or more.")
    if query.one("email") is not None:
        query.refuse("email", "must not be given beside an id.")
    query.finish()
    return number


def _queued(contact_id: int) -> Response:
    message = "The contact's personal data will be erased within minutes."
    answer = {"contact_id": contact_id, "status": "queued", "message": message}
    return Response(msgspec.json.encode(answer), 202, media_type="application/json")
