"""Serves the files of the local folder to whoever holds a link to one: no key is asked for."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from headwater.api.services import services
from headwater.exports.links import PATH, Download
from headwater.http.errors import Forbidden, plain
from headwater.storage import CONTENT_TYPE, LocalFolder


async def download(request: Request) -> Response:
    """Serve a file. Raises Forbidden for a link that does not admit to it."""
    shared = services(request)
    wanted = Download(request.path_params["file"], request.path_params["shown_as"])
    if not wanted.admits(shared.signing_key, dict(request.query_params), time.time()):
        raise Forbidden("This link is not valid, or it has expired.")
    if not isinstance(shared.storage, LocalFolder):
        raise plain(404)
    path = shared.storage.path(wanted.file)
    if not path.is_file():
        raise plain(404)
    headers = {"Cache-Control": "private, no-store"}
    return FileResponse(path, 200, headers, CONTENT_TYPE, filename=wanted.shown_as)


DOWNLOAD_ROUTES = [Route(f"{PATH}/{{file}}/{{shown_as}}", download, methods=["GET", "HEAD"])]
