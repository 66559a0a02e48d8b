"""An import, from mapping its columns to its refused rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain, count
from typing import Any

from msgspec import Struct
from obstore.exceptions import BaseError
from starlette.responses import Response

from headwater.base.storage import Storage
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.order_pages.upload import KINDS_IN_WORDS
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.events.accepted import EVENT_NAMES
from headwater.http.csv_table import CsvTable
from headwater.http.errors import Errors
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
from headwater.intake.imports.orders.layouts import recognize_layout
from headwater.intake.imports.previews import preview_rows
from headwater.intake.imports.readings import guess_reading, read_choice, survey_reading
from headwater.intake.imports.uploads import sample_rows
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.settings_input import zone_names
from headwater.spend.file_headers import recognize

ROUTES = SpacePages("/orders/imports/{import_id}")
_FORM = SentForm("import", Permission.WRITE_DATA)
SPEND_CONSTANTS = ("platform", "currency", "timezone")
"""Spend fields that can be constant for all rows."""
PREVIEWED = 5
MOST_LISTED = 20
REFUSED_PAGE = 1000
FILE_GONE = "The uploaded file no longer exists. Cancel the import, and upload the file again."


class FileHead(Struct, frozen=True):
    columns: Sequence[str] = ()
    rows: Sequence[FileRow] = ()
    problem: str | None = None


@ROUTES.page()
async def show_import(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    connection, space = visit.connection, visit.space
    job = await _fetch_job(visit)
    sample = FileHead()
    if job.file and job.status in ("uploaded", "checking", "checked"):
        sample = await asyncio.to_thread(_read_sample, visit.services.storage, job)
    reading = Reading(**job.reading) if job.reading else None
    typed: Reading | None = values.get("reading")
    guessed_reading = guess_reading(job.kind, sample.columns, sample.rows, space)
    is_edited = job.status == "uploaded" or "edit" in visit.request.query_params or status != 200
    is_edited = is_edited and job.status in ("uploaded", "checking", "checked")
    errors: Errors = values.get("errors", {})
    preview = []
    if reading is not None and not is_edited:
        preview = preview_rows(space, job, reading, sample.rows[:PREVIEWED])
    common: dict[str, Any] = {
        "job": job,
        "sample": sample,
        "errors": errors,
        "reading": typed or reading or guessed_reading,
        "is_edited": is_edited,
        "preview": preview,
        "preview_columns": list(dict.fromkeys(name for row in preview for name in row.values)),
        "fields": KINDS[job.kind].fields,
        "kind": KINDS_IN_WORDS[job.kind],
        "zones": sorted(zone_names()),
        "decimals": DECIMALS,
        "dates": DATES,
        "event_names": EVENT_NAMES,
        "has_time": KINDS[job.kind].times,
        "known": _recognize_format(job, sample),
        "has_amount": bool(KINDS[job.kind].numbers),
        "separator": DELIMITERS.get(job.delimiter, ""),
        "notation": _unclear(job, typed or reading or guessed_reading, sample),
        "kept": REFUSED_KEPT.days,
        "former": await fetch_former(connection, space.id, job) if job.status == "checked" else None,
        "reasons": await count_reasons(connection, space.id, job.id) if job.refused else [],
        "refused": await list_refused(connection, space.id, job.id, MOST_LISTED) if job.refused else [],
        "orders": visit.path("/orders"),
        "here": visit.path(_path(visit)),
    }
    return visit.render("import.html", common, status)


async def _refuse_check(visit: PageVisit, refusal: Refusal) -> Response:
    job = await _fetch_job(visit)
    errors = list_form_errors(refusal) or {"page": [refusal.message]}
    return await show_import(
        visit, refusal.status, reading=_read_columns(visit.form, job.kind), errors=errors
    )


@ROUTES.action("/check", _FORM, _refuse_check, _refuse_check)
async def post_check(visit: PageVisit) -> Response:
    job = await _fetch_job(visit)
    reading = _read_columns(visit.form, job.kind)
    read_choice(job.kind, reading)
    await check_job(visit.connection, visit.space.id, job.id, reading)
    return visit.redirect(_path(visit))


def _read_columns(form: PostedForm, kind: str) -> Reading:
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


async def _show_progress(visit: PageVisit, _refusal: Refusal) -> Response:
    """Redirect to an import that has changed in the meantime."""
    return visit.redirect(_path(visit))


@ROUTES.action("/start", _FORM, conflict=_show_progress)
async def post_start(visit: PageVisit) -> FlashMessage:
    job, is_retry = await _fetch_job(visit), bool(visit.form.text("again"))
    await start_job(visit.connection, visit.space.id, job, again=is_retry)
    visit.note(AuditChange("import", job.id, after={"status": "queued"}))
    return FlashMessage.IMPORT_STARTED


@ROUTES.action("/cancel", _FORM, conflict=_show_progress)
async def post_cancel(visit: PageVisit) -> FlashMessage:
    job = await _fetch_job(visit)
    await cancel_job(visit.connection, visit.space.id, job.id)
    visit.note(AuditChange("import", job.id))
    return FlashMessage.IMPORT_CANCELLED


@ROUTES.page("/refused.csv")
async def send_refused(visit: PageVisit) -> Response:
    """Send line, reason and original cells, to be fixed and imported."""
    job = await _fetch_job(visit)
    columns = list(Reading(**job.reading).columns) if job.reading else []
    table = CsvTable([*(_make_unique(name, columns) for name in ("line", "reason")), *columns])
    after = 0
    while rows := await list_refused(visit.connection, visit.space.id, job.id, REFUSED_PAGE, after):
        for row in rows:
            table.add([row.line, row.reason, *(row.cells.get(column, "") for column in columns)])
        after = rows[-1].row
    headers = {"Content-Disposition": f'attachment; filename="import-{job.id}-refused.csv"'}
    return Response(table.content("utf-8-sig"), 200, headers, "text/csv; charset=utf-8")


def _make_unique(name: str, columns: Sequence[str]) -> str:
    """Number a name that the file has, because refused rows of an earlier import may be refused again."""
    numbered_names = chain([name], (f"{name} {n}" for n in count(2)))
    return next(text for text in numbered_names if text not in columns)


async def _fetch_job(visit: PageVisit) -> ImportJob:
    return await fetch_job(visit.connection, visit.space.id, visit.id("import_id"))


def _path(visit: PageVisit) -> str:
    return f"/orders/imports/{visit.id('import_id')}"


def _read_sample(storage: Storage, job: ImportJob) -> FileHead:
    try:
        head = storage.read_head(job.file or "", min(HEAD_BYTES, job.bytes))
        columns, rows = sample_rows(head, job.dialect, is_whole_file=job.bytes <= HEAD_BYTES)
    except (OSError, BaseError):
        return FileHead(problem=FILE_GONE)
    except UnreadableError as error:
        return FileHead(problem=str(error))
    return FileHead(columns, rows)


def _recognize_format(job: ImportJob, sample: FileHead) -> str:
    """Return the format title of a recognized export of spend or orders; empty otherwise."""
    if job.kind == "orders":
        layout = recognize_layout(sample.columns)
        return layout.title if layout else ""
    recognition = recognize(sample.columns) if job.kind == "spend" else None
    return recognition.form.title if recognition else ""


def _unclear(job: ImportJob, reading: Reading, sample: FileHead) -> NotationSurvey:
    """Survey amounts and dates in the first rows."""
    return survey_reading(job.kind, reading, [row.values for row in sample.rows])
