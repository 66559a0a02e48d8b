"""Set-up and removal of an authenticator app, and its recovery codes. The app counts after its first code."""

from __future__ import annotations

import asyncio
import base64
import time
from datetime import UTC, datetime

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.audited import change_account
from headwater.console.flash import FlashMessage
from headwater.console.link_pages.qr_code import draw_qr_code
from headwater.console.pages import redirect, render
from headwater.console.visitor import (
    AUTHENTICATOR,
    HOME,
    Visitor,
    cookie_name,
    local_path,
    require_fresh_factor,
    require_visitor,
)
from headwater.console.visits import read_account_form
from headwater.endpoints.services import services
from headwater.http.errors import Errors
from headwater.spaces.accounts.sessions import close_other_sessions, note_factor
from headwater.spaces.factors.factors import (
    add_authenticator,
    has_authenticator,
    remove_authenticator,
    replace_recovery_codes,
)
from headwater.spaces.factors.passkeys import find_relying_party
from headwater.spaces.factors.sealed_state import NewAuthenticator, open_state, seal_state
from headwater.spaces.factors.totp import find_step, make_secret, make_uri

ACCOUNT = f"{HOME}/account"
_WRONG_CODE = "The code is wrong. Check the clock of your phone, and enter the code that the app shows now."

log = structlog.get_logger()


async def show_authenticator(request: Request) -> Response:
    visitor, next_path = await require_visitor(request), local_path(request.query_params.get("next"))
    async with services(request).database.connection() as connection:
        if await has_authenticator(connection, visitor.user.id):
            return redirect(request, next_path)
    require_fresh_factor(request, visitor)
    return await _page(request, visitor, next_path, make_secret())


async def post_authenticator(request: Request) -> Response:
    """Store the app if its code is right, log out other browsers, and show the recovery codes once."""
    visitor, form = await read_account_form(request, "authenticator")
    require_fresh_factor(request, visitor)
    shared, next_path = services(request), local_path(form.text("next"))
    state = open_state(shared.sealing_key, form.text("state"), NewAuthenticator, visitor.form_key)
    if state is None:
        errors = {"code": ["This took too long. Scan the new QR code."]}
        return await _page(request, visitor, next_path, make_secret(), errors)
    step = find_step(state.secret, "".join(form.text("code").split()), time.time())
    if step is None:
        return await _page(request, visitor, next_path, state.secret, {"code": [_WRONG_CODE]})
    token, user_id = request.cookies[cookie_name(request, "session")], visitor.user.id
    async with change_account(request, user_id, "authenticator", "recovery_codes", "session") as connection:
        if not await add_authenticator(connection, shared.sealing_key, user_id, state.secret, step):
            return redirect(request, next_path)
        if visitor.session.has_factor:
            return redirect(request, next_path)
        codes = await replace_recovery_codes(connection, user_id)
        await close_other_sessions(connection, user_id, visitor.session.id)
        await note_factor(connection, token, datetime.now(UTC))
    log.info("second_factor_added", user_id=user_id)
    return render(request, "recovery_codes.html", codes=codes, next=next_path)


async def post_recovery_codes(request: Request) -> Response:
    """Show new codes once."""
    visitor, _ = await read_account_form(request, "recovery codes")
    require_fresh_factor(request, visitor)
    if not visitor.session.has_factor:
        return redirect(request, ACCOUNT)
    async with change_account(request, visitor.user.id, "recovery_codes") as connection:
        codes = await replace_recovery_codes(connection, visitor.user.id)
    return render(request, "recovery_codes.html", codes=codes, next=ACCOUNT)


async def post_remove(request: Request) -> Response:
    visitor, _ = await read_account_form(request, "remove authenticator")
    require_fresh_factor(request, visitor)
    async with change_account(request, visitor.user.id, "authenticator", "recovery_codes") as connection:
        await remove_authenticator(connection, visitor.user.id)
    log.info("second_factor_removed", user_id=visitor.user.id)
    return redirect(request, ACCOUNT, FlashMessage.FACTOR_REMOVED)


async def _page(
    request: Request, visitor: Visitor, next_path: str, secret: str, errors: Errors | None = None
) -> Response:
    shared = services(request)
    uri = make_uri(secret, visitor.user.email, shared.settings.brand)
    image = await asyncio.to_thread(draw_qr_code, uri)
    state = NewAuthenticator(secret, int(time.time()))
    return render(
        request,
        "authenticator.html",
        status=422 if errors else 200,
        image=base64.b64encode(image).decode(),
        secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        state=seal_state(shared.sealing_key, state, visitor.form_key),
        next=next_path,
        offers_passkeys=find_relying_party(shared.base_url) is not None,
        errors=errors or {},
    )


ROUTES = [
    Route(AUTHENTICATOR, show_authenticator, methods=["GET"]),
    Route(AUTHENTICATOR, post_authenticator, methods=["POST"]),
    Route(f"{AUTHENTICATOR}/codes", post_recovery_codes, methods=["POST"]),
    Route(f"{AUTHENTICATOR}/remove", post_remove, methods=["POST"]),
]
