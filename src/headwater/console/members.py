"""The page of a Space's members: invite, change roles, remove, leave."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, read_space_id, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid, NotFound
from headwater.spaces.accounts import invitations, members
from headwater.spaces.accounts.members import Member, MemberRefused
from headwater.spaces.accounts.roles import Permission, Role, managing
from headwater.spaces.keys import list_keys, revoke_keys_made_by

ROLES = {
    Role.OWNER: "everything, owners included",
    Role.ADMIN: "settings, keys, members and data",
    Role.VIEWER: "sees everything, changes nothing",
}


async def show_members(request: Request) -> Response:
    """Show the members and the open invitations."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(connection, request, inside)


async def post_invite(request: Request) -> Response:
    """Offer a membership; the link is shown this once."""
    form = await _read(request, "invite")
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside = await _manage(connection, request)
        try:
            role = read_role(form)
            inside.require(managing(role))
            link, email = await invitations.invite(
                connection, inside.space.id, form.text("email"), role, inside.visitor.user.id
            )
        except Invalid as error:
            typed = {"email": form.text("email"), "role": form.text("role")}
            return await _page(connection, request, inside, errors=error.errors, typed=typed, status=422)
        made = {"link": shared.base_url + link, "email": email, "role": role}
        return await _page(connection, request, inside, made=made)


async def post_role(request: Request) -> Response:
    """Give a member another role."""
    form = await _read(request, "role")
    async with services(request).database.transaction() as connection:
        inside = await _manage(connection, request)
        role = read_role(form)
        member = await _member(connection, inside, form)
        inside.require(managing(member.role))
        inside.require(managing(role))
        if role is member.role:
            return _back(request, FlashMessage.NOTHING_CHANGED)
        try:
            await members.change_role(connection, inside.space.id, member.user_id, role)
        except MemberRefused as refused:
            return await _page(connection, request, inside, problem=refused.message, status=409)
    return _back(request, FlashMessage.ROLE_CHANGED)


async def post_remove(request: Request) -> Response:
    """Take a member out; everybody may take themselves out."""
    visitor = await require_visitor(request)
    form = await _read(request, "remove")
    async with services(request).database.transaction() as connection:
        await members.lock_members(connection, read_space_id(request))
        inside = await enter(connection, request, visitor)
        member = await _member(connection, inside, form)
        leaves = member.user_id == inside.visitor.user.id
        if not leaves:
            inside.require(managing(member.role))
        try:
            await members.remove_member(connection, inside.space.id, member.user_id)
            if form.text("revoke_keys"):
                inside.require(Permission.MANAGE_KEYS)
                await revoke_keys_made_by(connection, inside.space.id, member.user_id)
        except MemberRefused as refused:
            return await _page(connection, request, inside, problem=refused.message, status=409)
    return (
        redirect(request, HOME, FlashMessage.LEFT) if leaves else _back(request, FlashMessage.MEMBER_REMOVED)
    )


async def post_uninvite(request: Request) -> Response:
    """Take an invitation back."""
    form = await _read(request, "uninvite")
    async with services(request).database.transaction() as connection:
        inside = await _manage(connection, request)
        number = form.number("invitation")
        invitation = await invitations.fetch_invitation(connection, inside.space.id, number)
        inside.require(managing(invitation.role))
        await invitations.revoke_invitation(connection, inside.space.id, number)
    return _back(request, FlashMessage.INVITATION_REVOKED)


def read_role(form: PostedForm) -> Role:
    """Read the role that a form names. Raises Invalid."""
    try:
        return Role(form.text("role"))
    except ValueError:
        raise Invalid.of("role", f"must be one of {', '.join(Role)}.") from None


async def _read(request: Request, form: str) -> PostedForm:
    visitor = await require_visitor(request)
    return await read_form(request, visitor.form_key, form)


async def _manage(connection: AsyncConnection, request: Request) -> SpaceVisitor:
    """The visitor, whose role nobody else changes while this transaction lasts."""
    visitor = await require_visitor(request)  # known since the form was read
    await members.lock_members(connection, read_space_id(request))
    return await enter(connection, request, visitor, Permission.MANAGE_MEMBERS)


async def _member(connection: AsyncConnection, inside: SpaceVisitor, form: PostedForm) -> Member:
    number = form.number("member")
    member = await members.fetch_member(connection, inside.space.id, number)
    if member is None:
        raise NotFound("Member")
    return member


async def _page(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, *, status: int = 200, **values: Any
) -> Response:
    listed = await members.list_members(connection, inside.space.id)
    offers = await invitations.list_invitations(connection, inside.space.id)
    keys: dict[int | None, list[str]] = {}
    for key in await list_keys(connection, inside.space.id):
        if key.revoked_at is None:
            keys.setdefault(key.made_by, []).append(key.name)
    common: dict[str, Any] = {
        "members": [
            {
                **asdict(member),
                "keys": keys.get(member.user_id, []) if inside.may(Permission.MANAGE_KEYS) else [],
                "display_name": member.display_name,
                "self": member.user_id == inside.visitor.user.id,
                "managed": inside.may(managing(member.role)),
            }
            for member in listed
        ],
        "invitations": [{**asdict(offer), "managed": inside.may(managing(offer.role))} for offer in offers],
        "roles": {role: about for role, about in ROLES.items() if inside.may(managing(role))},
        "typed": {"email": "", "role": Role.VIEWER},
        "made": None,
        "problem": None,
    }
    return render(request, "members.html", status=status, **(common | values))


def _back(request: Request, message: FlashMessage) -> Response:
    return redirect(request, f"{HOME}/spaces/{read_space_id(request)}/members", message)


_PATH = f"{HOME}/spaces/{{space_id}}/members"
ROUTES = [
    Route(_PATH, show_members, methods=["GET"]),
    Route(f"{_PATH}/invite", post_invite, methods=["POST"]),
    Route(f"{_PATH}/role", post_role, methods=["POST"]),
    Route(f"{_PATH}/remove", post_remove, methods=["POST"]),
    Route(f"{_PATH}/uninvite", post_uninvite, methods=["POST"]),
]
