"""Serve local files by signed link, without an API key."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from headwater.base.storage import LocalFolder, content_type
from headwater.endpoints.services import services
from headwater.exports.links import PATH, Download
from headwater.http.errors import Forbidden, make_problem


async def download(request: Request) -> Response:
    """Raise Forbidden for an invalid link."""
    shared = services(request)
    requested_file = Download(request.path_params["file"], request.path_params["download_name"])
    if not requested_file.admits(shared.signing_key, dict(request.query_params), time.time()):
        raise Forbidden("This link is not valid, or it has expired. Fetch the export again for a new one.")
    if not isinstance(shared.storage, LocalFolder):
        raise make_problem(404)
    path = shared.storage.path(requested_file.file)
    if not path.is_file():
        raise make_problem(404)
    headers = {"Cache-Control": "private, no-store"}
    media_type = content_type(requested_file.file)
    return FileResponse(path, 200, headers, media_type, filename=requested_file.download_name)


DOWNLOAD_ROUTES = [Route(f"{PATH}/{{file}}/{{download_name}}", download, methods=["GET", "HEAD"])]
