"""Views that a member keeps under a name: the page and its choices, never the figures."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from psycopg import AsyncConnection
from psycopg.rows import class_row
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.visitor import SpaceVisitor
from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.http.errors import Invalid
from headwater.spaces.accounts.roles import Permission

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


ROUTES = SpacePages("/views", back="")


@ROUTES.action("/save", SentForm("save view", Permission.READ))
async def post_save(visit: PageVisit) -> Response:
    """Save the page that the form is on as a view; a view of the same name is replaced."""
    form = visit.form
    view = read_view(form.text("name"), form.text("page"), form.text("query"), PAGES)
    await save_view(visit.connection, visit.space.id, visit.user_id, view)
    query = f"?{view['query']}" if view["query"] else ""
    return visit.redirect(f"{view['page']}{query}", FlashMessage.VIEW_SAVED)


@ROUTES.action("/remove", SentForm("remove view", Permission.READ))
async def post_remove(visit: PageVisit) -> FlashMessage:
    """Remove one of the visitor's views."""
    values = {"space_id": visit.space.id, "user_id": visit.user_id, "id": visit.form.number("view")}
    await visit.connection.execute(queries["remove"], values)
    return FlashMessage.VIEW_REMOVED
