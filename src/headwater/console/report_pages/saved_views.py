"""Views that a member keeps under a name: the page and its choices, never the figures."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from psycopg import AsyncConnection
from psycopg.rows import class_row
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import read_form
from headwater.console.pages import redirect
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.endpoints.services import services
from headwater.http.errors import Invalid

queries = Queries(__name__, "saved_views.sql")

PAGES = (
    "",
    "/models",
    "/paths",
    "/campaigns",
    "/campaigns/changes",
    "/cohorts",
    "/self-reported",
    "/ripeness",
    "/changes",
    "/events",
)
"""The ends of the addresses of pages that can be saved."""
MOST = 50
LONGEST_NAME, LONGEST_QUERY = 80, 2_000


@dataclass(frozen=True)
class SavedView:
    """A page with its choices."""

    id: int
    name: str
    page: str
    query: str

    @property
    def end(self) -> str:
        """The end of its address, after the Space's."""
        return f"{self.page}?{self.query}" if self.query else self.page


async def list_views(connection: AsyncConnection, inside: SpaceVisitor) -> list[SavedView]:
    """Return the views that the visitor has saved in the Space."""
    return await views_of(connection, inside.space.id, inside.visitor.user.id)


async def views_of(connection: AsyncConnection, space_id: int, user_id: int) -> list[SavedView]:
    """Return the views that a member has saved in a Space."""
    cursor = connection.cursor(row_factory=class_row(SavedView))
    values = {"space_id": space_id, "user_id": user_id, "most": MOST}
    return await fetch_all(cursor, queries["list"], values)


async def save_view(
    connection: AsyncConnection, space_id: int, user_id: int, view: Mapping[str, str]
) -> None:
    """Keep a view of `read_view`; of the same name, the newer one stays. Raises Invalid."""
    values = {"space_id": space_id, "user_id": user_id, "most": MOST, **view}
    if await fetch_optional(connection, queries["save"], values) is None:
        raise Invalid.of("name", f"cannot be saved: there are {MOST} views, remove one first.")


async def post_save(request: Request) -> Response:
    """Keep the page that the form is on; of the same name, the newer one stays."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, "save view")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        view = read_view(form.text("name"), form.text("page"), form.text("query"), PAGES)
        await save_view(connection, inside.space.id, visitor.user.id, view)
    location = f"{HOME}/spaces/{inside.space.id}{view['page']}"
    location += f"?{view['query']}" if view["query"] else ""
    return redirect(request, location, FlashMessage.VIEW_SAVED)


async def post_remove(request: Request) -> Response:
    """Remove a view of the visitor's."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, "remove view")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        values = {"space_id": inside.space.id, "user_id": visitor.user.id}
        await connection.execute(queries["remove"], values | {"id": form.number("view")})
    return redirect(request, f"{HOME}/spaces/{inside.space.id}", FlashMessage.VIEW_REMOVED)


def read_view(name: str, page: str, query: str, pages: Container[str]) -> dict[str, str]:
    """Return a name and an address that may be kept. Raises Invalid."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise Invalid.of("name", f"must have 1 to {LONGEST_NAME} characters.")
    if page not in pages:
        raise Invalid.of("page", "must be one of those that there are.")
    if not is_address_query(query):
        raise Invalid.of("query", f"must have at most {LONGEST_QUERY} characters of an address.")
    return {"name": name, "page": page, "query": query}


def is_address_query(text: str) -> bool:
    """Return whether a text may be the end of an address of ours, after its `?`."""
    return len(text) <= LONGEST_QUERY and text.isascii() and text.isprintable()


_PATH = f"{HOME}/spaces/{{space_id}}/views"
ROUTES = [
    Route(f"{_PATH}/save", post_save, methods=["POST"]),
    Route(f"{_PATH}/remove", post_remove, methods=["POST"]),
]
