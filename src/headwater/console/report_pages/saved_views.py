"""Saved pages with their choices, never the figures."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from psycopg import AsyncConnection
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import SpaceVisitor
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import Invalid, join_rules
from headwater.http.inputs.parameters import Query
from headwater.reports.query import Group
from headwater.spaces.accounts.roles import Permission

queries = Queries(__name__, "saved_views.sql")

PAGES = (
    "",
    "/channels",
    "/models",
    "/paths",
    "/campaigns",
    "/campaigns/changes",
    "/ads/comparison",
    "/cohorts",
    "/self-reported",
    "/completeness",
    "/changes",
    "/changes/since",
    "/events",
)
_OF_PEOPLE = (f"{Group.CONTACT}:", f"{Group.COMPANY}:")
MOST_VIEWS = 50
LONGEST_NAME, LONGEST_QUERY = 80, 2_000


@dataclass(frozen=True)
class SavedView:
    id: int
    name: str
    page: str
    query: str

    @property
    def end(self) -> str:
        return _join(self.page, self.query)


async def list_views(connection: AsyncConnection, inside: SpaceVisitor) -> list[SavedView]:
    return await list_member_views(connection, inside.space.id, inside.visitor.user.id)


async def list_member_views(connection: AsyncConnection, space_id: int, user_id: int) -> list[SavedView]:
    values = {"space_id": space_id, "user_id": user_id, "most": MOST_VIEWS}
    return await fetch_all(make_cursor(connection, SavedView), queries["list"], values)


async def save_view(
    connection: AsyncConnection, space_id: int, user_id: int, view: Mapping[str, str]
) -> None:
    """Replace a view of the same name. Raise Invalid."""
    values = {"space_id": space_id, "user_id": user_id, "most": MOST_VIEWS, **view}
    if await fetch_optional(connection, queries["save"], values) is None:
        raise Invalid.of("name", f"cannot be saved: there are {MOST_VIEWS} views, remove one first.")


def read_view(name: str, page: str, query: str, pages: Container[str]) -> dict[str, str]:
    """Raise Invalid for bad input."""
    rules = _find_broken_rules(name, page, query, pages)
    if rules:
        raise Invalid.of_rules(rules)
    return {"name": _tidy(name), "page": page, "query": query}


def read_shareable_view(name: str, page: str, query: str) -> dict[str, str]:
    """Read a view that people without an account may see. Raise Invalid for bad input."""
    rules = find_broken_sharing_rules(name, page, query)
    if rules:
        raise Invalid.of_rules(rules)
    return {"name": _tidy(name), "page": page, "query": query}


def find_broken_sharing_rules(name: str, page: str, query: str) -> dict[str, str]:
    """Return what is wrong with a view that people without an account may see, by field."""
    rules = _find_broken_rules(name, page, query, SHAREABLE)
    if "query" not in rules:
        conditions = ReportView.read(Query(query.encode())).only
        if any(text.startswith(_OF_PEOPLE) for text in conditions):
            rules["query"] = "must not be about one contact or company."
    return rules


def _find_broken_rules(name: str, page: str, query: str, pages: Container[str]) -> dict[str, str]:
    rules: dict[str, str] = {}
    if not 1 <= len(_tidy(name)) <= LONGEST_NAME:
        rules["name"] = f"must have 1 to {LONGEST_NAME} characters."
    if page not in pages:
        rules["page"] = "must be an existing page."
    if not is_address_query(query):
        rules["query"] = f"must be an address's query of at most {LONGEST_QUERY} characters."
    return rules


def _join(page: str, query: str) -> str:
    return f"{page}?{query}" if query else page


def _tidy(name: str) -> str:
    return " ".join(name.split())


def is_address_query(text: str) -> bool:
    """Return whether it can be our address's query string."""
    return len(text) <= LONGEST_QUERY and text.isascii() and text.isprintable()


ROUTES = SpacePages("/views", return_path="")


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    """Lead back to the report: the menu that has the form is closed on every page."""
    page, query = visit.form.text("page"), visit.form.text("query")
    is_report = page in PAGES and is_address_query(query)
    values = {
        "title": "The view is not saved",
        "message": join_rules(list_form_errors(refusal)),
        "back": visit.path(_join(page, query) if is_report else ""),
    }
    return visit.render("error.html", values, refusal.status)


@ROUTES.action("/save", SentForm("save view", Permission.READ, changes=("saved_view",)), _refuse)
async def post_save(visit: PageVisit) -> Response:
    """Replace a view of the same name."""
    form = visit.form
    view = read_view(form.text("name"), form.text("page"), form.text("query"), PAGES)
    await save_view(visit.connection, visit.space.id, visit.user_id, view)
    return visit.redirect(_join(view["page"], view["query"]), FlashMessage.VIEW_SAVED)


@ROUTES.action("/remove", SentForm("remove view", Permission.READ, changes=("saved_view",)))
async def post_remove(visit: PageVisit) -> FlashMessage:
    values = {"space_id": visit.space.id, "user_id": visit.user_id, "id": visit.form.number("view")}
    await visit.connection.execute(queries["remove"], values)
    return FlashMessage.VIEW_REMOVED
