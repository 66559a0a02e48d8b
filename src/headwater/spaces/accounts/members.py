"""The members of a Space and their roles. Memberships change under a lock: two owners who leave at once must
not both succeed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import Conflict, NotFound
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import User
from headwater.spaces.spaces import announce_access

queries = Queries(__name__, "members.sql")


class MemberReason(StrEnum):
    LAST_OWNER = "last_owner"
    ALREADY_MEMBER = "already_member"


_MESSAGES = {
    MemberReason.LAST_OWNER: "A Space needs an owner. Make another member an owner first.",
    MemberReason.ALREADY_MEMBER: "This user is a member already.",
}


class MemberRefused(Conflict):
    def __init__(self, reason: MemberReason) -> None:
        super().__init__(_MESSAGES[reason], reason=reason)
        self.reason = reason


@dataclass(frozen=True)
class Member:
    user_id: int
    email: str
    name: str
    role: Role
    created_at: datetime
    is_disabled: bool
    """Whether the operator has disabled the user, who then cannot log in."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))

    @property
    def display_name(self) -> str:
        """The name, or the address of a member without one."""
        return self.name or self.email


@dataclass(frozen=True)
class SpaceMembership:
    space_id: int
    name: str
    role: Role
    active: bool
    require_second_factor: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))


async def list_members(connection: AsyncConnection, space_id: int) -> list[Member]:
    """Return the oldest first."""
    return await fetch_all(make_cursor(connection, Member), queries["list"], {"space_id": space_id})


async def list_joined(connection: AsyncConnection, user_id: int) -> list[SpaceMembership]:
    return await fetch_all(make_cursor(connection, SpaceMembership), queries["joined"], {"user_id": user_id})


async def list_password_context(connection: AsyncConnection, user: User) -> list[str]:
    """Return texts whose words don't make a password safer: the user's address and name, and the names of
    their Spaces.
    """
    memberships = await list_joined(connection, user.id)
    return [user.email, user.name, *(membership.name for membership in memberships)]


async def fetch_member(connection: AsyncConnection, space_id: int, user_id: int) -> Member | None:
    values = {"space_id": space_id, "user_id": user_id}
    return await fetch_optional(make_cursor(connection, Member), queries["fetch"], values)


async def add_member(connection: AsyncConnection, space_id: int, user_id: int, role: Role) -> None:
    """Raises MemberRefused for a member."""
    values = {"space_id": space_id, "user_id": user_id, "role": role}
    if (await connection.execute(queries["add"], values)).rowcount == 0:
        raise MemberRefused(MemberReason.ALREADY_MEMBER)
    await announce_access(connection, space_id)


async def adopt_spaces(connection: AsyncConnection, user_id: int) -> list[int]:
    """Make the first user the owner of every existing Space. Return their ids."""
    cursor = await connection.execute(queries["adopt"], {"user_id": user_id})
    return [space_id for (space_id,) in await cursor.fetchall()]


async def change_role(connection: AsyncConnection, space_id: int, user_id: int, role: Role) -> None:
    """Change a member's role. Viewers cannot invite, so the open invitations of a new viewer end. Raises
    NotFound, MemberRefused.
    """
    await _take(connection, space_id, user_id, keeps_owner=role is Role.OWNER)
    values = {"space_id": space_id, "user_id": user_id, "role": role}
    await connection.execute(queries["change_role"], values)
    if role is not Role.OWNER:
        await connection.execute(queries["end_invitations"], values)
    await announce_access(connection, space_id)


async def remove_member(connection: AsyncConnection, space_id: int, user_id: int) -> None:
    """Remove the member's tokens, codes and sent invitations for this Space too. Raises NotFound,
    MemberRefused.
    """
    await _take(connection, space_id, user_id, keeps_owner=False)
    values = {"space_id": space_id, "user_id": user_id}
    for statement in ("remove", "revoke_tokens", "end_codes", "end_invitations"):
        await connection.execute(queries[statement], values)
    await announce_access(connection, space_id)


async def has_other_owner(connection: AsyncConnection, space_id: int, user_id: int) -> bool:
    """Return whether a Space has an owner besides this user who can log in."""
    return any(
        member.role is Role.OWNER and member.user_id != user_id and not member.is_disabled
        for member in await list_members(connection, space_id)
    )


async def lock_members(connection: AsyncConnection, space_id: int) -> dict[int, Role]:
    cursor = await connection.execute(queries["lock"], {"space_id": space_id})
    return {user_id: Role(role) for user_id, role in await cursor.fetchall()}


async def _take(connection: AsyncConnection, space_id: int, user_id: int, *, keeps_owner: bool) -> None:
    """Raises NotFound, MemberRefused."""
    roles = await lock_members(connection, space_id)
    if user_id not in roles:
        raise NotFound("Member")
    if roles[user_id] is not Role.OWNER or keeps_owner:
        return
    if not await has_other_owner(connection, space_id, user_id):
        raise MemberRefused(MemberReason.LAST_OWNER)
