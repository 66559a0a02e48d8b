"""The choice of a Space."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.accounts.members import list_joined
from headwater.api.services import services
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, require_visitor


async def show_spaces(request: Request) -> Response:
    """The visitor's Spaces; who has one alone goes straight there."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        joined = await list_joined(connection, visitor.user.id)
    if len(joined) == 1 and "all" not in request.query_params:
        return redirect(request, f"{HOME}/spaces/{joined[0].space_id}")
    return render(request, "spaces.html", joined=joined)


ROUTES = [Route(HOME, show_spaces, methods=["GET"])]
