"""The pages of reports, as far as they are alike: who looks at them, the choices of the address,
the connection that a report may have, and the values that each template gets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response

from headwater.console.pages import render
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import ReportBar, window_title
from headwater.console.report_pages.saved_views import SavedView, list_views
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid, Problem
from headwater.http.inputs.parameters import Query
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.query import ReportRefused
from headwater.spaces.models import Space

T = TypeVar("T")

REFUSED = (Invalid, ReportRefused)
"""Reasons for which there is no report, and the page says so below its bar."""


@dataclass(frozen=True)
class ReportPage:
    """A page of reports that somebody has opened."""

    request: Request
    space: Space
    views: list[SavedView]
    """What the visitor has saved."""
    query: Query
    view: ReportView
    shared: str | None = None
    """The name of the share link by which it is seen; None for a member of the Space."""
    with_notes: bool = True
    """False where charts have no notes."""

    @property
    def path(self) -> str:
        """The page's own address, without its choices."""
        return self.request.url.path

    @property
    def base(self) -> str:
        """The address that those of the Space's pages begin with."""
        return f"{HOME}/spaces/{self.space.id}"

    async def load(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Return what `work` makes of a connection that is good for a report."""
        database = services(self.request).database
        async with database.transaction(CONNECTION_SECONDS) as connection:
            return await work(connection)

    def render(self, template: str, bar: ReportBar, problem: Problem | None, **values: Any) -> Response:
        """Render the page, or its bar above the reason for which there is no report. `errors` are
        of a form on it that was refused.
        """
        refused = 422 if values.get("errors") else 200
        return render(
            self.request,
            template,
            status=problem.status if problem else refused,
            bar=bar,
            problem=problem,
            view=self.view,
            views=self.views,
            base=self.base,
            figures=figures,
            space=self.space,
            shared=self.shared,
            window=window_title(self.view.attribution_window),
            **values,
        )


async def open_page(request: Request) -> ReportPage:
    """Return the page of an address, for a visitor who may see it."""
    visitor = await require_visitor(request)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        views = await list_views(connection, inside)
    query = Query(request.scope["query_string"])
    return ReportPage(request, inside.space, views, query, ReportView.read(query))
