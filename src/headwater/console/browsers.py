"""Pages for people who open a program's address, and error pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.console.pages import HEADERS, render, show_problem
from headwater.endpoints.services import services

_FOR_PROGRAMS = ("/public-api/", "/webhooks/")


class ForBrowsers:
    """Wrap a program endpoint so that browsers get a page instead."""

    def __init__(self, endpoint: ASGIApp, page: Callable[[Request], Awaitable[Response]]) -> None:
        self._endpoint, self._page = endpoint, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD") or not wants_page(scope):
            return await self._endpoint(scope, receive, send)
        response = await self._page(Request(scope, receive))
        return await response(scope, receive, send)


def wants_page(scope: Scope) -> bool:
    """Return whether the client is a browser.

    Program-only endpoints always answer with JSON, because some clients accept every type.
    """
    is_for_programs = scope["path"].startswith(_FOR_PROGRAMS)
    return not is_for_programs and "text/html" in Headers(scope=scope).get("accept", "")


async def show_failure(request: Request, error: Exception) -> Response:
    return _secured(await show_problem(request, error))


async def show_assistant_address(request: Request) -> Response:
    """Show the same page for every number, so it doesn't reveal which Spaces exist."""
    url = f"{services(request).base_url}{request.url.path}"
    return _secured(render(request, "assistant_address.html", url=url))


def _secured(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
