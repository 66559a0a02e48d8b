"""Pages of one-time links: first account, new password, invitation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.attribution.trained_models.nightly_runs import PURCHASE, start_automatic_training
from headwater.console.audited import change_account, make_action
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form, without_keys
from headwater.console.login import load_login_ways, replace_session
from headwater.console.pages import redirect, refuse_link, render
from headwater.console.visitor import HOME, LOGIN, SeeOther, Visitor, find_visitor, guest_key, log_in
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid, NotFound
from headwater.spaces.accounts import invitations, links
from headwater.spaces.accounts.invitations import InvitationOffer
from headwater.spaces.accounts.members import MemberRefused, add_member, adopt_spaces, list_password_context
from headwater.spaces.accounts.passwords import check_password
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import (
    EmailTaken,
    User,
    change_password,
    create_user,
    fetch_user,
    read_email,
)
from headwater.spaces.audit.entries import AuditChange, add_entry
from headwater.spaces.audit.kinds import HIDDEN_VALUE
from headwater.spaces.audit.subjects import recording
from headwater.spaces.settings_input import read_changes, zone_names
from headwater.spaces.spaces import any_space, create_space


def check_new_account(request: Request, form: PostedForm, space_name: str) -> Errors:
    errors: Errors = {}
    email, brand = form.text("email"), services(request).settings.brand
    try:
        read_email(email)
    except Invalid as error:
        errors.update(error.errors)
    try:
        check_password(form.text("password"), (brand, email, form.text("name"), space_name))
    except Invalid as error:
        errors.update(error.errors)
    return errors


async def show_set_up(request: Request) -> Response:
    """Show the form for the first account, and for the first Space if none exists."""
    token = request.path_params["token"]
    async with services(request).database.connection() as connection:
        if not await links.set_up_link_works(connection, token):
            return _refuse_link(request)
        needs_space = not await any_space(connection)
    guest_key(request)
    return _set_up_page(request, None, {}, needs_space=needs_space)


async def post_set_up(request: Request) -> Response:
    """Create the owner of a new Space or of all existing ones."""
    form = await read_form(request, guest_key(request), "set-up")
    before = await find_visitor(request)
    shared = services(request)
    token = request.path_params["token"]
    async with shared.database.connection() as connection:
        if not await links.set_up_link_works(connection, token):
            return _refuse_link(request)
        needs_space = not await any_space(connection)
    errors = check_new_account(request, form, form.text("space_name"))
    if needs_space:
        errors |= _check_space(form)
    if errors:
        return _set_up_page(request, form, errors, needs_space=needs_space, status=422)
    password_hash = await shared.passwords.hash(form.text("password"))
    try:
        async with shared.database.transaction() as connection:
            if not await links.use_set_up_link(connection, token):
                return _refuse_link(request)
            name = form.text("name")
            user = await create_user(connection, form.text("email"), password_hash, name)
            for space_id in await _give_spaces(connection, user, form):
                change = AuditChange("member", user.id, after={"role": Role.OWNER})
                await add_entry(connection, make_action(request, user.id, space_id), [change])
            session = await _begin_first_session(connection, request, user, before)
    except Invalid as error:
        return _set_up_page(request, form, error.errors, needs_space=needs_space, status=422)
    response = redirect(request, HOME, FlashMessage.SET_UP)
    log_in(request, response, session)
    return response


async def _give_spaces(connection: AsyncConnection, user: User, form: PostedForm) -> list[int]:
    """Return the ids of the user's Spaces."""
    if await any_space(connection):
        return await adopt_spaces(connection, user.id)
    space = await create_space(connection, read_changes(_space_values(form)))
    await start_automatic_training(connection, space, PURCHASE, datetime.now(UTC))
    await add_member(connection, space.id, user.id, Role.OWNER)
    return [space.id]


async def _begin_first_session(
    connection: AsyncConnection, request: Request, user: User, visitor: Visitor | None
) -> str:
    """Return the token of a new user's session, and record both."""
    token, session_changes = await replace_session(connection, request, user, visitor)
    user_change = AuditChange("user", user.id, after={"email": HIDDEN_VALUE})
    await add_entry(connection, make_action(request, user.id), [user_change, *session_changes])
    return token


def _space_values(form: PostedForm) -> dict[str, str]:
    return {
        "name": form.text("space_name"),
        "timezone": form.text("timezone"),
        "currency": form.text("currency"),
    }


def _check_space(form: PostedForm) -> Errors:
    try:
        read_changes(_space_values(form))
    except Invalid as error:
        errors = without_keys(error.errors)
        return {"space_name" if key == "name" else key: rules for key, rules in errors.items()}
    return {}


def _set_up_page(
    request: Request, form: PostedForm | None, errors: Errors, *, needs_space: bool, status: int = 200
) -> Response:
    names = ("email", "name", "space_name", "timezone", "currency")
    typed = {name: form.text(name) if form else "" for name in names}
    zones = sorted(zone_names())
    return render(
        request,
        "set_up.html",
        status=status,
        typed=typed,
        errors=errors,
        needs_space=needs_space,
        zones=zones,
    )


async def show_reset(request: Request) -> Response:
    user = await _find_reset_user(request)
    if user is None:
        return _refuse_link(request)
    guest_key(request)
    return render(request, "reset.html", email=user.email)


async def post_reset(request: Request) -> Response:
    """Change the password and log out every browser of the account."""
    form = await read_form(request, guest_key(request), "reset")
    user = await _find_reset_user(request)
    if user is None:
        return _refuse_link(request)
    shared = services(request)
    async with shared.database.connection() as connection:
        context = await list_password_context(connection, user)
    try:
        check_password(form.text("password"), (shared.settings.brand, *context))
    except Invalid as error:
        return render(request, "reset.html", status=422, errors=error.errors, email=user.email)
    password_hash = await shared.passwords.hash(form.text("password"))
    async with change_account(request, user.id, "user", "session") as connection:
        if await links.use_reset_link(connection, request.path_params["token"]) is None:
            return _refuse_link(request)
        await change_password(connection, user.id, password_hash, revoke_tokens=True)
    return redirect(request, LOGIN, FlashMessage.PASSWORD_CHOSEN)


async def _find_reset_user(request: Request) -> User | None:
    async with services(request).database.connection() as connection:
        user_id = await links.find_reset_link(connection, request.path_params["token"])
        return None if user_id is None else await fetch_user(connection, user_id)


async def show_join(request: Request) -> Response:
    """Accept an invitation as the logged-in user or with a new account."""
    visitor = await find_visitor(request)
    offer = await _offer(request)
    if offer is None:
        return _refuse_link(request)
    await _require_password_accounts(request, visitor)
    return _join_page(request, offer)


async def post_join(request: Request) -> Response:
    visitor = await find_visitor(request)
    key = visitor.form_key if visitor else guest_key(request)
    form = await read_form(request, key, "join")
    offer = await _offer(request)
    if offer is None:
        return _refuse_link(request)
    await _require_password_accounts(request, visitor)
    try:
        if visitor is None:
            return await _join_with_new_account(request, form, offer)
        async with services(request).database.transaction() as connection:
            await _accept(connection, request, visitor.user, offer.space_id)
    except (EmailTaken, MemberRefused) as error:
        return _join_page(request, offer, form, {"email": [error.message]}, status=409)
    except NotFound:
        return _refuse_link(request)
    return redirect(request, f"{HOME}/spaces/{offer.space_id}", FlashMessage.JOINED)


async def _require_password_accounts(request: Request, visitor: Visitor | None) -> None:
    """Raise SeeOther to the login if a new account must be one of single sign-on."""
    if visitor is not None:
        return
    async with services(request).database.connection() as connection:
        ways = await load_login_ways(connection)
    if ways.password_users:
        raise SeeOther(f"{LOGIN}?next={quote(request.url.path, safe='/')}")


async def _join_with_new_account(request: Request, form: PostedForm, offer: InvitationOffer) -> Response:
    """Raise EmailTaken, NotFound."""
    errors = check_new_account(request, form, offer.space_name)
    if errors:
        return _join_page(request, offer, form, errors, status=422)
    shared = services(request)
    password_hash = await shared.passwords.hash(form.text("password"))
    try:
        async with shared.database.transaction() as connection:
            name = form.text("name")
            user = await create_user(connection, form.text("email"), password_hash, name)
            await _accept(connection, request, user, offer.space_id)
            session = await _begin_first_session(connection, request, user, None)
    except Invalid as error:
        return _join_page(request, offer, form, error.errors, status=422)
    response = redirect(request, f"{HOME}/spaces/{offer.space_id}", FlashMessage.JOINED)
    log_in(request, response, session)
    return response


async def _accept(connection: AsyncConnection, request: Request, user: User, space_id: int) -> None:
    action = make_action(request, user.id, space_id)
    async with recording(connection, action, ("member", "invitation")):
        await invitations.accept(connection, request.path_params["token"], user.id)


async def _offer(request: Request) -> InvitationOffer | None:
    async with services(request).database.connection() as connection:
        return await invitations.find_offer(connection, request.path_params["token"])


def _join_page(
    request: Request,
    offer: InvitationOffer,
    form: PostedForm | None = None,
    errors: Errors | None = None,
    status: int = 200,
) -> Response:
    typed: dict[str, Any] = {"email": offer.email, "name": ""}
    if form is not None:
        typed = {name: form.text(name) for name in typed}
    return render(request, "join.html", status=status, offer=offer, typed=typed, errors=errors or {})


def _refuse_link(request: Request) -> Response:
    """Answer the same for used, expired and unknown links."""
    return refuse_link(request, "It was already used, has expired or was revoked.")


_PAGES = (
    (f"{links.SET_UP_PATH}/{{token}}", show_set_up, post_set_up),
    (f"{links.RESET_PATH}/{{token}}", show_reset, post_reset),
    (f"{invitations.INVITATION_PATH}/{{token}}", show_join, post_join),
)
ROUTES = [
    Route(path, endpoint, methods=[method])
    for path, show, post in _PAGES
    for method, endpoint in (("GET", show), ("POST", post))
]
