"""Account page: name, password, second factor, sessions and personal tokens."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.audited import change_account
from headwater.console.factor_pages.code_check import describe_refusal, mark_refused
from headwater.console.factor_pages.password_check import check_current_password
from headwater.console.flash import FlashMessage
from headwater.console.list_page import read_list_page
from headwater.console.login import load_login_ways, replace_session
from headwater.console.pages import redirect, render
from headwater.console.visitor import (
    LOGIN,
    Visitor,
    delete_cookie,
    log_in,
    require_fresh_factor,
    require_visitor,
)
from headwater.console.visits import read_account_form
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Forbidden, Invalid
from headwater.spaces.accounts.members import list_password_context
from headwater.spaces.accounts.passwords import check_password
from headwater.spaces.accounts.sessions import close_session, close_sessions, list_sessions
from headwater.spaces.accounts.tokens import list_own_tokens
from headwater.spaces.accounts.users import change_name, change_password, fetch_user, lock_unchanged
from headwater.spaces.factors.factors import FactorRefused, count_recovery_codes, has_authenticator
from headwater.spaces.factors.passkeys import find_relying_party, list_passkeys
from headwater.spaces.sso.identities import list_linked_providers

PATH = "/console/account"


async def show_account(request: Request) -> Response:
    return await _page(request, await require_visitor(request))


async def post_name(request: Request) -> Response:
    visitor, form = await read_account_form(request, "name")
    try:
        async with change_account(request, visitor.user.id, "user") as connection:
            await change_name(connection, visitor.user.id, form.text("name"))
    except Invalid as error:
        typed = form.text("name")
        return await _page(request, visitor, error.errors, status=422, name=typed)
    return redirect(request, PATH, FlashMessage.NAME_CHANGED)


async def post_password(request: Request) -> Response:
    """Check the old password, and log out other browsers."""
    visitor, form = await read_account_form(request, "password")
    shared = services(request)
    async with shared.database.connection() as connection:
        if not (await load_login_ways(connection)).takes_password(visitor.user.id):
            raise Forbidden("This account logs in with single sign-on, without a password.")
    try:
        await check_current_password(request, visitor.user, form.text("current"))
    except FactorRefused as refusal:
        page = await _page(request, visitor, {"current": [describe_refusal(refusal)]})
        return mark_refused(page, refusal)
    async with shared.database.connection() as connection:
        context = await list_password_context(connection, visitor.user)
    try:
        check_password(form.text("password"), (shared.settings.brand, *context))
    except Invalid as error:
        return await _page(request, visitor, error.errors, status=422)
    password_hash = await shared.passwords.hash(form.text("password"))
    async with change_account(request, visitor.user.id, "user", "session") as connection:
        await lock_unchanged(connection, visitor.user)
        await change_password(
            connection, visitor.user.id, password_hash, revoke_tokens=bool(form.text("revoke"))
        )
        token, _ = await replace_session(
            connection, request, visitor.user, visitor, factor_at=visitor.session.factor_at
        )
    response = redirect(request, PATH, FlashMessage.PASSWORD_CHANGED)
    log_in(request, response, token)
    return response


async def post_close(request: Request) -> Response:
    visitor, form = await read_account_form(request, "close session")
    require_fresh_factor(request, visitor)
    async with change_account(request, visitor.user.id, "session") as connection:
        await close_session(connection, visitor.user.id, form.number("session"))
    return redirect(request, PATH, FlashMessage.SESSION_CLOSED)


async def post_close_all(request: Request) -> Response:
    visitor, _ = await read_account_form(request, "close sessions")
    require_fresh_factor(request, visitor)
    async with change_account(request, visitor.user.id, "session") as connection:
        await close_sessions(connection, visitor.user.id)
    response = redirect(request, LOGIN, FlashMessage.LOGGED_OUT_EVERYWHERE)
    delete_cookie(request, response, "session")
    return response


async def _page(
    request: Request, visitor: Visitor, errors: Errors | None = None, *, status: int = 200, **values: Any
) -> Response:
    async with services(request).database.connection() as connection:
        user = await fetch_user(connection, visitor.user.id)
        sessions = await list_sessions(connection, visitor.user.id)
        tokens = await list_own_tokens(connection, visitor.user.id)
        recovery_codes = await count_recovery_codes(connection, visitor.user.id)
        authenticator = await has_authenticator(connection, visitor.user.id)
        passkeys = await list_passkeys(connection, visitor.user.id)
        ways = await load_login_ways(connection)
        linked_providers = await list_linked_providers(connection, visitor.user.id)
    common: dict[str, Any] = {
        "name": user.name,
        "sessions": read_list_page(request, sessions, lambda session: session.device),
        "tokens": tokens,
        "current_session": visitor.session.id,
        "has_factor": visitor.session.has_factor,
        "has_authenticator": authenticator,
        "passkeys": passkeys,
        "offers_passkeys": find_relying_party(services(request).base_url) is not None,
        "recovery_codes": recovery_codes,
        "takes_password": user.password_hash is not None and ways.takes_password(user.id),
        "providers": ways.providers,
        "linked_providers": linked_providers,
        "errors": errors or {},
    }
    return render(request, "account.html", status=status, **(common | values))


ROUTES = [
    Route(PATH, show_account, methods=["GET"]),
    Route(f"{PATH}/name", post_name, methods=["POST"]),
    Route(f"{PATH}/password", post_password, methods=["POST"]),
    Route(f"{PATH}/sessions/close", post_close, methods=["POST"]),
    Route(f"{PATH}/sessions/close-all", post_close_all, methods=["POST"]),
]
