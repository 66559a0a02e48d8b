"""The users behind providers' accounts: linked by provider and subject, created by verified e-mail address,
and given the roles of their groups.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import structlog
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_optional
from headwater.http.errors import Invalid
from headwater.spaces.accounts.members import (
    MemberRefused,
    add_member,
    change_role,
    fetch_member,
    lock_members,
    remove_member,
)
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import (
    MAX_NAME,
    User,
    create_user,
    fetch_user,
    find_user,
    read_email,
    read_label,
)
from headwater.spaces.sso.providers import ProviderSettings, RoleRule, SsoProvider, list_password_users
from headwater.spaces.sso.refusals import SsoReason, SsoRefused

queries = Queries(__name__, "identities.sql")

_TRUE = (True, "true", 1, "1")
"""How providers write that an address is verified."""
_RANKS = tuple(Role)

log = structlog.get_logger()


class SsoAccount(Struct, frozen=True):
    """A person as the provider describes them."""

    subject: str
    email: str
    name: str
    groups: frozenset[str]


class GrantedRole(Struct, frozen=True):
    """The role that a person should have in a Space; None for no membership."""

    role: Role | None
    follows_groups: bool
    """False if it is only for new users."""


def read_account(settings: ProviderSettings, claims: Mapping[str, Any]) -> SsoAccount:
    """Check the claims of a verified token. Raise SsoRefused."""
    for claim, value in settings.required.items():
        if value not in _list_texts(claims.get(claim)):
            raise SsoRefused(SsoReason.REQUIRED_CLAIM)
    try:
        email = read_email(cast("str", claims.get("email") if isinstance(claims.get("email"), str) else ""))
    except Invalid:
        raise SsoRefused(SsoReason.NO_EMAIL) from None
    if claims.get(settings.verified_claim) not in _TRUE:
        raise SsoRefused(SsoReason.EMAIL_NOT_VERIFIED)
    if email.rpartition("@")[2] not in settings.domains:
        raise SsoRefused(SsoReason.DOMAIN)
    groups = frozenset(_list_texts(claims.get(settings.groups_claim)))
    return SsoAccount(claims["sub"], email, _read_name(claims.get("name")), groups)


def find_roles(rules: Sequence[RoleRule], groups: Collection[str]) -> dict[int, GrantedRole]:
    """Return the role for each Space of the rules: the highest that applies."""
    role_by_space: dict[int, GrantedRole] = {}
    for space_id in sorted({rule.space_id for rule in rules}):
        space_rules = [rule for rule in rules if rule.space_id == space_id]
        roles = [rule.role for rule in space_rules if rule.group is None or rule.group in groups]
        role = min(roles, key=_RANKS.index, default=None)
        role_by_space[space_id] = GrantedRole(role, any(rule.group is not None for rule in space_rules))
    return role_by_space


class Admission(Struct, frozen=True):
    user: User
    is_new: bool
    is_linked: bool
    """Whether the provider's account is linked since now."""


Record = Callable[[int, int], AbstractAsyncContextManager[object]]
"""Record what a block changes of a user's membership in a Space."""


async def admit(
    connection: AsyncConnection,
    provider: SsoProvider,
    account: SsoAccount,
    record: Record,
    logged_in: int | None = None,
) -> Admission:
    """Admit the account's user, linked or created if new, with the roles of their groups. `logged_in` is the
    user of the browser's session. Raise SsoRefused.
    """
    link = {"provider": provider.name, "subject": account.subject}
    await connection.execute(queries["alone"], link)
    row = await fetch_optional(connection, queries["use"], link)
    is_new = False
    if row is not None:
        user = await fetch_user(connection, row[0])
    else:
        existing_user = await find_user(connection, account.email)
        is_new = existing_user is None
        if existing_user is not None:
            await _require_linkable(connection, provider.name, existing_user, logged_in)
        user = existing_user or await create_user(connection, account.email, None, account.name)
        await connection.execute(queries["link"], {**link, "user_id": user.id})
    if user.disabled_at is not None:
        raise SsoRefused(SsoReason.ACCOUNT_DISABLED)
    for space_id, granted_role in find_roles(provider.settings.rules, account.groups).items():
        if granted_role.follows_groups or is_new:
            await _put_role(connection, space_id, user.id, granted_role.role, record)
    return Admission(user, is_new, row is None)


async def _require_linkable(
    connection: AsyncConnection, provider: str, user: User, logged_in: int | None
) -> None:
    """Raise SsoRefused for a user with another account of the provider, and for one who can log in with a
    password but has not: another person may have made the user, because invitations verify no address, and
    would share whatever the account's owner gets.
    """
    if provider in await list_linked_providers(connection, user.id):
        raise SsoRefused(SsoReason.LINKED_TO_ANOTHER)
    if user.id == logged_in:
        return
    password_users = [user_id for user_id, _ in await list_password_users(connection)]
    if user.password_hash is not None and (not password_users or user.id in password_users):
        raise SsoRefused(SsoReason.PASSWORD_FIRST)


async def list_linked_providers(connection: AsyncConnection, user_id: int) -> frozenset[str]:
    """Return the names of the providers with an account of the user."""
    cursor = await connection.execute(queries["linked"], {"user_id": user_id})
    return frozenset(name for (name,) in await cursor.fetchall())


async def unlink(connection: AsyncConnection, provider: str, user_id: int) -> bool:
    """Forget which account of the provider is a user's. Return False without a link."""
    values = {"provider": provider, "user_id": user_id}
    return (await connection.execute(queries["unlink"], values)).rowcount > 0


async def find_linked_user(connection: AsyncConnection, provider: str, subject: str) -> int | None:
    row = await fetch_optional(connection, queries["find"], {"provider": provider, "subject": subject})
    return None if row is None else row[0]


async def _put_role(
    connection: AsyncConnection, space_id: int, user_id: int, role: Role | None, record: Record
) -> None:
    """Set the membership; the last owner of a Space stays one."""
    member = await fetch_member(connection, space_id, user_id)
    if role is (member.role if member else None):
        return
    await lock_members(connection, space_id)  # before the audit log's lock: forms lock in this order
    try:
        async with record(user_id, space_id):
            if member is None and role is not None:
                await add_member(connection, space_id, user_id, role)
            elif role is None:
                await remove_member(connection, space_id, user_id)
            else:
                await change_role(connection, space_id, user_id, role)
    except MemberRefused as refusal:
        log.warning("sso_role_kept", space_id=space_id, user_id=user_id, reason=refusal.reason)


def _read_name(value: Any) -> str:
    """Return a name that can be shown, or an empty string."""
    try:
        return read_label("name", value[: MAX_NAME + 1]) if isinstance(value, str) else ""
    except Invalid:
        return ""


def _list_texts(value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str)]
