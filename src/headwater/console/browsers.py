"""Pages for people who open in a browser an address that is for programs, or none at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.api.services import services
from headwater.console.pages import HEADERS, render, show_problem


class ForBrowsers:
    """An endpoint for programs that shows a page to whoever opens its address in a browser."""

    def __init__(self, endpoint: ASGIApp, page: Callable[[Request], Awaitable[Response]]) -> None:
        self._endpoint, self._page = endpoint, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not wants_page(scope):
            return await self._endpoint(scope, receive, send)
        response = await self._page(Request(scope, receive))
        return await response(scope, receive, send)


def wants_page(scope: Scope) -> bool:
    """True when a person reads the answer in a browser: programs do not ask for HTML."""
    is_reading = scope["method"] in ("GET", "HEAD")
    return is_reading and "text/html" in Headers(scope=scope).get("accept", "")


async def show_missing(request: Request, error: Exception) -> Response:
    """A page that says that there is nothing at an address."""
    return _secured(await show_problem(request, error))


async def show_assistant_address(request: Request) -> Response:
    """A page on how to use a Space's address for assistants. It is the same for every number, so
    that nobody learns which Spaces there are.
    """
    url = f"{services(request).base_url}{request.url.path}"
    return _secured(render(request, "assistant_address.html", url=url))


def _secured(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
