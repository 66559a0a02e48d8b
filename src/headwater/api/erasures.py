"""API endpoints that erase people. Each handler owns its transaction."""

from __future__ import annotations

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.errors import Invalid
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.rate_limits import RateLimit
from headwater.people.contacts.answers import SeveralContacts
from headwater.people.contacts.lookup import find_by_any_email, resolve
from headwater.privacy.answers import ErasureAnswer
from headwater.privacy.erasures import request_erasure
from headwater.privacy.parameters import EMAIL
from headwater.spaces.audit.entries import AuditChange


async def erase_contact(call: Call) -> ErasureAnswer:
    """Permanently erase a contact's personal data. Its events and its id remain."""
    contact_id = _read_id(call)
    async with call.change() as connection:
        canonical = await resolve(connection, call.space_id, contact_id)
        await request_erasure(connection, call.space_id, canonical)
        call.note(AuditChange("contact", canonical))
    return _queued(canonical)


async def erase_contact_by_email(call: Call) -> ErasureAnswer:
    """Permanently erase the personal data of the only contact that has or had an address."""
    email = EMAIL.read(call.query)
    call.query.finish()
    assert email is not None
    async with call.change() as connection:
        contact_id = await find_by_any_email(connection, call.space_id, email)
        await request_erasure(connection, call.space_id, contact_id)
        call.note(AuditChange("contact", contact_id))
    return _queued(contact_id)


def _read_id(call: Call) -> int:
    """Return the path's id, which alone must identify the contact. Raise Invalid."""
    contact_id = call.path_id("id")
    if contact_id == 0:
        raise Invalid.of("id", "must be 1 or more.")
    if call.query.single("email") is not None:
        call.query.refuse("email", "must not be given beside an id.")
    call.query.finish()
    return contact_id


def _queued(contact_id: int) -> ErasureAnswer:
    message = "The contact's personal data will be erased within minutes."
    return ErasureAnswer(contact_id, "queued", message)


ERASING = RateLimit("delete_contact_pii", 60)

OPERATIONS = (
    Operation(
        id="delete_contact_pii",
        method="DELETE",
        path="/contacts/{id}/pii",
        tag="Contacts",
        summary="Delete Contact PII",
        scope="contacts:delete",
        limit=ERASING,
        path_parameters=[
            PathParameter("id", "The contact's id, at least 1, or the id of one merged into it.", INTEGER_ID)
        ],
        status=202,
        answer=ErasureAnswer,
        errors=[404],
        handler=erase_contact,
    ),
    Operation(
        id="delete_contact_pii_by_email",
        method="DELETE",
        path="/contacts/pii",
        tag="Contacts",
        summary="Delete Contact PII by Email",
        scope="contacts:delete",
        limit=ERASING,
        parameters=[EMAIL.openapi()],
        status=202,
        answer=ErasureAnswer,
        conflict=SeveralContacts,
        errors=[404],
        handler=erase_contact_by_email,
    ),
)
