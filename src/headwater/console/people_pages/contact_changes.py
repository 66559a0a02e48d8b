"""Undo merges and erase people, after a typed confirmation."""

from __future__ import annotations

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.audited import note_change
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.pages import redirect, render
from headwater.console.people_pages.contact import contact_page, contact_path, fetch_erasure
from headwater.console.visitor import HOME, SpaceVisitor, enter, read_id, require_visitor
from headwater.console.visits import SentForm, read_sent_form
from headwater.endpoints.services import services
from headwater.http.errors import Conflict, NotFound
from headwater.intake.merging.membership import REASSIGNMENT_SECONDS
from headwater.intake.merging.unmerge import unmerge
from headwater.people.contacts.lookup import find_holders, resolve
from headwater.privacy.erasures import request_erasure
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange

CONFIRM = "confirm"
"""Form field for the contact's e-mail address or id."""
_ERASE = SentForm("erase contact", Permission.WRITE_DATA, is_dangerous=True)
_UNMERGE = SentForm("unmerge contact", Permission.WRITE_DATA)
NOT_CONFIRMED = "This is not an e-mail address or the id of this contact."

ERASED = (
    "e-mail addresses (former ones included), phones, names and locations",
    "tracking ids, tokens and fingerprints",
    "name, place, device, language and all custom fields of the contact",
    "IP address, browser and ad platforms' cookies of its events and touchpoints",
    "visits and page views, and the clicks on ads first seen in its browsers",
    "requests to ad platforms about its events, and their responses",
    "warnings about its events, and webhook deliveries and exports that contain it",
)
KEPT_DATA = (
    "the contact's id, when it was created, and its company",
    "events: names, times, amounts, order and idempotency keys, URLs; so reports don't change",
    "touchpoints with their campaigns, keywords, landing pages and URLs",
    "merges of contacts: when, and the kind of identifier",
    "the record that its events were sent to ad platforms, which we can't erase there",
)


async def post_erase(request: Request) -> Response:
    form = await read_sent_form(request, _ERASE)
    async with services(request).database.transaction() as connection:
        inside, contact_id = await _enter(connection, request)
        is_confirmed = await _is_confirmed(connection, inside, contact_id, form)
        if is_confirmed:
            await request_erasure(connection, inside.space.id, contact_id)
            await note_change(connection, request, inside, AuditChange("contact", contact_id))
    if not is_confirmed:
        return await _refuse(request, inside, contact_id, "erase")
    return redirect(request, f"{contact_path(inside.space.id, contact_id)}/erasure")


async def post_unmerge(request: Request) -> Response:
    form = await read_sent_form(request, _UNMERGE)
    problem = None
    async with services(request).database.transaction(REASSIGNMENT_SECONDS) as connection:
        inside, contact_id = await _enter(connection, request)
        merged_id = form.number("merged")
        if await resolve(connection, inside.space.id, merged_id) != contact_id:
            raise NotFound("Page")
        is_confirmed = await _is_confirmed(connection, inside, contact_id, form)
        if is_confirmed:
            try:
                await unmerge(connection, inside.space.id, merged_id)
                change = AuditChange("contact", merged_id, after={"separated_from": contact_id})
                await note_change(connection, request, inside, change)
            except Conflict as error:
                problem = error.message
    if problem is not None:
        return await contact_page(request, inside, contact_id, status=409, problem=problem)
    if not is_confirmed:
        return await _refuse(request, inside, contact_id, f"unmerge-{merged_id}")
    location = contact_path(inside.space.id, merged_id)
    return redirect(request, location, FlashMessage.MERGE_UNDONE)


async def show_erasure(request: Request) -> Response:
    """Show an erasure's state, and the data it deletes or keeps."""
    visitor = await require_visitor(request)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        contact_id = await resolve(connection, inside.space.id, read_id(request, "contact_id"))
        erasure = await fetch_erasure(connection, inside.space.id, contact_id)
    return render(
        request,
        "erasure.html",
        erasure=erasure,
        contact_id=contact_id,
        erased=ERASED,
        kept=KEPT_DATA,
        here=contact_path(inside.space.id, contact_id),
    )


async def _enter(connection: AsyncConnection, request: Request) -> tuple[SpaceVisitor, int]:
    """Return the visitor, who may change data, and the canonical contact id."""
    visitor = await require_visitor(request)  # cached since the form was read
    inside = await enter(connection, request, visitor, _ERASE.permission)
    return inside, await resolve(connection, inside.space.id, read_id(request, "contact_id"))


async def _is_confirmed(
    connection: AsyncConnection, inside: SpaceVisitor, contact_id: int, form: PostedForm
) -> bool:
    """Compare with the contact's id and its addresses."""
    typed = form.text(CONFIRM).strip().lower()
    if typed == str(contact_id):
        return True
    holders = await find_holders(connection, inside.space.id, [typed])
    return contact_id in {holder for _, holder in holders}


async def _refuse(request: Request, inside: SpaceVisitor, contact_id: int, field: str) -> Response:
    errors = {field: [NOT_CONFIRMED]}
    return await contact_page(request, inside, contact_id, status=422, errors=errors)


_PATH = f"{HOME}/spaces/{{space_id}}/contacts/{{contact_id}}"
ROUTES = [
    Route(f"{_PATH}/erasure", show_erasure, methods=["GET"]),
    Route(f"{_PATH}/erase", post_erase, methods=["POST"]),
    Route(f"{_PATH}/unmerge", post_unmerge, methods=["POST"]),
]
