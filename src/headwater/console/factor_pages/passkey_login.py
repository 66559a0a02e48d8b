"""Login with a passkey instead of a password. It counts as a second factor: the authenticator verified its
user.
"""

from __future__ import annotations

from datetime import UTC, datetime

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.factor_pages.code_check import ask_factor
from headwater.console.factor_pages.passkey_check import check_passkey, offer_passkey
from headwater.console.forms import form_token, read_form
from headwater.console.known_browsers import remember_browser
from headwater.console.login import begin_session, load_login_ways
from headwater.console.pages import hidden_token, redirect
from headwater.console.visitor import PASSKEY, find_visitor, guest_key, local_path, log_in
from headwater.endpoints.services import services
from headwater.http.errors import require_found
from headwater.spaces.accounts.users import User, fetch_user
from headwater.spaces.factors.factors import FactorReason, FactorRefused

_FORM = "passkey login"

log = structlog.get_logger()


async def show_passkey_login(request: Request) -> Response:
    return await _page(request, local_path(request.query_params.get("next")))


async def post_passkey_login(request: Request) -> Response:
    form = await read_form(request, guest_key(request), _FORM)
    shared, next_path, before = services(request), local_path(form.text("next")), await find_visitor(request)
    try:
        user = await _fetch_usable(request, await check_passkey(request, form, guest_key(request), None))
    except FactorRefused as refusal:
        return await _page(request, next_path, refusal)
    async with shared.database.transaction() as connection:
        token = await begin_session(connection, request, user, before, factor_at=datetime.now(UTC))
    log.info("passkey_login", user_id=user.id)
    response = redirect(request, next_path)
    log_in(request, response, token)
    remember_browser(request, response, user.email, with_factor=True)
    return response


async def _fetch_usable(request: Request, user_id: int) -> User:
    """Raise FactorRefused for a user who is disabled, or must log in with single sign-on."""
    async with services(request).database.connection() as connection:
        user = await fetch_user(connection, user_id)
        ways = await load_login_ways(connection)
    if user.disabled_at is not None or not ways.takes_password(user.id):
        raise FactorRefused(FactorReason.PASSKEY_REFUSED)
    return user


async def _page(request: Request, next_path: str, refusal: FactorRefused | None = None) -> Response:
    """Raise NotFound where browsers have no passkeys."""
    key = guest_key(request)
    offer = require_found(await offer_passkey(request, key, None), "Page")
    proof = hidden_token(form_token(key, _FORM))
    return ask_factor(
        request, "passkey_login.html", refusal, action=PASSKEY, next=next_path, proof=proof, passkey=offer
    )


ROUTES = [
    Route(PASSKEY, show_passkey_login, methods=["GET"]),
    Route(PASSKEY, post_passkey_login, methods=["POST"]),
]
