"""Invite, change roles, remove, leave."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from starlette.responses import Response

from headwater.base.dates import format_day
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.list_page import read_list_page
from headwater.console.pages import redirect
from headwater.console.visitor import HOME
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    read_form_problem,
)
from headwater.http.errors import Invalid, require_found
from headwater.spaces.accounts import invitations, members
from headwater.spaces.accounts.members import Member
from headwater.spaces.accounts.roles import Permission, Role, managing
from headwater.spaces.accounts.users import read_email
from headwater.spaces.keys import ApiKey, list_keys, revoke_keys_made_by
from headwater.spaces.sso.providers import list_providers

ROUTES = SpacePages("/members")

ROLES = {
    Role.OWNER: "everything, owners included",
    Role.ADMIN: "settings, keys, members and data",
    Role.VIEWER: "read-only access",
}


@ROUTES.page()
async def show_members(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    listed_members = read_list_page(
        visit.request,
        await members.list_members(visit.connection, visit.space.id),
        lambda member: f"{member.name} {member.email}",
    )
    offers = read_list_page(
        visit.request,
        await invitations.list_invitations(visit.connection, visit.space.id),
        lambda offer: offer.email,
        "invited",
    )
    keys: dict[int | None, list[str]] = {}
    for key in await list_keys(visit.connection, visit.space.id):
        if key.find_end(datetime.now(UTC)) is None:
            keys.setdefault(key.made_by, []).append(_describe_key(key, visit.space.zone))
    providers = await list_providers(visit.connection) if visit.inside.may(Permission.MANAGE_OWNERS) else []
    common: dict[str, Any] = {
        "providers": [
            (provider, [rule for rule in provider.settings.rules if rule.space_id == visit.space.id])
            for provider in providers
        ],
        "listed_members": listed_members,
        "members": [
            {
                **asdict(member),
                "keys": keys.get(member.user_id, []) if visit.inside.may(Permission.MANAGE_KEYS) else [],
                "display_name": member.display_name,
                "self": member.user_id == visit.user_id,
                "managed": visit.inside.may(managing(member.role)),
            }
            for member in listed_members.rows
        ],
        "offers": offers,
        "invitations": [
            {**asdict(offer), "managed": visit.inside.may(managing(offer.role))} for offer in offers.rows
        ],
        "roles": {
            role: description for role, description in ROLES.items() if visit.inside.may(managing(role))
        },
        "typed": {"email": "", "role": Role.VIEWER},
        "made": None,
        "problem": None,
    }
    return visit.render("members.html", common | values, status)


async def _refuse_invitation(visit: PageVisit, refusal: Refusal) -> Response:
    typed, errors = visit.typed("email", "role"), list_form_errors(refusal)
    return await show_members(visit, refusal.status, typed=typed, errors=errors)


async def _refuse_change(visit: PageVisit, refusal: Refusal) -> Response:
    return await show_members(visit, refusal.status, problem=read_form_problem(refusal))


def _managing_form(name: str, permission: Permission = Permission.MANAGE_MEMBERS) -> SentForm:
    """Lock the sender's role until the transaction ends."""
    return SentForm(
        name,
        permission,
        lock=members.lock_members,
        is_dangerous=True,
        changes=("member", "invitation", "api_key", "assistant_token"),
    )


@ROUTES.action("/invite", _managing_form("invite"), _refuse_invitation)
async def post_invite(visit: PageVisit) -> Response:
    """Show the invitation's link once."""
    role = read_role(visit.form)
    visit.inside.require(managing(role))
    email = read_email(visit.form.text("email"))
    for earlier in await invitations.list_invitations(visit.connection, visit.space.id):
        if earlier.email == email:  # the new invitation ends it
            visit.inside.require(managing(earlier.role))
    link, email = await invitations.invite(visit.connection, visit.space.id, email, role, visit.user_id)
    invitation = {"link": visit.services.base_url + link, "email": email, "role": role}
    return await show_members(visit, made=invitation)


@ROUTES.action("/role", _managing_form("role"), conflict=_refuse_change)
async def post_role(visit: PageVisit) -> FlashMessage:
    role = read_role(visit.form)
    member = await _fetch_member(visit)
    visit.inside.require(managing(member.role))
    visit.inside.require(managing(role))
    if role is member.role:
        return FlashMessage.NOTHING_CHANGED
    await members.change_role(visit.connection, visit.space.id, member.user_id, role)
    return FlashMessage.ROLE_CHANGED


@ROUTES.action("/remove", _managing_form("remove", Permission.READ), conflict=_refuse_change)
async def post_remove(visit: PageVisit) -> Response | FlashMessage:
    member = await _fetch_member(visit)
    is_leaving = member.user_id == visit.user_id
    if not is_leaving:
        visit.inside.require(managing(member.role))
    await members.remove_member(visit.connection, visit.space.id, member.user_id)
    if visit.form.text("revoke_keys"):
        visit.inside.require(Permission.MANAGE_KEYS)
        await revoke_keys_made_by(visit.connection, visit.space.id, member.user_id)
    return redirect(visit.request, HOME, FlashMessage.LEFT) if is_leaving else FlashMessage.MEMBER_REMOVED


@ROUTES.action("/uninvite", _managing_form("uninvite"))
async def post_uninvite(visit: PageVisit) -> FlashMessage:
    number = visit.form.number("invitation")
    invitation = await invitations.fetch_invitation(visit.connection, visit.space.id, number)
    visit.inside.require(managing(invitation.role))
    await invitations.revoke_invitation(visit.connection, visit.space.id, number)
    return FlashMessage.INVITATION_REVOKED


def read_role(form: PostedForm) -> Role:
    """Raise Invalid for bad input."""
    try:
        return Role(form.text("role"))
    except ValueError:
        raise Invalid.of("role", f"must be one of {', '.join(Role)}.") from None


async def _fetch_member(visit: PageVisit) -> Member:
    number = visit.form.number("member")
    return require_found(await members.fetch_member(visit.connection, visit.space.id, number), "Member")


def _describe_key(key: ApiKey, zone: ZoneInfo) -> str:
    if key.last_used_at is None:
        return f"{key.name} (never used)"
    return f"{key.name} (last used {format_day(key.last_used_at.astimezone(zone))})"
