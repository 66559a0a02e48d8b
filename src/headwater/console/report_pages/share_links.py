"""Links to report pages with their choices. Only hashes of the tokens are stored."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.saved_views import SavedView, list_member_views, read_shareable_view
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import Errors, Invalid
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "share_links.sql")

SHARED = "/shared"
LIFETIMES = {"7": "7 days", "30": "30 days", "90": "90 days", "365": "a year"}
USUAL_LIFETIME = "30"
MOST_LINKS = 100
ROUTES = SpacePages("/share-links")
_CREATE = SentForm("create share link", Permission.CHANGE_SETTINGS, once=True, changes=("share_link",))


class ShareLink(Struct, frozen=True):
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
        return f"{self.page}?{self.query}" if self.query else self.page


class SharedPage(Struct, frozen=True):
    space_id: int
    id: int
    name: str
    page: str
    query: str
    with_notes: bool


async def find_shared(connection: AsyncConnection, token: str) -> SharedPage | None:
    """Return None for an unknown, revoked or expired link."""
    values = {"token_hash": hash_secret(token)}
    return await fetch_optional(make_cursor(connection, SharedPage), queries["find"], values)


async def note_opening(connection: AsyncConnection, shared: SharedPage) -> None:
    values = {"space_id": shared.space_id, "id": shared.id}
    await connection.execute(queries["note_opening"], values)


@ROUTES.page()
async def show_links(visit: PageVisit) -> Response:
    page, query = (str(visit.query.single(name) or "") for name in ("page", "query"))
    report = f"{page}?{query}" if query else page
    return await _page(visit, {"report": report, "name": SHAREABLE.get(page, "")})


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    typed = visit.typed("name", "report", "days", "notes")
    return await _page(visit, typed, errors=list_form_errors(refusal))


@ROUTES.action("/create", _CREATE, _refuse)
async def post_create(visit: PageVisit) -> Response:
    """Show the new link once."""
    token = await _create(visit)
    return await _page(visit, {}, secret=f"{visit.services.base_url}{SHARED}/{token}")


@ROUTES.action("/revoke", SentForm("revoke share link", Permission.CHANGE_SETTINGS, changes=("share_link",)))
async def post_revoke(visit: PageVisit) -> FlashMessage:
    values = {"space_id": visit.space.id, "id": visit.form.number("link")}
    await visit.connection.execute(queries["revoke"], values)
    return FlashMessage.LINK_REVOKED


async def _create(visit: PageVisit) -> str:
    page, _, query = visit.form.text("report").partition("?")
    view = read_shareable_view(visit.form.text("name"), page, query)
    days = visit.form.text("days")
    if days not in LIFETIMES:
        raise Invalid.of("days", f"must be one of {', '.join(LIFETIMES)}.")
    token = secrets.token_urlsafe(32)
    values: dict[str, Any] = {
        **view,
        "space_id": visit.space.id,
        "token_hash": hash_secret(token),
        "most": MOST_LINKS,
        "user_id": visit.user_id,
        "lifetime": timedelta(days=int(days)),
        "with_notes": visit.form.text("notes") == "yes",
    }
    if await fetch_optional(visit.connection, queries["create"], values) is None:
        raise Invalid.of("name", f"cannot be created: there are {MOST_LINKS} links, revoke one first.")
    return token


async def _page(
    visit: PageVisit, typed: dict[str, str], secret: str | None = None, errors: Errors | None = None
) -> Response:
    values = {"space_id": visit.space.id, "most": MOST_LINKS}
    links = await fetch_all(make_cursor(visit.connection, ShareLink), queries["list"], values)
    members = await list_members(visit.connection, visit.space.id)
    views = await list_member_views(visit.connection, visit.space.id, visit.user_id)
    form_values = {"name": "", "report": "", "days": USUAL_LIFETIME, "notes": ""} | typed
    page_values: dict[str, Any] = {
        "links": links,
        "made": secret,
        "typed": form_values,
        "errors": errors or {},
        "pages": SHAREABLE,
        "reports": _list_reports(views, form_values["report"]),
        "lifetimes": LIFETIMES,
        "makers": {member.user_id: member.display_name for member in members},
        "once": visit.once(_CREATE.name),
    }
    return visit.render("share_links.html", page_values, 422 if errors else 200)


def _list_reports(views: Iterable[SavedView], chosen_end: str) -> dict[str, str]:
    """Return titles of reports that can be shared, by address. `chosen_end` may have unsaved filters."""
    titles = SHAREABLE | {
        view.end: f"{view.name} ({SHAREABLE[view.page]})" for view in views if view.page in SHAREABLE
    }
    page = chosen_end.partition("?")[0]
    if page in SHAREABLE and chosen_end not in titles:
        return {chosen_end: f"{SHAREABLE[page]} with your filters", **titles}
    return titles
