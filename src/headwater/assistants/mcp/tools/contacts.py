"""Tools for contacts: list, read, journey, create, change, group, erase."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.assistants.mcp.confirmation import CONFIRM, PREVIEW, find_preview, read_confirmation
from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.pages import NEXT_PAGE, PAGING, page_answer, paged
from headwater.assistants.mcp.periods import PERIODS, with_dates
from headwater.assistants.mcp.tool import (
    ID,
    NEXT_CURSOR,
    Arguments,
    Schema,
    Tool,
    as_in,
    describe_arguments,
    make_bare_schema,
    make_page_schema,
    make_schema,
    partial,
    rows_schema,
)
from headwater.events.journey_amounts import with_amounts
from headwater.http.inputs.fields import whole_number
from headwater.http.inputs.parameters import JsonInput, Parameter
from headwater.http.openapi import MOMENT, object_schema
from headwater.intake.merging.membership import REASSIGNMENT_SECONDS, change_company
from headwater.people.contacts import filters, inputs, parameters
from headwater.people.contacts.answers import (
    ContactAnswer,
    ContactCompany,
    CreatedContact,
    JourneyPage,
    ListedContact,
    UpdatedContact,
    describe_values,
)
from headwater.people.contacts.journey import count_earlier, list_journey
from headwater.people.contacts.lookup import find_by_email, resolve
from headwater.people.contacts.models import GetContact
from headwater.people.contacts.queries import (
    MAX_SEARCHED_CONTACTS,
    count_contacts,
    fetch_contact,
    list_contacts,
    queries,
)
from headwater.people.contacts.updates import create_contact, update_contact
from headwater.privacy.erasures import request_erasure
from headwater.spaces.audit.entries import AuditChange

_CONTACT_ID = {"contact_id": {**ID, "description": "The contact's id."}}
_UNKNOWN = "Find the contact's id with find_contact_by_email or list_contacts."
_MOST_ITEMS = Parameter(
    name="limit", kind=whole_number(1, 500), default=100, description="How many items to get, at most 500."
)
_INCLUDED = (parameters.TRK_TOKENS, parameters.ALL_EMAILS, parameters.CUSTOM_FIELDS)


async def _list_contacts(context: ToolContext, arguments: Arguments) -> Any:
    current_time = datetime.now(UTC)
    space = await context.load_space()
    query = JsonInput(with_dates(paged(arguments), space, current_time))
    cursors = parameters.search_cursors(query, context.services.signing_key, context.space_id)
    listing = parameters.read_search(query, space, cursors, current_time)
    async with context.transaction(heavy=bool(listing.selection.name)) as connection:
        page = await list_contacts(connection, space, listing)
        total = await count_contacts(connection, space.id, listing.selection, MOST_COUNTED + 1)
    total_members = {"total": min(total, MOST_COUNTED), "total_is_more": total > MOST_COUNTED}
    searched = {"searched": _SEARCHED} if listing.selection.name else {}
    return {**page_answer(page, cursors), **total_members, **searched}


async def _get_contact(context: ToolContext, arguments: Arguments) -> Any:
    options = parameters.read_get_contact(_drop_id(arguments))
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
    query, contact_id = _drop_id(arguments), arguments["contact_id"]
    signing_key = context.services.signing_key
    cursors = parameters.journey_cursors(query, signing_key, context.space_id, contact_id)
    request = parameters.read_list_journey(query, cursors, _MOST_ITEMS)
    async with context.transaction() as connection:
        await connection.execute(queries["snapshot"])
        space, direct = await context.space(connection), request.direct
        canonical = await resolve(connection, space.id, contact_id)
        page = await list_journey(connection, space, canonical, request)
        page = await with_amounts(connection, space.id, page)
        left_out = await count_earlier(connection, space.id, canonical, page.next, direct=direct)
    answer = page_answer(page, cursors)
    items, cursor = answer["rows"], answer["next_cursor"]
    return {"id": canonical, "items": items, "left_out": left_out, "next_cursor": cursor}


async def _create_contact(context: ToolContext, arguments: Arguments) -> Any:
    values = inputs.read_new_contact(arguments)
    async with context.transaction() as connection:
        space = await context.space(connection)
        contact_id = await create_contact(connection, space, values)
        await context.note(
            connection, "create_contact", AuditChange("contact", contact_id, fields=values.names)
        )
    return describe_values(CreatedContact, contact_id, values, space.zone, "Contact created.")


async def _update_contact(context: ToolContext, arguments: Arguments) -> Any:
    values = inputs.read_changes(arguments)
    async with context.transaction() as connection:
        space = await context.space(connection)
        canonical = await update_contact(connection, space, arguments["contact_id"], values)
        await context.note(
            connection, "update_contact", AuditChange("contact", canonical, fields=values.names)
        )
    return describe_values(UpdatedContact, canonical, values, space.zone, "Contact updated.")


async def _attach_company(context: ToolContext, arguments: Arguments) -> Any:
    company_id = inputs.read_company_id(arguments)
    async with context.transaction(REASSIGNMENT_SECONDS) as connection:
        canonical = await change_company(connection, context.space_id, arguments["contact_id"], company_id)
        change = AuditChange("contact", canonical, after={"company_id": company_id})
        await context.note(connection, "attach_contact_company", change)
    return ContactCompany(canonical, company_id)


async def _detach_company(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction(REASSIGNMENT_SECONDS) as connection:
        canonical = await change_company(connection, context.space_id, arguments["contact_id"], None)
        change = AuditChange("contact", canonical, after={"company_id": None})
        await context.note(connection, "detach_contact_company", change)
    return ContactCompany(canonical, None)


async def _delete_pii(context: ToolContext, arguments: Arguments) -> Any:
    confirmation, tool_name = read_confirmation(arguments), "delete_contact_pii"
    async with context.transaction() as connection:
        space = await context.space(connection)
        contact_id = await resolve(connection, space.id, arguments["contact_id"])
        everything = GetContact(trk_tokens=True)
        contact = await fetch_contact(connection, space, contact_id, everything)
        would_go = {"contact": msgspec.json.decode(contact)}
        if (preview := find_preview(context, tool_name, would_go, confirmation)) is not None:
            return preview
        await request_erasure(connection, space.id, contact_id)
        await context.note(connection, tool_name, AuditChange("contact", contact_id))
    message = "The contact's personal data will be erased within minutes."
    return {"contact_id": contact_id, "status": "queued", "message": message}


def _drop_id(arguments: Arguments) -> JsonInput:
    """Return the arguments without the contact's id as input."""
    return JsonInput({key: value for key, value in arguments.items() if key != "contact_id"})


_SEARCHED = (
    "All names were searched by their beginning, and the latest "
    f"{MAX_SEARCHED_CONTACTS:,} contacts for the text anywhere in the name."
)
_AS_LISTED = as_in("list_contacts", describe_arguments(parameters.TRK_TOKENS, parameters.LABELS))
MOST_COUNTED = 10_000
_LISTED_ROW = make_schema(ListedContact)
_ROW: Schema = {
    **_LISTED_ROW,
    "properties": {
        **_LISTED_ROW["properties"],
        **dict.fromkeys(("created_at", "first_event", "last_event"), MOMENT),
    },
}
_VALUES: dict[str, Schema] = make_bare_schema(inputs.NEW_CONTACT_BODY)["properties"]
_CONTACT_SCHEMA = make_bare_schema(ContactAnswer)
# get_contact_journey has the events and visits.
_CONTACT: Schema = {
    **_CONTACT_SCHEMA,
    "properties": {k: v for k, v in _CONTACT_SCHEMA["properties"].items() if k != "events"},
}

READING = (
    Tool(
        name="list_contacts",
        title="List contacts",
        description=(
            "Contacts by name, e-mail address, custom fields or time, newest first, with their "
            "number (`total`) and first and last event. Time and created_at are when "
            "Headwater first stored a contact: for imported ones the import."
        ),
        arguments=describe_arguments(parameters.NAME)
        | as_in("list_events", describe_arguments(*PERIODS, *PAGING))
        | (describe_arguments(*_INCLUDED, parameters.LABELS) | parameters.EMAILS_ARGUMENT)
        | as_in("query_report", filters.ARGUMENT),
        answer=make_page_schema(
            _ROW,
            total={"type": "integer"},
            total_is_more={
                "type": "boolean",
                "description": f"True when there are more than {MOST_COUNTED}.",
            },
            searched={"type": "string"},
        ),
        call=_list_contacts,
    ),
    Tool(
        name="get_contact",
        title="Get a contact",
        description="One contact: addresses, phones, names, locations, custom fields.",
        arguments=_CONTACT_ID | _AS_LISTED,
        required=("contact_id",),
        answer=_CONTACT,
        call=_get_contact,
        hint=_UNKNOWN,
    ),
    Tool(
        name="find_contact_by_email",
        title="Find a contact by e-mail",
        description="The contact with an e-mail address. Of several, their ids.",
        arguments=describe_arguments(parameters.EMAIL) | _AS_LISTED,
        required=("email",),
        answer=_CONTACT,
        call=_find_contact,
        hint="No contact has this address. Check its spelling, or search with list_contacts.",
    ),
    Tool(
        name="get_contact_journey",
        title="Get a contact's journey",
        description=(
            "What a contact did, most recent first: touchpoints (where they came from) and "
            "conversions (what they did); `left_out` counts older items."
        ),
        arguments=_CONTACT_ID | describe_arguments(parameters.HIDE_DIRECT, _MOST_ITEMS, NEXT_PAGE),
        required=("contact_id",),
        answer=object_schema(
            {
                "id": ID,
                "items": {"type": "array", "items": partial(rows_schema(JourneyPage))},
                "left_out": {"type": "integer"},
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
            "Create a contact, even if another has the same address: check with "
            "find_contact_by_email first. The first item of a list is the primary one."
        ),
        arguments=_VALUES,
        required=("emails",),
        answer=make_bare_schema(CreatedContact),
        call=_create_contact,
        writes=True,
    ),
    Tool(
        name="update_contact",
        title="Change a contact",
        description=(
            "Replace whole collections of a contact, or all its custom fields; missing ones "
            "stay. Get the contact first and include the values to keep."
        ),
        arguments=_CONTACT_ID | _VALUES,
        required=("contact_id",),
        answer=make_bare_schema(UpdatedContact),
        call=_update_contact,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
    Tool(
        name="attach_contact_company",
        title="Link a contact to a company",
        description="Make a contact a member of a company, in place of any other.",
        arguments=_CONTACT_ID
        | {"company_id": {**ID, "description": "The company's id, from list_companies."}},
        required=("contact_id", "company_id"),
        answer=ContactCompany,
        call=_attach_company,
        writes=True,
        destructive=True,
        idempotent=True,
        hint="Find ids with find_contact_by_email and list_companies.",
    ),
    Tool(
        name="detach_contact_company",
        title="Unlink a contact from its company",
        description="Take a contact out of its company, with all it has done.",
        arguments=_CONTACT_ID,
        required=("contact_id",),
        answer=ContactCompany,
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
            "Erase a contact's personal data permanently: addresses, names, phones, devices, page "
            "views, custom fields; events stay. In two calls: the first shows what would go, "
            "the second confirms it."
        ),
        arguments=_CONTACT_ID | describe_arguments(CONFIRM),
        required=("contact_id",),
        answer=object_schema(
            {"contact_id": ID, "status": {"const": "queued"}, **PREVIEW},
            "contact_id",
            "status",
            "would_go",
            "confirm",
        ),
        call=_delete_pii,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
)
TOOLS = (*READING, *WRITING)
