"""A shared report page. Visitors' parameters don't change it, and its figures aren't links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.ad_pages.campaigns import render_ads
from headwater.console.overview_page.overview import render_overview
from headwater.console.pages import refuse_link
from headwater.console.report_pages.channels import render_channels
from headwater.console.report_pages.cohorts import render_cohorts
from headwater.console.report_pages.models import render_models
from headwater.console.report_pages.paths import render_paths
from headwater.console.report_pages.report_page import ReportPage
from headwater.console.report_pages.share_links import SHARED, find_shared, note_opening
from headwater.console.report_pages.view import SharedView
from headwater.database.pool import confine
from headwater.endpoints.services import services
from headwater.http.inputs.parameters import Query
from headwater.spaces.spaces import fetch_space

_RENDERERS: dict[str, Callable[[ReportPage], Awaitable[Response]]] = {
    "": render_overview,
    "/channels": render_channels,
    "/models": render_models,
    "/paths": render_paths,
    "/campaigns": render_ads,
    "/cohorts": render_cohorts,
}


async def show_shared(request: Request) -> Response:
    async with services(request).database.transaction() as connection:
        shared_page = await find_shared(connection, request.path_params["token"])
        if shared_page is None:
            return refuse_link(request, "It has expired or was revoked.")
        await confine(connection, shared_page.space_id)
        space = await fetch_space(connection, shared_page.space_id)
        await note_opening(connection, shared_page)
    query = Query(shared_page.query.encode())
    page = ReportPage(
        request, space, [], query, SharedView.read(query), shared_page.name, shared_page.with_notes
    )
    return await _RENDERERS[shared_page.page](page)


ROUTES = [Route(f"{SHARED}/{{token}}", show_shared, methods=["GET"])]
