"""The visitor, user or guest, and the identifying cookies.

Cookies are limited to this host and path, hidden from scripts, and not sent with other sites' posts. With
https their names begin with `__Host-`, so browsers enforce this.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from headwater.alerts.problems import Alert, list_alerts
from headwater.database.pool import confine
from headwater.endpoints.services import services
from headwater.http.errors import Forbidden, Invalid, NotFound, require_found
from headwater.http.inputs.path_parameters import parse_id
from headwater.spaces.accounts.members import Member, fetch_member
from headwater.spaces.accounts.roles import Permission, Role
from headwater.spaces.accounts.sessions import LIFETIME, Session, fetch_session, hold_session
from headwater.spaces.accounts.users import User
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

LOGIN = "/login"
HOME = "/console"
FACTOR = f"{LOGIN}/factor"
"""Asks for the second factor of a login."""
PASSKEY = f"{LOGIN}/passkey"
"""Logs in with a passkey."""
CONFIRM = f"{HOME}/account/confirm"
"""Asks for a second factor, or the password, in a session."""
AUTHENTICATOR = f"{HOME}/account/authenticator"
"""Sets up a second factor."""
MAX_NEXT = 16 * 1024
_LOCAL = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e\xa1-\u2027\u202a-\ud7ff\ue000-\U0010ffff]*")

Cookie = Literal["session", "guest", "said", "browser", "sso", "login"]


class SeeOther(Exception):
    """Redirect to another page, fetched with GET."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


class Visitor(Struct, frozen=True):
    """A logged-in user."""

    session: Session

    @property
    def user(self) -> User:
        return self.session.user

    @property
    def form_key(self) -> bytes:
        return self.session.csrf_key


class SpaceVisitor(Struct, frozen=True):
    visitor: Visitor
    space: Space
    member: Member
    alerts: Sequence[Alert]

    @property
    def role(self) -> Role:
        """Return the role read in this request."""
        return self.member.role

    def may(self, permission: str) -> bool:
        return self.role.may(Permission(permission))

    def require(self, permission: Permission) -> None:
        if not self.role.may(permission):
            raise Forbidden(f"Your role in this Space, {self.role}, does not allow this.")


async def find_visitor(request: Request) -> Visitor | None:
    """Read the session once per request."""
    if not hasattr(request.state, "visitor"):
        token = request.cookies.get(cookie_name(request, "session"))
        session = None
        if token:
            async with services(request).database.connection() as connection:
                session = await fetch_session(connection, token)
        request.state.visitor = Visitor(session) if session else None
    return request.state.visitor


async def require_visitor(request: Request) -> Visitor:
    """Raise SeeOther to the login page, which leads back here."""
    visitor = await find_visitor(request)
    if visitor is None:
        raise _leading_back(request, LOGIN)
    return visitor


def require_fresh_factor(request: Request, visitor: Visitor) -> None:
    """Raise SeeOther to the page that asks for the user's second factor or, without one, for the password,
    unless it was used recently.
    """
    if not visitor.session.is_fresh:
        raise _leading_back(request, CONFIRM)


async def require_session(connection: AsyncConnection, request: Request, visitor: Visitor) -> None:
    """Let the end of the session wait for this transaction. Raise SeeOther to the login page if it has ended
    already.
    """
    if not await hold_session(connection, visitor.session):
        raise _leading_back(request, LOGIN)


def lacks_factor(request: Request, session: Session, *, space_requires: bool) -> bool:
    """Return whether the session may not see a Space yet, because that requires a second factor."""
    is_required = space_requires or services(request).settings.require_second_factor
    return is_required and not session.is_proven


def _leading_back(request: Request, page: str) -> SeeOther:
    """Return a redirect to a page that leads back here."""
    target = request.url.path
    if request.url.query:
        target += f"?{request.url.query}"
    if request.method != "GET":
        target = f"{find_form_page(request)}?again"
    return SeeOther(f"{page}?next={quote(target, safe='/')}" if len(target) <= MAX_NEXT else page)


def find_form_page(request: Request) -> str:
    """Return the longest prefix of the action's path that is a page. `again` makes its script restore the
    typed values.
    """
    path, routes = request.url.path, [route for route in request.app.routes if isinstance(route, Route)]
    pages = {route.path for route in routes if "GET" in (route.methods or ())}
    # The action's pattern, because an id in a page's pattern matches an action's name too.
    pattern = next((route.path for route in routes if route.matches(request.scope)[0] is Match.FULL), "")
    while pattern and pattern not in pages:
        path, pattern = path.rpartition("/")[0], pattern.rpartition("/")[0]
    return path if pattern else HOME


async def enter(
    connection: AsyncConnection, request: Request, visitor: Visitor, permission: Permission = Permission.READ
) -> SpaceVisitor:
    """Return the visitor in the path's Space.

    Raise what `admit` raises, and Forbidden for a role without the permission.
    """
    space, member = await admit(connection, request, visitor)
    inside = SpaceVisitor(visitor, space, member, await list_alerts(connection, space.id))
    request.state.inside = inside
    inside.require(permission)
    return inside


async def admit(connection: AsyncConnection, request: Request, visitor: Visitor) -> tuple[Space, Member]:
    """Confine the connection to the path's Space, and return the Space and its member.

    Raise NotFound for an unknown or inaccessible Space, SeeOther to the second factor if the Space requires
    one.
    """
    space_id = read_space_id(request)
    member = require_found(await fetch_member(connection, space_id, visitor.user.id), "Page")
    await confine(connection, space_id)
    space = await fetch_space(connection, space_id)
    if lacks_factor(request, visitor.session, space_requires=space.require_second_factor):
        raise _leading_back(request, AUTHENTICATOR)
    return space, member


def read_space_id(request: Request) -> int:
    """Raise NotFound if missing."""
    return read_id(request, "space_id")


def read_id(request: Request, name: str) -> int:
    """Raise NotFound if missing."""
    try:
        return parse_id(name, request.path_params[name])
    except Invalid:
        raise NotFound("Page") from None


def guest_key(request: Request) -> bytes:
    """Return the key that signs forms before the login. The cookie is set with the page, so other sites can't
    forge a form.
    """
    token = request.cookies.get(cookie_name(request, "guest"), "")
    if len(token) != 43:
        token = getattr(request.state, "new_guest", None) or secrets.token_urlsafe(32)
        request.state.new_guest = token
    return hmac.digest(token.encode("utf-8", "surrogatepass"), b"headwater guest", "sha256")


def local_path(text: str | None) -> str:
    """Return a local address, or HOME for any other."""
    fits = text is not None and len(text) <= MAX_NEXT and _LOCAL.fullmatch(text)
    return text if text is not None and fits else HOME


def cookie_name(request: Request, cookie: Cookie) -> str:
    return f"{'__Host-' if _is_https(request) else ''}headwater_{cookie}"


def set_cookie(
    request: Request, response: Response, cookie: Cookie, value: str, seconds: int | None = None
) -> None:
    """Keep a cookie for `seconds`, or until the browser closes."""
    response.set_cookie(
        cookie_name(request, cookie),
        value,
        max_age=seconds,
        path="/",
        secure=_is_https(request),
        httponly=True,
        samesite="lax",
    )


def delete_cookie(request: Request, response: Response, cookie: Cookie) -> None:
    set_cookie(request, response, cookie, "", 0)


def log_in(request: Request, response: Response, token: str) -> None:
    """Delete the guest cookie."""
    set_cookie(request, response, "session", token, int(LIFETIME.total_seconds()))
    delete_cookie(request, response, "guest")


def _is_https(request: Request) -> bool:
    return services(request).base_url.startswith("https://")
