"""Login with a password. Users with a second factor are asked for it before their session begins.

Failed logins are counted by account and address before the password is checked. Answers are the same, in text
and time, whether the account exists or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from ua_parser import parse

from headwater.console.audited import make_action
from headwater.console.forms import PostedForm, read_form
from headwater.console.known_browsers import known_browser, remember_browser
from headwater.console.pages import redirect, render, wait_text
from headwater.console.visitor import (
    FACTOR,
    LOGIN,
    Visitor,
    find_visitor,
    guest_key,
    local_path,
    log_in,
    set_cookie,
)
from headwater.endpoints.services import services
from headwater.http.clients import address_subject, client_address
from headwater.http.refusal_log import disguise, log_refusal
from headwater.spaces.accounts.attempts import AttemptVerdict, give_back, take_attempt, tidy_attempts
from headwater.spaces.accounts.sessions import PASSWORD, ProviderSession, close_session, open_session
from headwater.spaces.accounts.users import User, any_user, find_user, lock_unchanged, renew_hash
from headwater.spaces.audit.entries import AuditChange, add_entry
from headwater.spaces.factors.factors import has_factor
from headwater.spaces.factors.passkeys import any_passkey, find_relying_party
from headwater.spaces.factors.sealed_state import PENDING_SECONDS, begin_login, seal_state
from headwater.spaces.sso.providers import SsoProvider, list_password_users, list_providers

FAILURES = 10
WINDOW_SECONDS = 15 * 60
FORM = "login"
Subject = tuple[str, str]
"""An action, and the account or browser whose attempts are counted."""
_WRONG_LOGIN = "The e-mail address or the password is wrong."
_NO_PASSWORDS = "The password is wrong, or this account must log in with single sign-on."


class LoginWays(Struct, frozen=True):
    """How people can log in."""

    providers: Sequence[SsoProvider]
    password_users: Sequence[int]
    """The only users who may use a password or a passkey; empty if all may."""
    has_passkeys: bool

    def takes_password(self, user_id: int) -> bool:
        return not self.password_users or user_id in self.password_users

    @property
    def refusal_text(self) -> str:
        return _NO_PASSWORDS if self.password_users else _WRONG_LOGIN


async def load_login_ways(connection: AsyncConnection) -> LoginWays:
    password_users = await list_password_users(connection)
    return LoginWays(
        await list_providers(connection),
        [user_id for user_id, _ in password_users],
        await any_passkey(connection),
    )


async def show_login(request: Request) -> Response:
    """Explain how to create the first account."""
    next_path = local_path(request.query_params.get("next"))
    if await find_visitor(request) is not None:
        return redirect(request, next_path)
    async with services(request).database.connection() as connection:
        ways = await load_login_ways(connection)
        if not ways.providers and not await any_user(connection):
            return render(request, "no_account.html")
    guest_key(request)
    return _page(request, ways, next_path)


async def post_login(request: Request) -> Response:
    form = await read_form(request, guest_key(request), FORM)
    before = await find_visitor(request)
    shared = services(request)
    next_path = local_path(form.text("next"))
    address = address_subject(client_address(request.scope, shared.settings.trusted_proxies))
    account = form.text("email").strip().lower()
    subject = account_subject(request, account)
    async with shared.database.transaction() as connection:
        is_allowed = await _count_attempt(connection, address, subject)
        ways = await load_login_ways(connection)
    if not is_allowed.admitted:
        log_refusal("login_limit", address)
        wait_message = f"Too many attempts to log in. Try again in {wait_text(is_allowed.retry_after)}."
        response = _page(request, ways, next_path, form, wait_message, status=429)
        response.headers["Retry-After"] = str(is_allowed.retry_after)
        return response
    async with shared.database.connection() as connection:
        user = await find_user(connection, account)
    is_usable = user is not None and user.disabled_at is None and ways.takes_password(user.id)
    stored_hash = user.password_hash if user is not None and is_usable else None
    verdict = await shared.passwords.verify(stored_hash, form.text("password"))
    if user is None or not verdict.matches:
        # An unknown account causes the same work: the time of an answer must not show which accounts exist.
        await _note_failure(request, user)
        user_id = 0 if user is None else user.id
        log_refusal("login_refused", address, account=disguise(account), user_id=user_id)
        return _page(request, ways, next_path, form, ways.refusal_text, status=422)
    async with shared.database.transaction() as connection:
        await give_back(connection, "login from", address)
        await give_back(connection, *subject)
        await tidy_attempts(connection)
        if verdict.rehashed:
            user = await renew_hash(connection, user, verdict.rehashed)
        needs_factor = await has_factor(connection, user.id)
        token = None if needs_factor else await begin_session(connection, request, user, before)
    if token is None:
        pending = begin_login(user, account)
        response = redirect(request, f"{FACTOR}?next={quote(next_path, safe='/')}")
        sealed = seal_state(shared.sealing_key, pending, guest_key(request))
        set_cookie(request, response, "login", sealed, PENDING_SECONDS)
        return response
    response = redirect(request, next_path)
    log_in(request, response, token)
    remember_browser(request, response, account)
    return response


async def begin_session(
    connection: AsyncConnection,
    request: Request,
    user: User,
    visitor: Visitor | None,
    factor_at: datetime | None = None,
) -> str:
    """Replace the browser's session, and record the login. Return the new session's token. Raise Conflict if
    the user was disabled, or has another password, since `user` was read.
    """
    await lock_unchanged(connection, user)
    token, session_changes = await replace_session(connection, request, user, visitor, factor_at=factor_at)
    if session_changes:
        await add_entry(connection, make_action(request, user.id), session_changes)
    return token


async def replace_session(
    connection: AsyncConnection,
    request: Request,
    user: User,
    visitor: Visitor | None,
    origin: ProviderSession = PASSWORD,
    factor_at: datetime | None = None,
) -> tuple[str, list[AuditChange]]:
    """Return the new session's token, and what to record. Ends the browser's earlier session, `visitor`."""
    if visitor is not None:
        await close_session(connection, visitor.user.id, visitor.session.id)
    device = await asyncio.to_thread(describe_device, request.headers.get("user-agent", ""))
    token, session = await open_session(connection, user.id, device, origin, factor_at)
    if session is None:
        return token, []
    facts = {"device": device, "provider": origin.provider, "second_factor": factor_at is not None}
    return token, [AuditChange("session", session.id, after=facts)]


async def _note_failure(request: Request, user: User | None) -> None:
    """Record a refused login. The limit of attempts limits the entries."""
    async with services(request).database.transaction() as connection:
        change = AuditChange("session", after={"refused": "password"})
        await add_entry(connection, make_action(request, None if user is None else user.id), [change])


def describe_device(user_agent: str) -> str:
    parsed = parse(user_agent[:1024])
    browser = parsed.user_agent.family if parsed.user_agent else "A browser"
    return f"{browser} on {parsed.os.family}" if parsed.os else browser


def account_subject(request: Request, account: str) -> Subject:
    """Give a browser that has logged in before its own count, so failures elsewhere don't lock it out."""
    browser = known_browser(request, account)
    return ("login to", account) if browser is None else ("login by", browser)


async def _count_attempt(connection: AsyncConnection, address: str, subject: Subject) -> AttemptVerdict:
    """Count against both the address and the account, or against neither."""
    limits = (FAILURES, WINDOW_SECONDS)
    is_allowed = await take_attempt(connection, "login from", address, *limits)
    if is_allowed.admitted:
        is_allowed = await take_attempt(connection, *subject, *limits, slowing=True)
        if not is_allowed.admitted:
            await give_back(connection, "login from", address)
    return is_allowed


def _page(
    request: Request,
    ways: LoginWays,
    next_path: str,
    form: PostedForm | None = None,
    problem: str | None = None,
    *,
    status: int = 200,
) -> Response:
    email = form.text("email") if form else ""
    passkeys = ways.has_passkeys and find_relying_party(services(request).base_url) is not None
    return render(
        request,
        "login.html",
        status=status,
        ways=ways,
        passkeys=passkeys,
        next=next_path,
        email=email,
        problem=problem,
    )


ROUTES = [Route(LOGIN, show_login, methods=["GET"]), Route(LOGIN, post_login, methods=["POST"])]
