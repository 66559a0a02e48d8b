"""API endpoints of contacts. Each handler owns its transaction."""

from __future__ import annotations

from datetime import UTC, datetime

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.inputs.pagination import answer_page
from headwater.http.inputs.path_parameters import INTEGER_ID, REST
from headwater.http.rate_limits import RateLimit
from headwater.intake.merging.membership import REASSIGNMENT_SECONDS, change_company
from headwater.people.contacts import inputs, parameters
from headwater.people.contacts.answers import (
    ContactAnswer,
    ContactCompany,
    ContactPage,
    CreatedContact,
    SeveralContacts,
    UpdatedContact,
    describe_values,
)
from headwater.people.contacts.lookup import find_by_email, resolve
from headwater.people.contacts.queries import fetch_contact, list_contacts, queries
from headwater.people.contacts.updates import create_contact, update_contact
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space


async def list_stored_contacts(call: Call) -> ContactPage:
    """List contacts created in a time range, with certain addresses, or both, newest first."""
    cursors = parameters.cursors(call.query, call.services.signing_key, call.space_id)
    async with call.services.database.connection() as connection:
        space = await fetch_space(connection, call.space_id)
        listing = parameters.read_list_contacts(call.query, space, cursors, datetime.now(UTC))
        page = await list_contacts(connection, space, listing)
    return answer_page(ContactPage, page, listing.per_page, call.page_link(cursors))


async def get_stored_contact(call: Call) -> bytes:
    """Get a contact, also by an id that was merged into it."""
    contact_id = call.path_id("id")
    options = parameters.read_get_contact(call.query)
    async with call.services.database.transaction(heavy=options.events) as connection:
        await connection.execute(queries["snapshot"])
        space = await fetch_space(connection, call.space_id)
        canonical = await resolve(connection, space.id, contact_id)
        return await fetch_contact(connection, space, canonical, options)


async def find_stored_contact(call: Call) -> bytes:
    """Get the only contact with an address, given in the query."""
    return await _answer_by_email(call, "")


async def get_stored_contact_by_email(call: Call) -> bytes:
    """Get the only contact with an address, given in the path."""
    return await _answer_by_email(call, call.path_text("email"))


async def _answer_by_email(call: Call, in_path: str) -> bytes:
    email = parameters.read_email(call.query, in_path)
    options = parameters.read_get_contact(call.query)
    async with call.services.database.transaction(heavy=options.events) as connection:
        await connection.execute(queries["snapshot"])
        space = await fetch_space(connection, call.space_id)
        contact_id = await find_by_email(connection, space.id, email)
        return await fetch_contact(connection, space, contact_id, options)


async def create_stored_contact(call: Call) -> CreatedContact:
    """Create a contact, even if others have the same addresses."""
    values = inputs.read_new_contact(await call.body())
    async with call.change() as connection:
        space = await fetch_space(connection, call.space_id)
        contact_id = await create_contact(connection, space, values)
        call.note(AuditChange("contact", contact_id, fields=values.names))
    return describe_values(CreatedContact, contact_id, values, space.zone, "Contact created.")


async def update_stored_contact(call: Call) -> UpdatedContact:
    """Replace a contact's collections or all its custom fields; missing members stay unchanged."""
    contact_id = call.path_id("id")
    values = inputs.read_changes(await call.body())
    async with call.change() as connection:
        space = await fetch_space(connection, call.space_id)
        canonical = await update_contact(connection, space, contact_id, values)
        call.note(AuditChange("contact", canonical, fields=values.names))
    return describe_values(UpdatedContact, canonical, values, space.zone, "Contact updated.")


async def attach_contact_company(call: Call) -> ContactCompany:
    """Add the contact to a company, with all its events, touchpoints and visits."""
    contact_id = call.path_id("id")
    company_id = inputs.read_company_id(await call.body())
    async with call.change(REASSIGNMENT_SECONDS) as connection:
        canonical = await change_company(connection, call.space_id, contact_id, company_id)
        call.note(AuditChange("contact", canonical, after={"company_id": company_id}))
    return ContactCompany(canonical, company_id)


async def detach_contact_company(call: Call) -> ContactCompany:
    """Remove the contact from its company, if any, with all its activity."""
    contact_id = call.path_id("id")
    async with call.change(REASSIGNMENT_SECONDS) as connection:
        canonical = await change_company(connection, call.space_id, contact_id, None)
        call.note(AuditChange("contact", canonical, after={"company_id": None}))
    return ContactCompany(canonical, None)


CONTACT_ID = PathParameter("id", "The contact's id, or the id of a contact merged into it.", INTEGER_ID)
# An address may contain a slash, which arrives decoded even if it was sent as %2F.
EMAIL = PathParameter("email", parameters.EMAIL.description, {"pattern": "@"}, REST)
GETTING = RateLimit("get_contact", 30)
UPDATING = RateLimit("update_contact", 60)

OPERATIONS = (
    Operation(
        id="list_contacts",
        method="GET",
        path="/contacts",
        tag="Contacts",
        summary="List Contacts",
        scope="contacts:read",
        limit=RateLimit("list_contacts", 15),
        parameters=parameters.LIST_DOCUMENTATION,
        answer=ContactPage,
        handler=list_stored_contacts,
    ),
    Operation(
        id="find_contact_by_email",
        method="GET",
        path="/contacts/by-email",
        tag="Contacts",
        summary="Get Contact by Email (query)",
        scope="contacts:read",
        limit=GETTING,
        parameters=parameters.FIND_DOCUMENTATION,
        answer=ContactAnswer,
        conflict=SeveralContacts,
        errors=[404],
        handler=find_stored_contact,
    ),
    Operation(
        id="get_contact_by_email",
        method="GET",
        path="/contacts/by-email/{email}",
        tag="Contacts",
        summary="Get Contact by Email (path)",
        scope="contacts:read",
        limit=GETTING,
        path_parameters=[EMAIL],
        parameters=parameters.GET_DOCUMENTATION,
        answer=ContactAnswer,
        conflict=SeveralContacts,
        errors=[404],
        handler=get_stored_contact_by_email,
    ),
    Operation(
        id="get_contact",
        method="GET",
        path="/contacts/{id}",
        tag="Contacts",
        summary="Get Contact",
        scope="contacts:read",
        limit=GETTING,
        path_parameters=[CONTACT_ID],
        parameters=parameters.GET_DOCUMENTATION,
        answer=ContactAnswer,
        errors=[404],
        handler=get_stored_contact,
    ),
    Operation(
        id="create_contact",
        method="POST",
        path="/contacts",
        tag="Contacts",
        summary="Create Contact",
        scope="contacts:write",
        limit=RateLimit("create_contact", 60),
        body=inputs.NEW_CONTACT_BODY,
        status=201,
        answer=CreatedContact,
        handler=create_stored_contact,
    ),
    Operation(
        id="update_contact",
        method="PUT",
        path="/contacts/{id}",
        tag="Contacts",
        summary="Update Contact",
        scope="contacts:write",
        limit=UPDATING,
        path_parameters=[CONTACT_ID],
        body=inputs.BODY_OF_CHANGES,
        answer=UpdatedContact,
        errors=[404],
        handler=update_stored_contact,
    ),
    Operation(
        id="attach_contact_company",
        method="PUT",
        path="/contacts/{id}/company",
        tag="Contacts",
        summary="Attach Contact Company",
        scope="contacts:write",
        limit=UPDATING,
        path_parameters=[CONTACT_ID],
        body=inputs.BODY_OF_COMPANY,
        answer=ContactCompany,
        errors=[404],
        handler=attach_contact_company,
    ),
    Operation(
        id="detach_contact_company",
        method="DELETE",
        path="/contacts/{id}/company",
        tag="Contacts",
        summary="Detach Contact Company",
        scope="contacts:write",
        limit=UPDATING,
        path_parameters=[CONTACT_ID],
        answer=ContactCompany,
        errors=[404],
        handler=detach_contact_company,
    ),
)
