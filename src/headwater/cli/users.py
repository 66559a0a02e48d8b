"""`headwater user …` and `headwater pat …`: people who may log in, and their tokens."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from psycopg import AsyncConnection

from headwater.accounts import invitations, links, members, tokens, users
from headwater.accounts.passwords import Passwords, check_password
from headwater.accounts.roles import Role
from headwater.accounts.users import User
from headwater.database.installation import with_service_addresses
from headwater.settings import Settings
from headwater.spaces.spaces import fetch_space
from headwater.terminal.connection import in_transaction, told
from headwater.terminal.failure import Failure
from headwater.terminal.output import show


def create(settings: Settings, arguments: Namespace) -> int:
    """Make an account unless there is one, and a member of the Space."""
    password_hash = _read_password(settings) if arguments.password_stdin else None
    role = Role(arguments.role)

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        await fetch_space(connection, arguments.space)
        user = await users.find_user(connection, arguments.email)
        created = user is None
        if user is None:
            if password_hash is None:
                raise Failure("--password-stdin: a new account needs a password")
            name = arguments.name or ""
            user = await users.create_user(connection, arguments.email, password_hash, name)
        await _put_member(connection, arguments.space, user.id, role)
        ids = {"id": user.id, "email": user.email, "space_id": arguments.space}
        return ids | {"role": role.value, "created": created}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def list_all(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[members.Member]:
        await fetch_space(connection, arguments.space)
        return await members.list_members(connection, arguments.space)

    rows = [asdict(member) for member in in_transaction(settings, act)]
    show(rows, as_json=arguments.json)
    return 0


def invite(settings: Settings, arguments: Namespace) -> int:
    role = Role(arguments.role)

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        space = await fetch_space(connection, arguments.space)
        link, email = await invitations.invite(connection, space.id, arguments.email, role, None)
        url = await _link(connection, settings, link)
        return {"url": url, "email": email, "role": role.value}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def remove(settings: Settings, arguments: Namespace) -> int:
    """Take a member out of the Space; the account stays."""

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        user = await _find(connection, arguments.email)
        await members.remove_member(connection, arguments.space, user.id)
        return {"id": user.id, "email": user.email, "space_id": arguments.space}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def reset_link(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        user = await _find(connection, arguments.email)
        link = await links.make_reset_link(connection, user.id)
        return {"url": await _link(connection, settings, link), "email": user.email}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def create_token(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        user = await _find(connection, arguments.user)
        new = tokens.NewToken(user.id, "personal", arguments.name)
        token, token_id = await tokens.issue_token(connection, arguments.space, new)
        return {"token": token, "id": token_id, "name": new.name.strip(), "user": user.email}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def list_tokens(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[tokens.StoredToken]:
        await fetch_space(connection, arguments.space)
        return await tokens.list_tokens(connection, arguments.space)

    rows = [asdict(token) for token in in_transaction(settings, act)]
    for row in rows:
        row["user"] = row.pop("owner")["email"]
    show(rows, as_json=arguments.json)
    return 0


def revoke_token(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        await tokens.revoke_token(connection, arguments.space, arguments.token_id)
        return {"id": arguments.token_id, "revoked": True}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


async def _put_member(connection: AsyncConnection, space_id: int, user_id: int, role: Role) -> None:
    member = await members.fetch_member(connection, space_id, user_id)
    if member is None:
        await members.add_member(connection, space_id, user_id, role)
    elif member.role is not role:
        await members.change_role(connection, space_id, user_id, role)


async def _find(connection: AsyncConnection, email: str) -> User:
    user = await users.find_user(connection, email)
    if user is None:
        raise Failure(f"{email}: there is no such user")
    return user


def _read_password(settings: Settings) -> str:
    """The hash of the first line of standard input."""
    password = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    with told(settings):
        check_password(password)
    return asyncio.run(Passwords().hash(password))


async def _link(connection: AsyncConnection, settings: Settings, path: str) -> str:
    service = await with_service_addresses(connection, settings)
    return f"{service.base_url}{path}"
