"""Authorization codes: created when a user admits an assistant, and exchanged once for a token. They are
stored with the tokens because both end with a membership or a password.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries, fetch_optional, make_cursor
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "authorization_codes.sql")

PREFIX = "trk_code_"
LIFETIME = timedelta(seconds=60)
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)


class AuthorizationGrant(Struct, frozen=True):
    space_id: int
    id: int
    user_id: int
    client_id: str
    client_name: str
    redirect_uri: str
    code_challenge: str
    resource: str | None
    read_only: bool
    expires_at: datetime

    @property
    def is_fresh(self) -> bool:
        return self.expires_at > datetime.now(UTC)

    def is_verified_by(self, verifier: str) -> bool:
        """Return whether the challenge was derived from this verifier (RFC 7636 §4.6)."""
        if not VERIFIER.fullmatch(verifier):
            return False
        digest = hashlib.sha256(verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return hmac.compare_digest(challenge, self.code_challenge)


class NewCode(Struct, frozen=True):
    space_id: int
    user_id: int
    consent: str
    client_id: str
    client_name: str
    redirect_uri: str
    code_challenge: str
    resource: str | None
    read_only: bool
    """Whether its token has a viewer's permissions only."""


async def make_code(connection: AsyncConnection, new: NewCode) -> str | None:
    """Return None if this consent has created one before."""
    code = PREFIX + secrets.token_urlsafe(32)
    values = {
        "space_id": new.space_id,
        "user_id": new.user_id,
        "consent_hash": hash_secret(new.consent),
        "code_hash": hash_secret(code),
        "client_id": new.client_id,
        "client_name": new.client_name,
        "redirect_uri": new.redirect_uri,
        "code_challenge": new.code_challenge,
        "resource": new.resource,
        "read_only": new.read_only,
        "lifetime": LIFETIME,
    }
    row = await fetch_optional(connection, queries["make"], values)
    return code if row is not None else None


async def find_code(connection: AsyncConnection, code: str) -> tuple[int, str] | None:
    """Return Space and client id, without using the code."""
    values = {"code_hash": hash_secret(code)}
    return await fetch_optional(connection, queries["find"], values)


async def use_code(connection: AsyncConnection, code: str) -> AuthorizationGrant | None:
    """Return the grant of a code; None for an unknown or used one. Reuse revokes the first token."""
    values = {"code_hash": hash_secret(code)}
    grant = await fetch_optional(make_cursor(connection, AuthorizationGrant), queries["use"], values)
    if grant is None:
        await connection.execute(queries["revoke_token"], values)
    return grant


async def note_token(connection: AsyncConnection, grant: AuthorizationGrant, token_id: int) -> None:
    """Store the token, in case the code is sent again."""
    values = {"space_id": grant.space_id, "id": grant.id, "token_id": token_id}
    await connection.execute(queries["note_token"], values)


def forget_codes(connection: Connection[Any]) -> None:
    connection.execute(queries["forget"])
