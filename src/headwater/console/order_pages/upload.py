"""Uploads, streamed to storage and checked."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.console.audited import note_change
from headwater.console.forms import PostedForm, check_once, once_token, spend
from headwater.console.multipart import MultipartForm
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.visitor import HOME, SpaceVisitor
from headwater.console.visits import PageVisit, SpacePages, enter_space
from headwater.endpoints.services import services
from headwater.http.bodies import MEGABYTE, FileTooLarge
from headwater.http.errors import Conflict, Errors, Invalid, make_sentence
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.jobs import create_job
from headwater.intake.imports.parameters import LONGEST_NAME
from headwater.intake.imports.reception import Upload, receive_file
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange

ROUTES = SpacePages("/orders/imports")
FORM = "upload"
KINDS_IN_WORDS = {
    "orders": ("Past orders", "The unchanged export of a Shopify or WooCommerce shop."),
    "events": ("Other orders and events", "One row for each order, sign-up or lead."),
    "contacts": ("Contacts", "One row for each person. Existing data is never replaced."),
    "touchpoints": ("Touchpoints", "One row for each visit or click without an event."),
    "spend": ("Spend", "Ad spend, exported by the ad platforms. Formats are recognized by their headers."),
    "ads": ("Names of ads", "Names of campaigns, ad sets and ads by their ids."),
}
NO_FILE = "Choose the file to import."


@ROUTES.page("/new", Permission.WRITE_DATA)
async def show_upload(visit: PageVisit) -> Response:
    kind = visit.request.query_params.get("kind", "")
    return _page(visit.request, visit.inside, kind=kind if kind in KINDS_IN_WORDS else "events")


async def post_upload(request: Request) -> Response:
    """Store a file; no transaction is open while it arrives."""
    inside, shared = await enter_space(request, Permission.WRITE_DATA), services(request)
    multipart = MultipartForm(request, shared.settings.max_upload_mb * MEGABYTE)
    form, name = await multipart.fields()
    check_once(form, inside.visitor.form_key, FORM)
    kind = form.text("kind") if form.text("kind") in KINDS_IN_WORDS else "events"
    try:
        job_id = await _receive(request, inside, multipart, form, name[-LONGEST_NAME:])
    except (UnreadableError, FileTooLarge, Invalid) as error:
        return _page(request, inside, kind=kind, errors=list_upload_errors(error), status=422)
    return redirect(request, f"{HOME}/spaces/{inside.space.id}/orders/imports/{job_id}")


ROUTES.add("/upload", post_upload, "POST")


def list_upload_errors(error: UnreadableError | FileTooLarge | Invalid) -> Errors:
    if isinstance(error, Invalid):
        return error.errors
    return {"file": [error.message if isinstance(error, FileTooLarge) else make_sentence(str(error))]}


async def _receive(
    request: Request, inside: SpaceVisitor, multipart: MultipartForm, form: PostedForm, name: str
) -> int:
    """Return the import's id. Remove a file that can't be imported."""
    shared, space_id = services(request), inside.space.id
    kind = form.text("kind")
    if not name:
        raise Invalid({"file": [NO_FILE]})
    if kind not in KINDS_IN_WORDS:
        raise Invalid({"kind": ["Choose the row type of the file."]})
    async with shared.database.transaction() as connection:
        await spend(connection, form)
        job_id, file = await create_job(connection, space_id, kind, name, inside.visitor.user.id)
        await note_change(connection, request, inside, AuditChange("import", job_id, after={"kind": kind}))
    upload = Upload(space_id, job_id, file, kind)
    try:
        await receive_file(shared.database, shared.storage, upload, multipart.pieces())
    except Conflict as conflict:
        raise Invalid({"file": [conflict.message]}) from None
    return job_id


def _page(
    request: Request, inside: SpaceVisitor, *, kind: str = "events", status: int = 200, **values: Any
) -> Response:
    once_field = hidden_token(once_token(inside.visitor.form_key, FORM))
    return render(
        request,
        "import_new.html",
        status=status,
        once=once_field,
        kind=kind,
        kinds=KINDS_IN_WORDS,
        most=services(request).settings.max_upload_mb,
        here=f"{HOME}/spaces/{inside.space.id}/orders",
        **values,
    )
