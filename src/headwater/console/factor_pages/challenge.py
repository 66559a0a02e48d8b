"""Second factor of a login. Before its check there is no session, only an encrypted cookie."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.factor_pages.code_check import ask_factor, check_code
from headwater.console.factor_pages.passkey_check import check_passkey, offer_passkey
from headwater.console.flash import FlashMessage
from headwater.console.forms import form_token, read_form
from headwater.console.known_browsers import remember_browser
from headwater.console.login import begin_session, load_login_ways
from headwater.console.pages import hidden_token, redirect
from headwater.console.visitor import (
    FACTOR,
    LOGIN,
    cookie_name,
    delete_cookie,
    find_visitor,
    guest_key,
    local_path,
    log_in,
)
from headwater.endpoints.services import services
from headwater.http.errors import NotFound
from headwater.spaces.accounts.users import User, fetch_user
from headwater.spaces.factors.factors import FactorRefused
from headwater.spaces.factors.sealed_state import PendingLogin, hash_password_state, open_state

_FORM = "factor"


async def show_challenge(request: Request) -> Response:
    pending_user = await _find_pending_user(request)
    if pending_user is None:
        return redirect(request, LOGIN, FlashMessage.LOGIN_EXPIRED)
    return await _page(request, pending_user[0], local_path(request.query_params.get("next")))


async def post_challenge(request: Request) -> Response:
    form = await read_form(request, guest_key(request), _FORM)
    next_path, pending_user = local_path(form.text("next")), await _find_pending_user(request)
    if pending_user is None:
        return redirect(request, LOGIN, FlashMessage.LOGIN_EXPIRED)
    user, pending = pending_user
    try:
        if form.text("credential"):
            await check_passkey(request, form, guest_key(request), user.id)
        else:
            await check_code(request, user, form.text("code"))
    except FactorRefused as refusal:
        return await _page(request, user, next_path, refusal)
    before = await find_visitor(request)
    async with services(request).database.transaction() as connection:
        token = await begin_session(connection, request, user, before, factor_at=datetime.now(UTC))
    response = redirect(request, next_path)
    log_in(request, response, token)
    delete_cookie(request, response, "login")
    remember_browser(request, response, pending.account, with_factor=True)
    return response


async def _find_pending_user(request: Request) -> tuple[User, PendingLogin] | None:
    """Return None if the login has expired, began in another browser, or its password no longer counts."""
    shared, sealed = services(request), request.cookies.get(cookie_name(request, "login"), "")
    pending = open_state(shared.sealing_key, sealed, PendingLogin, guest_key(request))
    if pending is None:
        return None
    try:
        async with shared.database.connection() as connection:
            user = await fetch_user(connection, pending.user_id)
            ways = await load_login_ways(connection)
    except NotFound:
        return None
    is_same = hash_password_state(user.password_hash) == pending.password
    is_usable = user.disabled_at is None and ways.takes_password(user.id) and is_same
    return (user, pending) if is_usable else None


async def _page(
    request: Request, user: User, next_path: str, refusal: FactorRefused | None = None
) -> Response:
    key = guest_key(request)
    return ask_factor(
        request,
        "factor.html",
        refusal,
        action=FACTOR,
        next=next_path,
        proof=hidden_token(form_token(key, _FORM)),
        passkey=await offer_passkey(request, key, user.id),
    )


ROUTES = [Route(FACTOR, show_challenge, methods=["GET"]), Route(FACTOR, post_challenge, methods=["POST"])]
