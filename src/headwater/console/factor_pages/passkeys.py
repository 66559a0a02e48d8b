"""Passkeys of the account: add one, with a name, and remove it."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.audited import change_account
from headwater.console.factor_pages.authenticator import ACCOUNT
from headwater.console.factor_pages.code_check import MESSAGES
from headwater.console.factor_pages.passkey_check import PasskeyOffer, use_challenge
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.pages import redirect, render
from headwater.console.visitor import Visitor, cookie_name, require_fresh_factor, require_visitor
from headwater.console.visits import read_account_form
from headwater.endpoints.services import services
from headwater.http.errors import Conflict, Errors, Invalid, require_found
from headwater.spaces.accounts.sessions import close_other_sessions, note_factor
from headwater.spaces.factors.factors import (
    FactorReason,
    FactorRefused,
    remove_spare_codes,
    replace_recovery_codes,
)
from headwater.spaces.factors.passkeys import (
    RelyingParty,
    add_passkey,
    check_creation,
    find_relying_party,
    list_passkeys,
    make_challenge,
    make_creation_options,
    remove_passkey,
)
from headwater.spaces.factors.sealed_state import NewPasskey, open_state, seal_state

PATH = f"{ACCOUNT}/passkeys"

log = structlog.get_logger()


async def show_new_passkey(request: Request) -> Response:
    visitor = await require_visitor(request)
    require_fresh_factor(request, visitor)
    return await _page(request, visitor)


async def post_passkey(request: Request) -> Response:
    """Add a passkey. The first factor logs out other browsers, and shows recovery codes once."""
    visitor, form = await read_account_form(request, "passkey")
    require_fresh_factor(request, visitor)
    try:
        codes = await _add(request, visitor, form)
    except FactorRefused as refusal:
        return await _page(request, visitor, {"name": [MESSAGES[refusal.reason]]}, form.text("name"))
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"name": [error.message]}
        return await _page(request, visitor, errors, form.text("name"))
    log.info("passkey_added", user_id=visitor.user.id)
    if codes is None:
        return redirect(request, ACCOUNT, FlashMessage.PASSKEY_ADDED)
    return render(request, "recovery_codes.html", codes=codes, next=ACCOUNT)


async def _add(request: Request, visitor: Visitor, form: PostedForm) -> list[str] | None:
    """Return recovery codes with the first factor. Raise FactorRefused, Invalid, Conflict."""
    shared, user_id = services(request), visitor.user.id
    state = open_state(shared.sealing_key, form.text("state"), NewPasskey, visitor.form_key)
    if state is None:
        raise FactorRefused(FactorReason.EXPIRED)
    await use_challenge(request, state.challenge)
    verified_passkey = check_creation(_require_party(request), state.challenge, form.text("credential"))
    token = request.cookies[cookie_name(request, "session")]
    async with change_account(request, user_id, "passkey", "recovery_codes", "session") as connection:
        await add_passkey(connection, user_id, form.text("name"), verified_passkey)
        if visitor.session.has_factor:
            return None
        await close_other_sessions(connection, user_id, visitor.session.id)
        await note_factor(connection, token, datetime.now(UTC))
        return await replace_recovery_codes(connection, user_id)


async def post_remove(request: Request) -> Response:
    visitor, form = await read_account_form(request, "remove passkey")
    require_fresh_factor(request, visitor)
    async with change_account(request, visitor.user.id, "passkey", "recovery_codes") as connection:
        await remove_passkey(connection, visitor.user.id, form.number("passkey"))
        await remove_spare_codes(connection, visitor.user.id)
    log.info("passkey_removed", user_id=visitor.user.id)
    return redirect(request, ACCOUNT, FlashMessage.PASSKEY_REMOVED)


def _require_party(request: Request) -> RelyingParty:
    """Raise NotFound where browsers have no passkeys."""
    return require_found(find_relying_party(services(request).base_url), "Page")


async def _page(request: Request, visitor: Visitor, errors: Errors | None = None, name: str = "") -> Response:
    shared, challenge = services(request), make_challenge()
    party = _require_party(request)
    async with shared.database.connection() as connection:
        existing_passkeys = await list_passkeys(connection, visitor.user.id)
    options = make_creation_options(party, shared.settings.brand, visitor.user, existing_passkeys, challenge)
    state = seal_state(shared.sealing_key, NewPasskey(challenge, int(time.time())), visitor.form_key)
    return render(
        request,
        "passkey_new.html",
        status=422 if errors else 200,
        passkey=PasskeyOffer(options, state),
        name=name,
        errors=errors or {},
    )


ROUTES = [
    Route(PATH, show_new_passkey, methods=["GET"]),
    Route(PATH, post_passkey, methods=["POST"]),
    Route(f"{PATH}/remove", post_remove, methods=["POST"]),
]
