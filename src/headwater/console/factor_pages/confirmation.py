"""Second factor in a session or, without one, the password, before an action that needs a fresh one."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.factor_pages.code_check import ask_factor, check_code
from headwater.console.factor_pages.passkey_check import check_passkey, offer_passkey
from headwater.console.factor_pages.password_check import check_current_password
from headwater.console.forms import form_token
from headwater.console.pages import hidden_token, redirect
from headwater.console.visitor import CONFIRM, Visitor, cookie_name, local_path, require_visitor
from headwater.console.visits import read_account_form
from headwater.endpoints.services import services
from headwater.spaces.accounts.sessions import note_factor, note_password
from headwater.spaces.factors.factors import FactorRefused

_FORM = "confirm"


async def show_confirmation(request: Request) -> Response:
    visitor, next_path = await require_visitor(request), local_path(request.query_params.get("next"))
    if visitor.session.is_fresh and not visitor.session.has_factor:
        return redirect(request, next_path)
    return await _page(request, visitor, next_path)


async def post_confirmation(request: Request) -> Response:
    visitor, form = await read_account_form(request, _FORM)
    next_path = local_path(form.text("next"))
    try:
        if not visitor.session.has_factor:
            await check_current_password(request, visitor.user, form.text("code"))
        elif form.text("credential"):
            await check_passkey(request, form, visitor.form_key, visitor.user.id)
        else:
            await check_code(request, visitor.user, form.text("code"))
    except FactorRefused as refusal:
        return await _page(request, visitor, next_path, refusal)
    token = request.cookies[cookie_name(request, "session")]
    async with services(request).database.connection() as connection:
        if visitor.session.has_factor:
            await note_factor(connection, token, datetime.now(UTC))
        else:
            await note_password(connection, visitor.session.id)
    return redirect(request, next_path)


async def _page(
    request: Request, visitor: Visitor, next_path: str, refusal: FactorRefused | None = None
) -> Response:
    proof = hidden_token(form_token(visitor.form_key, _FORM))
    if not visitor.session.has_factor:
        page = "confirm_password.html"
        return ask_factor(request, page, refusal, action=CONFIRM, next=next_path, proof=proof)
    return ask_factor(
        request,
        "factor.html",
        refusal,
        action=CONFIRM,
        next=next_path,
        proof=proof,
        passkey=await offer_passkey(request, visitor.form_key, visitor.user.id),
    )


ROUTES = [
    Route(CONFIRM, show_confirmation, methods=["GET"]),
    Route(CONFIRM, post_confirmation, methods=["POST"]),
]
