"""`headwater user …`: console users and their Spaces."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.installation import fetch_base_url
from headwater.database.jobs.duties import INSTALLATION
from headwater.operations.terminal.audited import change, note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Noted, Output, Row
from headwater.spaces.accounts import invitations, links, members, users
from headwater.spaces.accounts.passwords import Passwords, check_password
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import User
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.audit.kinds import HIDDEN_VALUE
from headwater.spaces.factors.factors import reset_factors
from headwater.spaces.spaces import fetch_space

ROLE = Option("--role", required=True, choices=("owner", "admin", "viewer"))
EMAIL = Option("--email", required=True, metavar="E")

group = CommandGroup()


@group.command(
    "create",
    "create an account, or give it a Space",
    Option("--name", metavar="N", help="what others see instead of the address"),
    Option("--password-stdin", action="store_true", help="read the password of a new account"),
    ROLE,
    EMAIL,
    SPACE,
    JSON,
)
@prints
async def create_user(settings: Settings, arguments: Namespace) -> Noted:
    """Create an account unless it exists, and make it a member of the Space."""
    role = Role(arguments.role)
    async with transaction(settings) as connection:
        space = await fetch_space(connection, arguments.space)
    context = (settings.brand, arguments.email, arguments.name or "", space.name)
    password_hash = await _read_password_hash(context) if arguments.password_stdin else None
    async with change(settings, arguments, "member", "invitation") as connection:
        user = await users.find_user(connection, arguments.email)
        is_new = user is None
        if user is None:
            if password_hash is None:
                raise Failure("--password-stdin: a new account needs a password")
            name = arguments.name or ""
            user = await users.create_user(connection, arguments.email, password_hash, name)
            audit_change = AuditChange("user", user.id, after={"email": HIDDEN_VALUE})
            await note_change(connection, arguments, audit_change, INSTALLATION)
        await _put_member(connection, arguments.space, user.id, role)
        url = await fetch_base_url(connection, settings)
    row = _describe(user, arguments.space) | {"role": role.value, "created": is_new}
    return Noted(row, f"They log in at {url}/login.")


@group.command("list", "list a Space's members", SPACE, JSON)
@prints
async def list_members(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        rows = await members.list_members(connection, arguments.space)
    return [asdict(member) for member in rows]


@group.command("invite", "create a link to log in with", ROLE, EMAIL, SPACE, JSON)
@prints
async def invite(settings: Settings, arguments: Namespace) -> Row:
    role = Role(arguments.role)
    async with change(settings, arguments, "invitation") as connection:
        space = await fetch_space(connection, arguments.space)
        link, email = await invitations.invite(connection, space.id, arguments.email, role, None)
        url = await fetch_base_url(connection, settings) + link
    return {"url": url, "email": email, "role": role.value}


@group.command("remove", "take a member out of a Space", EMAIL, SPACE, JSON)
@prints
async def remove(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "member", "invitation", "assistant_token") as connection:
        user = await fetch_user(connection, arguments.email)
        await members.remove_member(connection, arguments.space, user.id)
    return _describe(user, arguments.space)


@group.command("reset-link", "create a link for a new password", EMAIL, JSON)
@prints
async def make_reset_link(settings: Settings, arguments: Namespace) -> Row:
    async with transaction(settings) as connection:
        user = await fetch_user(connection, arguments.email)
        link = await links.make_reset_link(connection, user.id)
        await note_change(
            connection, arguments, AuditChange("user", user.id, after={"reset_link": HIDDEN_VALUE})
        )
        url = await fetch_base_url(connection, settings) + link
    return {"url": url, "email": user.email}


@group.command("reset-factors", "remove a user's second factors, and log out their browsers", EMAIL, JSON)
@prints
async def remove_factors(settings: Settings, arguments: Namespace) -> Row:
    """Help a user who lost their phone and recovery codes."""
    async with change(settings, arguments, "authenticator", "passkey", "recovery_codes") as connection:
        user = await fetch_user(connection, arguments.email)
        had_factor = await reset_factors(connection, user.id)
    return {"email": user.email, "had_factor": had_factor}


@group.command("disable", "refuse a user's logins, and end their sessions and tokens", EMAIL, JSON)
@prints
async def disable(settings: Settings, arguments: Namespace) -> Noted:
    """Name the Spaces that are left without an owner who can log in."""
    async with change(settings, arguments, "user") as connection:
        user = await fetch_user(connection, arguments.email)
        ended_logins = await users.disable_user(connection, user)
        ownerless_space_ids = [
            membership.space_id
            for membership in await members.list_joined(connection, user.id)
            if membership.role is Role.OWNER
            and not await members.has_other_owner(connection, membership.space_id, user.id)
        ]
    row = {
        "email": user.email,
        **msgspec.structs.asdict(ended_logins),
        "spaces_without_owner": ownerless_space_ids,
    }
    return Noted(row, "API keys that they know still work. Revoke those in each Space.")


@group.command("enable", "let a disabled user log in again", EMAIL, JSON)
@prints
async def enable(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "user") as connection:
        user = await fetch_user(connection, arguments.email)
        await users.enable_user(connection, user)
    return {"email": user.email}


@group.command(
    "log-out",
    "end the sessions of a user, or of all",
    Option("--email", metavar="E"),
    Option("--all", action="store_true", help="of every user"),
    Option("--revoke-tokens", action="store_true", help="their tokens and connected assistants, too"),
    JSON,
)
@prints
async def log_out(settings: Settings, arguments: Namespace) -> Row:
    if arguments.all == (arguments.email is not None):
        raise Failure("name a user with --email, or use --all")
    async with transaction(settings) as connection:
        if arguments.all:
            user_ids = await users.list_user_ids(connection)
        else:
            user_ids = [(await fetch_user(connection, arguments.email)).id]
        ended_logins = [
            await users.end_logins(connection, user_id, revoke_tokens=arguments.revoke_tokens)
            for user_id in user_ids
        ]
        row = {
            "sessions": sum(logins.sessions for logins in ended_logins),
            "tokens": sum(logins.tokens for logins in ended_logins),
        }
        user_id = "" if arguments.all else user_ids[0]
        await note_change(connection, arguments, AuditChange("user", user_id, after={"ended": row}))
    return row


@group.command("set-up-link", "make a link for the first account", JSON)
@prints
async def make_set_up_link(settings: Settings, arguments: Namespace) -> Row:
    """Create a new set-up link and invalidate the one printed at the start."""
    async with transaction(settings) as connection:
        url = await fetch_base_url(connection, settings)
        link = await links.remake_set_up_link(connection)
        if link is not None:
            await note_change(connection, arguments, AuditChange("user", after={"set_up_link": HIDDEN_VALUE}))
    if link is None:
        raise Failure(
            f"there is an account already; log in at {url}/login, or make a link for a new "
            "password with `headwater user reset-link`"
        )
    return {"url": url + link}


async def fetch_user(connection: AsyncConnection, email: str) -> User:
    """Return a user by e-mail address. Raise Failure."""
    user = await users.find_user(connection, email)
    if user is None:
        raise Failure(f"{email}: there is no such user")
    return user


async def _put_member(connection: AsyncConnection, space_id: int, user_id: int, role: Role) -> None:
    member = await members.fetch_member(connection, space_id, user_id)
    if member is None:
        await members.add_member(connection, space_id, user_id, role)
    elif member.role is not role:
        await members.change_role(connection, space_id, user_id, role)


def _describe(user: User, space_id: int) -> dict[str, Any]:
    return {"id": user.id, "email": user.email, "space_id": space_id}


async def _read_password_hash(context: Iterable[str]) -> str:
    password = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    check_password(password, context)
    return await Passwords().hash(password)
