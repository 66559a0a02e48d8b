"""The endpoints of exports: ask for one, see how far it is, fetch its file."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from headwater.exports.jobs import create_job, fetch_job
from headwater.exports.kinds import KINDS
from headwater.exports.links import PATH, Download
from headwater.exports.models import ExportJob, shown_as
from headwater.exports.schemas import JOB, QUEUED, body_of
from headwater.http.bodies import read_json
from headwater.http.errors import Forbidden, Problem, plain
from headwater.http.ids import INTEGER_ID, parse_id
from headwater.http.openapi import problems
from headwater.spaces.access import Caller, requires
from headwater.spaces.spaces import fetch_space
from headwater.storage import CONTENT_TYPE, LocalFolder

router = APIRouter(tags=["Exports"])

LINK_LIVES = timedelta(minutes=15)

CREATE_PROBLEMS = problems(401, 403, 413, 415, 422, 429, 503)
GET_PROBLEMS = problems(401, 403, 404, 422, 429, 503)

ExportId = Annotated[str, Path(description="The export's id.", json_schema_extra=INTEGER_ID)]


@router.post(
    "/events/exports",
    operation_id="create_event_export",
    summary="Create Event Export",
    status_code=202,
    responses={202: QUEUED, **CREATE_PROBLEMS},
    openapi_extra={"requestBody": body_of("events")},
)
async def create_event_export(
    request: Request, caller: Annotated[Caller, requires("exports:write", "create_event_export")]
) -> Response:
    """Create a file of events, in the background."""
    return await _create(request, caller.space_id, "events")


@router.get(
    "/events/exports/{export_id}",
    operation_id="get_event_export",
    summary="Get Event Export",
    responses={200: JOB, **GET_PROBLEMS},
)
async def get_event_export(
    request: Request,
    export_id: ExportId,
    caller: Annotated[Caller, requires("exports:read", "get_event_export")],
) -> Response:
    """Tell how far an export is and, once it is completed, where its file is."""
    return await _tell(request, caller.space_id, "events", export_id)


@router.post(
    "/contacts/exports",
    operation_id="create_contact_export",
    summary="Create Contact Export",
    status_code=202,
    responses={202: QUEUED, **CREATE_PROBLEMS},
    openapi_extra={"requestBody": body_of("contacts")},
)
async def create_contact_export(
    request: Request, caller: Annotated[Caller, requires("exports:write", "create_contact_export")]
) -> Response:
    """Create a file of contacts, in the background."""
    return await _create(request, caller.space_id, "contacts")


@router.get(
    "/contacts/exports/{export_id}",
    operation_id="get_contact_export",
    summary="Get Contact Export",
    responses={200: JOB, **GET_PROBLEMS},
)
async def get_contact_export(
    request: Request,
    export_id: ExportId,
    caller: Annotated[Caller, requires("exports:read", "get_contact_export")],
) -> Response:
    """Tell how far an export is and, once it is completed, where its file is."""
    return await _tell(request, caller.space_id, "contacts", export_id)


@router.post(
    "/companies/exports",
    operation_id="create_company_export",
    summary="Create Company Export",
    status_code=202,
    responses={202: QUEUED, **CREATE_PROBLEMS},
    openapi_extra={"requestBody": body_of("companies")},
)
async def create_company_export(
    request: Request, caller: Annotated[Caller, requires("exports:write", "create_company_export")]
) -> Response:
    """Create a file of companies, in the background."""
    return await _create(request, caller.space_id, "companies")


@router.get(
    "/companies/exports/{export_id}",
    operation_id="get_company_export",
    summary="Get Company Export",
    responses={200: JOB, **GET_PROBLEMS},
)
async def get_company_export(
    request: Request,
    export_id: ExportId,
    caller: Annotated[Caller, requires("exports:read", "get_company_export")],
) -> Response:
    """Tell how far an export is and, once it is completed, where its file is."""
    return await _tell(request, caller.space_id, "companies", export_id)


async def _create(request: Request, space_id: int, kind: str) -> Response:
    body = await read_json(request)
    async with request.app.state.headwater.database.transaction() as connection:
        space = await fetch_space(connection, space_id)
        export_id = await create_job(connection, space_id, KINDS[kind].read(kind, body, space))
    message = "The export is queued. Ask for its status until it is completed."
    return JSONResponse({"export_id": export_id, "status": "queued", "message": message}, 202)


async def _tell(request: Request, space_id: int, kind: str, export_id: str) -> Response:
    number = parse_id("export_id", export_id)
    headwater = request.app.state.headwater
    async with headwater.database.connection() as connection:
        job = await fetch_job(connection, space_id, kind, number)
    told: dict[str, Any] = {
        "export_id": job.id,
        "status": job.status,
        "created_at": job.created_at,
    }
    if job.status != "completed" or job.file is None:
        return JSONResponse({**told, "message": message_of(job)})
    expires = datetime.now(UTC).replace(microsecond=0) + LINK_LIVES
    return JSONResponse(
        {
            **told,
            "download_url": await _link(headwater, job, expires),
            "completed_at": job.completed_at,
            "expires_at": f"{expires:%Y-%m-%dT%H:%M:%SZ}",
        }
    )


def message_of(job: ExportJob) -> str:
    """How far a job is, or why there is no file."""
    if job.status == "failed":
        return job.error or "The export failed."
    if job.status == "queued":
        again = "The export is queued to be tried again"
        return f"{again}. {job.error}" if job.error else "The export is queued."
    if job.rows_total is None:
        return "The export is being prepared."
    return f"{job.rows_done} rows written so far, from {job.rows_total} {job.kind}."


async def _link(headwater: Any, job: ExportJob, expires: datetime) -> str:
    assert job.file is not None
    # In a thread, as a cloud may have to be asked for credentials first.
    link = await asyncio.to_thread(headwater.storage.link, job.file, LINK_LIVES)
    if link is not None:
        return link
    download = Download(job.file, shown_as(job.kind, job.request, job.file))
    return download.url(headwater.base_url, headwater.signing_key, int(expires.timestamp()))


async def download(request: Request) -> Response:
    """Serve a file of the local folder to whoever holds a link to it."""
    headwater = request.app.state.headwater
    wanted = Download(request.path_params["file"], request.path_params["shown_as"])
    if not wanted.admits(headwater.signing_key, dict(request.query_params), time.time()):
        return _refusal(Forbidden("This link is not valid, or it has expired."))
    if not isinstance(headwater.storage, LocalFolder):
        return _refusal(plain(404))
    path = headwater.storage.path(wanted.file)
    if not path.is_file():
        return _refusal(plain(404))
    headers = {"Cache-Control": "private, no-store"}
    return FileResponse(path, 200, headers, CONTENT_TYPE, filename=wanted.shown_as)


def _refusal(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, media_type="application/json")


DOWNLOAD_ROUTES = [Route(f"{PATH}/{{file}}/{{shown_as}}", download, methods=["GET", "HEAD"])]
