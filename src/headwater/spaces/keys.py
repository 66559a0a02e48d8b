"""Create, list, rotate, restrict and revoke API keys. A key is displayed once; only its hash is stored."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from psycopg import AsyncConnection
from psycopg.sql import Composed

from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Conflict, Invalid, require_found
from headwater.spaces.secret_hash import hash_secret
from headwater.spaces.settings_input import read_name
from headwater.spaces.spaces import announce_access, fetch_space

queries = Queries(__name__, "keys.sql")
_LIST, _CREATE, _RESTRICT, _REVOKE = (
    queries[name].format(columns=queries["columns"]) for name in ("list", "create", "restrict", "revoke")
)

PREFIX = "trk_sk_"
Scope = Literal[
    "events:read",
    "events:write",
    "contacts:read",
    "contacts:write",
    "contacts:delete",
    "companies:read",
    "companies:write",
    "exports:read",
    "exports:write",
    "destinations:read",
    "destinations:write",
    "reports:read",
    "spend:write",
]
"""The permissions of keys; each API operation needs one."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
EXPIRY_NOTICE = timedelta(days=7)
"""How long before a key ends the Space's members get a notice."""


@dataclass(frozen=True)
class ApiKey:
    id: int
    name: str
    hint: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime | None
    """Accurate to a few seconds; None before the first use."""
    revoked_at: datetime | None
    made_by: int | None
    """The user who created it in the console; None for a key made at a terminal."""
    expires_at: datetime | None
    addresses: list[str]
    """The networks that may use it; empty means all."""
    replaced_by: int | None
    """The key made by its rotation."""

    def find_end(self, moment: datetime) -> datetime | None:
        """Return when it was revoked or expired; None for a key that works."""
        expired_at = self.expires_at if self.expires_at is not None and self.expires_at <= moment else None
        return min(filter(None, (self.revoked_at, expired_at)), default=None)


@dataclass(frozen=True)
class KeyLimits:
    """What limits a new key, besides its scopes."""

    lifetime: timedelta | None = None
    addresses: Sequence[str] = ()


_UNLIMITED = KeyLimits()


async def create_key(
    connection: AsyncConnection,
    space_id: int,
    name: str,
    scopes: Sequence[str] = SCOPES,
    made_by: int | None = None,
    limits: KeyLimits = _UNLIMITED,
) -> tuple[str, ApiKey]:
    """Create a key, and return it with its stored row.

    Raises Invalid for an unusable name or scope, NotFound for an unknown Space.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown:
        rule = f"scope: {', '.join(unknown)} is none of {', '.join(SCOPES)}"
        raise Invalid({"scope": [rule]})
    values = {"space_id": (await fetch_space(connection, space_id)).id, "name": read_name(name)}
    key = PREFIX + secrets.token_urlsafe(32)
    values |= {"key_hash": hash_secret(key), "hint": key[-4:], "made_by": made_by}
    values |= {"scopes": [scope for scope in SCOPES if scope in scopes]}
    values |= {"lifetime": limits.lifetime, "addresses": list(limits.addresses)}
    return key, await _execute_for_key(connection, _CREATE, values)


async def list_keys(connection: AsyncConnection, space_id: int) -> list[ApiKey]:
    """Include revoked keys, oldest first. Raises NotFound."""
    await fetch_space(connection, space_id)
    return await fetch_all(make_cursor(connection, ApiKey), _LIST, {"space_id": space_id})


async def fetch_key_use(connection: AsyncConnection, space_id: int) -> tuple[int, datetime | None]:
    row = await fetch_one(connection, queries["use"], {"space_id": space_id})
    return row[0], row[1]


async def rotate_key(
    connection: AsyncConnection, space_id: int, key_id: int, overlap: timedelta, made_by: int | None = None
) -> tuple[str, ApiKey, datetime]:
    """Create a key with the name, scopes, addresses and lifetime of another, which ends after `overlap`.
    Return it with its stored row, and the old key's end.

    Raises NotFound, and Conflict for a key that has ended or was rotated.
    """
    values = {"space_id": space_id, "key_id": key_id}
    row = require_found(await fetch_optional(connection, queries["rotated"], values), "API key")
    _, name, scopes, addresses, lifetime, replaced_by, has_ended = row
    if has_ended:
        raise Conflict("The API key is revoked or has expired. Create a new one.")
    if replaced_by is not None:
        raise Conflict(f"The API key is already replaced by the key {replaced_by}. Rotate that one.")
    limits = KeyLimits(lifetime, addresses)
    key, stored_key = await create_key(connection, space_id, name, scopes, made_by, limits)
    values |= {"replaced_by": stored_key.id, "overlap": overlap}
    (ends_at,) = await fetch_one(connection, queries["replace"], values)
    return key, stored_key, ends_at


async def restrict_key(
    connection: AsyncConnection, space_id: int, key_id: int, addresses: Sequence[str]
) -> ApiKey:
    """Allow a key only from these networks; empty: from all. Raises NotFound."""
    values = {"space_id": space_id, "key_id": key_id, "addresses": list(addresses)}
    return await _execute_for_key(connection, _RESTRICT, values)


async def revoke_key(connection: AsyncConnection, space_id: int, key_id: int) -> ApiKey:
    """Revoke a key when the transaction commits. Raises NotFound."""
    return await _execute_for_key(connection, _REVOKE, {"space_id": space_id, "key_id": key_id})


async def revoke_keys_made_by(connection: AsyncConnection, space_id: int, user_id: int) -> None:
    values = {"space_id": space_id, "user_id": user_id}
    await connection.execute(queries["revoke_made_by"], values)
    await announce_access(connection, space_id)


async def _execute_for_key(
    connection: AsyncConnection, statement: Composed, values: dict[str, Any]
) -> ApiKey:
    key = require_found(await fetch_optional(make_cursor(connection, ApiKey), statement, values), "API key")
    await announce_access(connection, values["space_id"])
    return key
