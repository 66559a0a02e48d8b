"""Invitations to a Space: a link that works once.

The link is the proof, not the address: the membership goes to the logged-in user who opens it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import require_found
from headwater.spaces.accounts.members import add_member
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import read_email
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "invitations.sql")

LIFETIME = timedelta(days=7)
INVITATION_PATH = "/console/join"


@dataclass(frozen=True)
class Invitation:
    id: int
    email: str
    role: Role
    created_at: datetime
    expires_at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))


@dataclass(frozen=True)
class InvitationOffer:
    id: int
    space_id: int
    space_name: str
    email: str
    role: Role

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))


async def invite(
    connection: AsyncConnection, space_id: int, email: str, role: Role, invited_by: int | None
) -> tuple[str, str]:
    """Offer a membership; returns the link's path and the stored address. Ends earlier offers to the address.
    Raises Invalid.
    """
    token, address = secrets.token_urlsafe(32), read_email(email)
    values = {
        "space_id": space_id,
        "email": address,
        "role": role,
        "token_hash": hash_secret(token),
        "invited_by": invited_by,
        "lifetime": LIFETIME,
    }
    await connection.execute(queries["end_earlier"], values)
    await connection.execute(queries["invite"], values)
    return f"{INVITATION_PATH}/{token}", address


async def list_invitations(connection: AsyncConnection, space_id: int) -> list[Invitation]:
    """Return open invitations, oldest first."""
    return await fetch_all(make_cursor(connection, Invitation), queries["list"], {"space_id": space_id})


async def fetch_invitation(connection: AsyncConnection, space_id: int, invitation_id: int) -> Invitation:
    """Raises NotFound."""
    invitations = await list_invitations(connection, space_id)
    return require_found(
        next((invitation for invitation in invitations if invitation.id == invitation_id), None), "Invitation"
    )


async def revoke_invitation(connection: AsyncConnection, space_id: int, invitation_id: int) -> None:
    values = {"space_id": space_id, "invitation_id": invitation_id}
    await connection.execute(queries["revoke"], values)


async def find_offer(connection: AsyncConnection, token: str) -> InvitationOffer | None:
    """Return None for a used, revoked or expired link."""
    values = {"token_hash": hash_secret(token)}
    return await fetch_optional(make_cursor(connection, InvitationOffer), queries["find"], values)


async def accept(connection: AsyncConnection, token: str, user_id: int) -> InvitationOffer:
    """Use the link for this user. Raises NotFound, and MemberRefused for a member."""
    values = {"token_hash": hash_secret(token)}
    offer = require_found(
        await fetch_optional(make_cursor(connection, InvitationOffer), queries["accept"], values),
        "Invitation",
    )
    await add_member(connection, offer.space_id, user_id, offer.role)
    return offer
