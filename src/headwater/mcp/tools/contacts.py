"""Tools about contacts: lists, one contact, their journey, making, changing, grouping, erasing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.contacts import filters, inputs, parameters
from headwater.contacts.journey import count_earlier, list_journey
from headwater.contacts.lookup import find_by_email, resolve
from headwater.contacts.queries import fetch_contact, list_contacts, queries
from headwater.contacts.schemas import CONTACT, JOURNEY_ITEM, PAGE
from headwater.contacts.updates import create_contact, update_contact
from headwater.http.fields import whole_number
from headwater.http.json_decoder import refuse_bad_text
from headwater.http.openapi import object_schema
from headwater.http.parameters import JsonInput, Parameter
from headwater.mcp.context import ToolContext
from headwater.mcp.pages import NEXT_PAGE, PAGING, page_answer, paged
from headwater.mcp.tool import (
    ID,
    NEXT_CURSOR,
    Arguments,
    Schema,
    Tool,
    answer_of,
    arguments_of,
    list_of,
    rows_schema,
    schema_of,
)
from headwater.merging.membership import (
    REASSIGNMENT_SECONDS,
    attach_company,
    detach_company,
)
from headwater.privacy.erasures import request_erasure

_CONTACT_ID = {"contact_id": {**ID, "description": "The contact's id."}}
_UNKNOWN = "Find the contact's id with find_contact_by_email or list_contacts."
_MOST_ITEMS = Parameter(
    name="limit", kind=whole_number(1, 500), default=100,
    description="How many items to get, at most 500.",
)  # fmt: skip
_INCLUDED = (parameters.TRK_TOKENS, parameters.ALL_EMAILS, parameters.CUSTOM_FIELDS)


async def _list_contacts(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput(paged(arguments))
    cursors = parameters.cursors(query, context.service.signing_key, context.space_id)
    async with context.transaction() as connection:
        space = await context.space(connection)
        listing = parameters.read_list_contacts(query, space, cursors, datetime.now(UTC))
        page = await list_contacts(connection, space, listing)
    return page_answer(page, cursors)


async def _get_contact(context: ToolContext, arguments: Arguments) -> Any:
    options = parameters.read_get_contact(_but(arguments, "contact_id"))
    async with context.transaction() as connection:
        await connection.execute(queries["snapshot"])
        space = await context.space(connection)
        canonical = await resolve(connection, space.id, arguments["contact_id"])
        contact = await fetch_contact(connection, space, canonical, options)
    return msgspec.json.decode(contact)


async def _find_contact(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput(arguments)
    email = parameters.read_email(query, "")
    options = parameters.read_get_contact(query)
    async with context.transaction() as connection:
        await connection.execute(queries["snapshot"])
        space = await context.space(connection)
        contact_id = await find_by_email(connection, space.id, email)
        contact = await fetch_contact(connection, space, contact_id, options)
    return msgspec.json.decode(contact)


async def _get_journey(context: ToolContext, arguments: Arguments) -> Any:
    query, contact_id = _but(arguments, "contact_id"), arguments["contact_id"]
    signing_key = context.service.signing_key
    cursors = parameters.journey_cursors(query, signing_key, context.space_id, contact_id)
    request = parameters.read_list_journey(query, cursors, _MOST_ITEMS)
    async with context.transaction() as connection:
        await connection.execute(queries["snapshot"])
        canonical = await resolve(connection, context.space_id, contact_id)
        page = await list_journey(connection, context.space_id, canonical, request)
        left_out = await count_earlier(
            connection, context.space_id, canonical, page.next, direct=request.direct
        )
    answer = page_answer(page, cursors)
    return {
        "id": canonical,
        "items": answer["rows"],
        "left_out": left_out,
        "next_cursor": answer["next_cursor"],
    }


async def _create_contact(context: ToolContext, arguments: Arguments) -> Any:
    refuse_bad_text(arguments)
    values = inputs.read_new_contact(arguments)
    async with context.transaction() as connection:
        space = await context.space(connection)
        contact_id = await create_contact(connection, space, values)
    return msgspec.json.decode(inputs.answer(contact_id, values, space.zone, "Contact created."))


async def _update_contact(context: ToolContext, arguments: Arguments) -> Any:
    refuse_bad_text(arguments)
    values = inputs.read_changes(arguments)
    async with context.transaction() as connection:
        space = await context.space(connection)
        canonical = await update_contact(connection, space, arguments["contact_id"], values)
    return msgspec.json.decode(inputs.answer(canonical, values, space.zone, "Contact updated."))


async def _attach_company(context: ToolContext, arguments: Arguments) -> Any:
    company_id = inputs.read_company_id(arguments)
    async with context.transaction(REASSIGNMENT_SECONDS) as connection:
        canonical = await attach_company(
            connection, context.space_id, arguments["contact_id"], company_id
        )
    return {"id": canonical, "company_id": company_id}


async def _detach_company(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction(REASSIGNMENT_SECONDS) as connection:
        canonical = await detach_company(connection, context.space_id, arguments["contact_id"])
    return {"id": canonical, "company_id": None}


async def _delete_pii(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        contact_id = await resolve(connection, context.space_id, arguments["contact_id"])
        await request_erasure(connection, context.space_id, contact_id)
    message = "The contact's personal data will be erased within minutes."
    return {"contact_id": contact_id, "status": "queued", "message": message}


def _but(arguments: Arguments, name: str) -> JsonInput:
    """The input of all arguments but `name`."""
    return JsonInput({key: value for key, value in arguments.items() if key != name})


_LISTED = (*parameters.CREATED.parameters, *PAGING, *_INCLUDED, parameters.LABELS)
_OPTIONS = (parameters.TRK_TOKENS, parameters.LABELS)
_VALUES = schema_of(inputs.BODY_OF_NEW)["properties"]
_WHOLE = answer_of(CONTACT)
# A contact's own events and visits are left to get_contact_journey.
_CONTACT: Schema = {
    **_WHOLE, "properties": {k: v for k, v in _WHOLE["properties"].items() if k != "events"}
}  # fmt: skip

READING = (
    Tool(
        name="list_contacts",
        title="List contacts",
        description=(
            "Contacts made in a time range, with certain e-mail addresses, or both, newest first. "
            "Conditions on custom fields need the field to have a label: see trk://profile-fields."
        ),
        arguments=arguments_of(*_LISTED) | parameters.EMAILS_ARGUMENT | filters.ARGUMENT,
        answer=list_of(rows_schema(PAGE)),
        call=_list_contacts,
    ),
    Tool(
        name="get_contact",
        title="Get a contact",
        description="One contact: addresses, phones, names, locations, custom fields.",
        arguments=_CONTACT_ID | arguments_of(*_OPTIONS),
        required=("contact_id",),
        answer=_CONTACT,
        call=_get_contact,
        hint=_UNKNOWN,
    ),
    Tool(
        name="find_contact_by_email",
        title="Find a contact by e-mail",
        description="The one contact with an e-mail address. Several with it: their ids are told.",
        arguments=arguments_of(parameters.EMAIL, *_OPTIONS),
        required=("email",),
        answer=_CONTACT,
        call=_find_contact,
        hint="Nobody has this address. Check its spelling, or search with list_contacts.",
    ),
    Tool(
        name="get_contact_journey",
        title="Get a contact's journey",
        description=(
            "What a contact did, most recent first: touchpoints (where they came from) and "
            "conversions (what they did)."
        ),
        arguments=_CONTACT_ID | arguments_of(parameters.HIDE_DIRECT, _MOST_ITEMS, NEXT_PAGE),
        required=("contact_id",),
        answer=object_schema(
            {
                "id": ID,
                "items": {"type": "array", "items": JOURNEY_ITEM},
                "left_out": {"type": "integer", "description": "Older items that are not shown."},
                "next_cursor": NEXT_CURSOR,
            }
        ),
        call=_get_journey,
        hint=_UNKNOWN,
    ),
)
WRITING = (
    Tool(
        name="create_contact",
        title="Create a contact",
        description=(
            "Make a new contact, even when another has the same address: look with "
            "find_contact_by_email first."
        ),
        arguments=_VALUES,
        required=("emails",),
        answer=answer_of(inputs.CREATED),
        call=_create_contact,
        writes=True,
    ),
    Tool(
        name="update_contact",
        title="Change a contact",
        description=(
            "Replace whole collections of a contact, or all its custom fields; whatever is not "
            "given stays. Get the contact first and send what should remain as well."
        ),
        arguments=_CONTACT_ID | _VALUES,
        required=("contact_id",),
        answer=answer_of(inputs.UPDATED),
        call=_update_contact,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
    Tool(
        name="attach_contact_company",
        title="Make a contact a company's",
        description="Make a contact a member of a company, in place of any other.",
        arguments=_CONTACT_ID
        | {"company_id": {**ID, "description": "The company's id, from list_companies."}},
        required=("contact_id", "company_id"),
        answer=answer_of(inputs.ATTACHED),
        call=_attach_company,
        writes=True,
        destructive=True,
        idempotent=True,
        hint="Find ids with find_contact_by_email and list_companies.",
    ),
    Tool(
        name="detach_contact_company",
        title="Take a contact out of its company",
        description="Take a contact out of its company, with all it has done.",
        arguments=_CONTACT_ID,
        required=("contact_id",),
        answer=answer_of(inputs.DETACHED),
        call=_detach_company,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
    Tool(
        name="delete_contact_pii",
        title="Erase a person",
        description=(
            "Erase a contact's personal data for good: addresses, names, phones, devices, page "
            "views, custom fields. Events stay. Ask the person first: it cannot be undone."
        ),
        arguments=_CONTACT_ID,
        required=("contact_id",),
        answer=object_schema(
            {"contact_id": ID, "status": {"const": "queued"}, "message": {"type": "string"}}
        ),
        call=_delete_pii,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
)
TOOLS = (*READING, *WRITING)
