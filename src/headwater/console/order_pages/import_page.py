"""The page of an import, from the mapping of its columns to the rows that were refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from obstore.exceptions import BaseError
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.base.storage import Storage
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.order_pages.upload import KINDS_IN_WORDS
from headwater.console.order_pages.webhook_view import orders_path, read_path_id
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.events.accepted import EVENT_NAMES
from headwater.http.csv_table import CsvTable
from headwater.http.errors import Conflict, Errors, Invalid
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.dialects import DELIMITERS, HEAD_BYTES, UnreadableError
from headwater.intake.imports.formats.files import FileRow
from headwater.intake.imports.formats.notation import NotationSurvey
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.job_models import ImportJob, Reading
from headwater.intake.imports.jobs import (
    REFUSED_KEPT,
    cancel_job,
    check_job,
    count_reasons,
    fetch_former,
    fetch_job,
    list_refused,
    start_job,
)
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.previews import preview_rows
from headwater.intake.imports.readings import guess_reading, read_choice, survey_reading
from headwater.intake.imports.uploads import sample_rows
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.settings_input import zone_names
from headwater.spend.file_headers import recognize

FORM = "import"
SPEND_CONSTANTS = ("platform", "currency", "timezone")
"""Fields of spend that can be the same in every row."""
PREVIEWED = 5
LISTED = 20
REFUSED_PAGE = 1000
GONE = "The uploaded file is not there any more. Cancel the import, and upload the file again."


@dataclass(frozen=True)
class FileHead:
    """The beginning of an uploaded file."""

    columns: Sequence[str] = ()
    rows: Sequence[FileRow] = ()
    problem: str | None = None


async def show_import(request: Request) -> Response:
    """Show an import as far as it is."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        job = await fetch_job(connection, inside.space.id, read_path_id(request, "import_id"))
        return await _page(request, connection, inside, job)


async def post_check(request: Request) -> Response:
    """Have all rows checked as they would be read."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        job = await fetch_job(connection, inside.space.id, read_path_id(request, "import_id"))
        reading = _chosen(form, job.kind)
        try:
            read_choice(job.kind, reading)
            await check_job(connection, inside.space.id, job.id, reading)
        except (Invalid, Conflict) as error:
            errors = error.errors if isinstance(error, Invalid) else {"page": [error.message]}
            return await _page(
                request, connection, inside, job, status=error.status, reading=reading, errors=errors
            )
    return redirect(request, _path(inside, job))


def _chosen(form: PostedForm, kind: str) -> Reading:
    columns = dict(zip(form.texts("column"), form.texts("field"), strict=False))
    if kind == "spend":
        constants = {
            name: form.text(name).strip()
            for name in SPEND_CONSTANTS
            if form.text(name).strip() and name not in columns.values()
        }
        return Reading(columns, constants, decimals=form.text("decimals"), dates=form.text("dates"))
    constants = {"event_name": form.text("event_name")} if form.text("event_name") else {}
    if "event_name" in columns.values():
        constants = {}
    return Reading(columns, constants, form.text("timezone"), form.text("decimals"), form.text("dates"))


async def post_start(request: Request) -> Response:
    """Have the rows of a checked file stored."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)

    async def start(connection: AsyncConnection, inside: SpaceVisitor, job: ImportJob) -> None:
        await start_job(connection, inside.space.id, job, again=bool(form.text("again")))

    return await _changed(request, start, FlashMessage.IMPORT_STARTED)


async def post_cancel(request: Request) -> Response:
    """End an import; what is stored stays."""
    visitor = await require_visitor(request)
    await read_form(request, visitor.form_key, FORM)

    async def cancel(connection: AsyncConnection, inside: SpaceVisitor, job: ImportJob) -> None:
        await cancel_job(connection, inside.space.id, job.id)

    return await _changed(request, cancel, FlashMessage.IMPORT_CANCELLED)


async def _changed(request: Request, change: Any, message: FlashMessage) -> Response:
    visitor = await require_visitor(request)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        job = await fetch_job(connection, inside.space.id, read_path_id(request, "import_id"))
        try:
            await change(connection, inside, job)
        except Conflict:  # it has gone on meanwhile: its page says how
            return redirect(request, _path(inside, job))
    return redirect(request, _path(inside, job), message)


async def send_refused(request: Request) -> Response:
    """Send the refused rows as CSV: the line and the reason, and then their own cells."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        space_id = inside.space.id
        job = await fetch_job(connection, space_id, read_path_id(request, "import_id"))
        columns = list(Reading(**job.reading).columns) if job.reading else []
        table = CsvTable(["line", "reason", *columns])
        after = 0
        while rows := await list_refused(connection, space_id, job.id, REFUSED_PAGE, after):
            for row in rows:
                cells = [row.cells.get(column, "") for column in columns]
                table.add([row.line, row.reason, *cells])
            after = rows[-1].row
    headers = {"Content-Disposition": f'attachment; filename="import-{job.id}-refused.csv"'}
    content = table.content("utf-8-sig")
    return Response(content, 200, headers, "text/csv; charset=utf-8")


async def _page(
    request: Request,
    connection: AsyncConnection,
    inside: SpaceVisitor,
    job: ImportJob,
    *,
    status: int = 200,
    **values: Any,
) -> Response:
    space = inside.space
    sample = FileHead()
    if job.file and job.status in ("uploaded", "checking", "checked"):
        sample = await asyncio.to_thread(_read_sample, services(request).storage, job)
    chosen = Reading(**job.reading) if job.reading else None
    typed: Reading | None = values.get("reading")
    guessed = guess_reading(job.kind, sample.columns, sample.rows, space)
    is_edited = job.status == "uploaded" or "edit" in request.query_params or status != 200
    is_edited = is_edited and job.status in ("uploaded", "checking", "checked")
    errors: Errors = values.get("errors", {})
    preview = []
    if chosen is not None and not is_edited:
        preview = preview_rows(space, job, chosen, sample.rows[:PREVIEWED])
    return render(
        request,
        "import.html",
        status=status,
        job=job,
        sample=sample,
        errors=errors,
        reading=typed or chosen or guessed,
        guessed=guessed,
        is_edited=is_edited,
        preview=preview,
        preview_columns=list(dict.fromkeys(name for row in preview for name in row.values)),
        fields=KINDS[job.kind].fields,
        kind=KINDS_IN_WORDS[job.kind],
        zones=sorted(zone_names()),
        decimals=DECIMALS,
        dates=DATES,
        event_names=EVENT_NAMES,
        has_time=KINDS[job.kind].times,
        known=_known(job, sample),
        has_amount=bool(KINDS[job.kind].numbers),
        separator=DELIMITERS.get(job.delimiter, ""),
        notation=_unclear(job, typed or chosen or guessed, sample),
        kept=REFUSED_KEPT.days,
        former=await fetch_former(connection, space.id, job) if job.status == "checked" else None,
        reasons=await count_reasons(connection, space.id, job.id) if job.refused else [],
        refused=await list_refused(connection, space.id, job.id, LISTED) if job.refused else [],
        orders=orders_path(space.id),
        here=_path(inside, job),
    )


def _path(inside: SpaceVisitor, job: ImportJob) -> str:
    return f"{orders_path(inside.space.id)}/imports/{job.id}"


def _read_sample(storage: Storage, job: ImportJob) -> FileHead:
    try:
        head = storage.read_head(job.file or "", min(HEAD_BYTES, job.bytes))
        columns, rows = sample_rows(head, job.dialect, whole=job.bytes <= HEAD_BYTES)
    except (OSError, BaseError):
        return FileHead(problem=GONE)
    except UnreadableError as error:
        return FileHead(problem=str(error))
    return FileHead(columns, rows)


def _known(job: ImportJob, sample: FileHead) -> str:
    """Return the title of the format that a file of spend is known as; empty for none."""
    recognition = recognize(sample.columns) if job.kind == "spend" else None
    return recognition.form.title if recognition else ""


def _unclear(job: ImportJob, reading: Reading, sample: FileHead) -> NotationSurvey:
    """Return what the first rows leave open about amounts and dates."""
    return survey_reading(job.kind, reading, [row.values for row in sample.rows])


_PATH = f"{HOME}/spaces/{{space_id}}/orders/imports/{{import_id}}"
ROUTES = [
    Route(_PATH, show_import, methods=["GET"]),
    Route(f"{_PATH}/check", post_check, methods=["POST"]),
    Route(f"{_PATH}/start", post_start, methods=["POST"]),
    Route(f"{_PATH}/cancel", post_cancel, methods=["POST"]),
    Route(f"{_PATH}/refused.csv", send_refused, methods=["GET"]),
]
