"""MCP tokens of assistants and scripts, issued by the authorization server or created by hand. Only their
hashes are stored.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Conflict, NotFound, require_any
from headwater.spaces.accounts.members import lock_members
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import read_label
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "tokens.sql")

PREFIX = "trk_mcp_"
MAX_TOKENS = 25
MAX_OF_A_VIEWER = 5
"""The limit for a viewer, who cannot revoke the tokens of other members."""
Kind = Literal["oauth", "personal"]


class TooManyTokens(Conflict):
    def __init__(self, holder: str = "The Space has", limit: int = MAX_TOKENS) -> None:
        super().__init__(f"{holder} {limit} tokens, the maximum: revoke one first.")


class NewToken(Struct, frozen=True):
    user_id: int
    kind: Kind
    name: str
    client_id: str | None = None
    lifetime: timedelta | None = None
    """None: it never expires."""
    read_only: bool = False
    """Whether it has a viewer's permissions only."""


@dataclass(frozen=True)
class TokenOwner:
    user_id: int
    email: str
    name: str

    @property
    def display_name(self) -> str:
        """The name, or the address of a user without one."""
        return self.name or self.email


@dataclass(frozen=True)
class StoredToken:
    id: int
    kind: Kind
    name: str
    client_id: str | None
    read_only: bool
    hint: str
    owner: TokenOwner
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


class OwnToken(Struct, frozen=True):
    space_id: int
    space_name: str
    name: str
    hint: str
    created_at: datetime
    last_used_at: datetime | None


class Bearer(Struct, frozen=True):
    """The user, Space and current role of a token."""

    space_id: int
    user_id: int
    role: Role
    active: bool
    token_id: int
    kind: Kind
    client_id: str | None
    name: str


async def issue_token(connection: AsyncConnection, space_id: int, new: NewToken) -> tuple[str, int]:
    """Create a token, and return it with its id. Raises TooManyTokens, Invalid for its name, NotFound without
    a membership.
    """
    name = read_label("name", new.name)
    # The lock keeps the count and the membership valid during concurrent changes.
    roles = await lock_members(connection, space_id)
    if new.user_id not in roles:
        raise NotFound("Member")
    token = PREFIX + secrets.token_urlsafe(32)
    values = {
        "space_id": space_id,
        "user_id": new.user_id,
        "kind": new.kind,
        "name": name,
        "client_id": new.client_id,
        "token_hash": hash_secret(token),
        "hint": token[-4:],
        "lifetime": new.lifetime,
        "read_only": new.read_only,
    }
    if await count_tokens(connection, space_id) >= MAX_TOKENS:
        raise TooManyTokens
    if roles[new.user_id] is Role.VIEWER:
        row = await fetch_optional(connection, queries["count_of_user"], values)
        if row is not None and row[0] >= MAX_OF_A_VIEWER:
            raise TooManyTokens("A viewer has", MAX_OF_A_VIEWER)
    row = await fetch_one(connection, queries["issue"], values)
    return token, row[0]


async def count_tokens(connection: AsyncConnection, space_id: int) -> int:
    row = await fetch_one(connection, queries["count"], {"space_id": space_id})
    return row[0]


async def list_tokens(connection: AsyncConnection, space_id: int) -> list[StoredToken]:
    cursor = connection.cursor(row_factory=dict_row)
    await cursor.execute(queries["list"], {"space_id": space_id})
    return [
        StoredToken(owner=TokenOwner(row.pop("user_id"), row.pop("email"), row.pop("user_name")), **row)
        for row in await cursor.fetchall()
    ]


async def list_own_tokens(connection: AsyncConnection, user_id: int) -> list[OwnToken]:
    """Return working tokens in all Spaces, by Space name."""
    return await fetch_all(make_cursor(connection, OwnToken), queries["list_of_user"], {"user_id": user_id})


async def fetch_token(connection: AsyncConnection, space_id: int, token_id: int) -> StoredToken:
    """Raises NotFound."""
    for token in await list_tokens(connection, space_id):
        if token.id == token_id:
            return token
    raise NotFound("Token")


async def revoke_token(connection: AsyncConnection, space_id: int, token_id: int) -> None:
    """Revoke a token when the transaction commits. Raises NotFound."""
    values = {"space_id": space_id, "token_id": token_id}
    require_any((await connection.execute(queries["revoke"], values)).rowcount, "Token")


async def find_token(connection: AsyncConnection, token: str) -> Bearer | None:
    """Return the owner of a working token whose user is still a member. Call it for every request, and cache
    nothing.
    """
    if not token.startswith(PREFIX) or len(token) > 128:
        return None
    cursor = connection.cursor(row_factory=dict_row)
    row = await fetch_optional(cursor, queries["find"], {"token_hash": hash_secret(token)})
    return None if row is None else Bearer(role=Role(row.pop("role")), **row)
