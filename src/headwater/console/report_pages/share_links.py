"""Share links: one page of reports, with its choices, for whoever has the link. They are made,
listed and revoked here; of the tokens in them only hashes are kept.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, once_token, read_form, read_form_once, spend
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.saved_views import read_view
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid, NotFound
from headwater.http.inputs.parameters import Query
from headwater.reports.query import Group
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "share_links.sql")

SHARED = "/shared"
LIFETIMES = {"7": "7 days", "30": "30 days", "90": "90 days", "365": "a year"}
USUAL_LIFETIME = "30"
MOST = 100
_CREATE, _REVOKE = "create share link", "revoke share link"
_OF_PEOPLE = (f"{Group.CONTACT}:", f"{Group.COMPANY}:")


@dataclass(frozen=True)
class ShareLink:
    """A link that works."""

    id: int
    name: str
    page: str
    query: str
    made_by: int | None
    created_at: datetime
    expires_at: datetime
    last_opened_at: datetime | None
    with_notes: bool

    @property
    def end(self) -> str:
        """The end of the page's address, after the Space's."""
        return f"{self.page}?{self.query}" if self.query else self.page


@dataclass(frozen=True)
class SharedPage:
    """The page that a link opens."""

    space_id: int
    id: int
    name: str
    page: str
    query: str
    with_notes: bool


async def find_shared(connection: AsyncConnection, token: str) -> SharedPage:
    """Return what a link opens. Raises NotFound for an unknown, a revoked and an expired one."""
    cursor = connection.cursor(row_factory=class_row(SharedPage))
    values = {"token_hash": hash_secret(token)}
    shared = await fetch_optional(cursor, queries["find"], values)
    if shared is None:
        raise NotFound("Page")
    return shared


async def note_opening(connection: AsyncConnection, shared: SharedPage) -> None:
    """Note that a link was opened."""
    values = {"space_id": shared.space_id, "id": shared.id}
    await connection.execute(queries["note_opening"], values)


async def show_links(request: Request) -> Response:
    """Show the links, and the form for one of the page that the address names."""
    visitor = await require_visitor(request)
    query = Query(request.scope["query_string"])
    typed = {name: str(query.single(name) or "") for name in ("page", "query")}
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(connection, request, inside, typed=typed)


async def post_create(request: Request) -> Response:
    """Make a link, which is shown this once."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, _CREATE)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        try:
            token = await _create(connection, inside, form)
        except Invalid as error:
            typed = {name: form.text(name) for name in ("name", "page", "query", "days", "notes")}
            return await _page(connection, request, inside, typed=typed, errors=error.errors)
        await spend(connection, form)
        link = f"{services(request).base_url}{SHARED}/{token}"
        return await _page(connection, request, inside, made=link, typed={})


async def post_revoke(request: Request) -> Response:
    """Revoke a link at once."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, _REVOKE)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        values = {"space_id": inside.space.id, "id": form.number("link")}
        await connection.execute(queries["revoke"], values)
    location = f"{HOME}/spaces/{inside.space.id}/share-links"
    return redirect(request, location, FlashMessage.LINK_REVOKED)


async def _create(connection: AsyncConnection, inside: SpaceVisitor, form: PostedForm) -> str:
    view = read_view(form.text("name"), form.text("page"), form.text("query"), SHAREABLE)
    days = form.text("days")
    if days not in LIFETIMES:
        raise Invalid.of("days", f"must be one of {', '.join(LIFETIMES)}.")
    only = ReportView.read(Query(view["query"].encode())).only
    if any(text.startswith(_OF_PEOPLE) for text in only):
        raise Invalid.of("query", "cannot be shared: it is about one contact or company.")
    token = secrets.token_urlsafe(32)
    values: dict[str, Any] = {
        **view,
        "space_id": inside.space.id,
        "token_hash": hash_secret(token),
        "most": MOST,
        "user_id": inside.visitor.user.id,
        "lifetime": timedelta(days=int(days)),
        "with_notes": form.text("notes") == "yes",
    }
    if await fetch_optional(connection, queries["create"], values) is None:
        raise Invalid.of("name", f"cannot be made: there are {MOST} links, revoke one first.")
    return token


async def _page(
    connection: AsyncConnection,
    request: Request,
    inside: SpaceVisitor,
    *,
    typed: dict[str, str],
    made: str | None = None,
    errors: Errors | None = None,
) -> Response:
    cursor = connection.cursor(row_factory=class_row(ShareLink))
    values = {"space_id": inside.space.id, "most": MOST}
    links = await fetch_all(cursor, queries["list"], values)
    members = await list_members(connection, inside.space.id)
    usual = {"name": "", "page": "", "query": "", "days": USUAL_LIFETIME, "notes": ""}
    return render(
        request,
        "share_links.html",
        status=422 if errors else 200,
        links=links,
        made=made,
        typed=usual | typed,
        errors=errors or {},
        pages=SHAREABLE,
        lifetimes=LIFETIMES,
        base=f"{HOME}/spaces/{inside.space.id}",
        makers={member.user_id: member.display_name for member in members},
        once=hidden_token(once_token(inside.visitor.form_key, _CREATE)),
    )


_PATH = f"{HOME}/spaces/{{space_id}}/share-links"
ROUTES = [
    Route(_PATH, show_links, methods=["GET"]),
    Route(f"{_PATH}/create", post_create, methods=["POST"]),
    Route(f"{_PATH}/revoke", post_revoke, methods=["POST"]),
]
