"""API endpoints of exports: request one, and read its progress. Each handler owns its transaction."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from msgspec import UNSET
from msgspec.structs import replace

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Handler, Operation, PathParameter
from headwater.endpoints.services import Services
from headwater.exports.answers import Export, ExportFile, QueuedExport
from headwater.exports.jobs import create_job, fetch_job
from headwater.exports.kinds import KINDS, name_trained_model
from headwater.exports.links import Download
from headwater.exports.models import ExportJob, download_name
from headwater.exports.schemas import describe_body
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space

LINK_LIVES = timedelta(minutes=15)


def creates(kind: str) -> Handler:

    async def create_export(call: Call) -> QueuedExport:
        body = await call.body()
        async with call.change() as connection:
            space = await fetch_space(connection, call.space_id)
            export = KINDS[kind].read(kind, body, space)
            export = await name_trained_model(connection, call.space_id, export)
            export_id = await create_job(connection, call.space_id, export)
            call.note(AuditChange("export", export_id, after={"kind": kind}))
        message = "The export is queued. Ask for its status until it is completed."
        return QueuedExport(export_id, "queued", message)

    return create_export


def gets(kind: str) -> Handler:

    async def get_export(call: Call) -> Export:
        export_id = call.path_id("export_id")
        async with call.services.database.connection() as connection:
            job = await fetch_job(connection, call.space_id, kind, export_id)
        export = Export(export_id=job.id, status=job.status, created_at=job.created_at)
        if job.status != "completed" or job.file is None:
            return replace(export, message=describe_progress(job))
        expires = datetime.now(UTC).replace(microsecond=0) + LINK_LIVES
        files = [
            ExportFile(await _link(call.services, job, file, expires), rows) for file, rows in job.files()
        ]
        return replace(
            export,
            download_url=files[0].download_url,
            files=files if job.rows_per_file else UNSET,
            completed_at=job.completed_at,
            expires_at=f"{expires:%Y-%m-%dT%H:%M:%SZ}",
        )

    return get_export


def describe_progress(job: ExportJob) -> str:
    """Return a job's progress, or the reason for a missing file."""
    if job.status == "failed":
        return job.error or "The export failed."
    if job.status == "queued":
        retry_text = "The export is queued to be tried again"
        return f"{retry_text}. {job.error}" if job.error else "The export is queued."
    if job.rows_total is None:
        return "The export is being prepared."
    return f"{job.rows_done} rows written so far, from {job.rows_total} {job.kind}."


async def _link(shared: Services, job: ExportJob, file: str, expires: datetime) -> str:
    # In a thread, because it may first fetch credentials from a cloud.
    link = await asyncio.to_thread(shared.storage.link, file, LINK_LIVES)
    if link is not None:
        return link
    download = Download(file, download_name(job.kind, job.request, file))
    return download.url(shared.base_url, shared.signing_key, int(expires.timestamp()))


EXPORT_ID = PathParameter("export_id", "The export's id.", INTEGER_ID)


def _creation(kind: str, operation_id: str, summary: str) -> Operation:
    return Operation(
        id=operation_id,
        method="POST",
        path=f"/{kind}/exports",
        tag="Exports",
        summary=summary,
        description=f"Create a file of {kind}, in the background.",
        scope="exports:write",
        limit=RateLimit(operation_id, 5),
        body=describe_body(kind),
        status=202,
        answer=QueuedExport,
        handler=creates(kind),
    )


def _status(kind: str, operation_id: str, summary: str) -> Operation:
    return Operation(
        id=operation_id,
        method="GET",
        path=f"/{kind}/exports/{{export_id}}",
        tag="Exports",
        summary=summary,
        description="Return the progress of an export and, once it is completed, the address of its file.",
        scope="exports:read",
        limit=RateLimit(operation_id, 30),
        path_parameters=[EXPORT_ID],
        answer=Export,
        errors=[404],
        handler=gets(kind),
    )


OPERATIONS = (
    _creation("events", "create_event_export", "Create Event Export"),
    _status("events", "get_event_export", "Get Event Export"),
    _creation("contacts", "create_contact_export", "Create Contact Export"),
    _status("contacts", "get_contact_export", "Get Contact Export"),
    _creation("companies", "create_company_export", "Create Company Export"),
    _status("companies", "get_company_export", "Get Company Export"),
)
