"""Authenticator apps and recovery codes of users. A code works once, also for concurrent requests.

Secrets are encrypted and bound to their user. Recovery codes have 125 random bits and are stored hashed.
"""

from __future__ import annotations

import base64
import secrets
import time
from enum import StrEnum

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one, fetch_optional
from headwater.spaces.accounts.sessions import close_sessions
from headwater.spaces.encryption import SealedColumn, Unsealable, seal, unseal
from headwater.spaces.factors.totp import find_step, is_code
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "factors.sql")

RECOVERY_CODES = 10
_LETTERS, _GROUP = 25, 5


class FactorReason(StrEnum):
    """The reason why a code or passkey is refused."""

    WRONG = "wrong"
    WRONG_PASSWORD = "wrong_password"  # noqa: S105
    USED_BEFORE = "used_before"
    SECRET_UNREADABLE = "secret_unreadable"  # noqa: S105
    TOO_MANY_ATTEMPTS = "too_many_attempts"
    EXPIRED = "expired"
    PASSKEY_REFUSED = "passkey_refused"
    PASSKEY_CLONED = "passkey_cloned"


class FactorRefused(Exception):
    def __init__(self, reason: FactorReason, retry_after: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.retry_after = reason, retry_after


async def add_authenticator(
    connection: AsyncConnection, sealing_key: bytes, user_id: int, secret: str, step: int
) -> bool:
    """Store the app's secret, whose code of `step` was checked. Return False if the user has one."""
    values = {"user_id": user_id, "secret": seal(sealing_key, secret, _row(user_id)), "step": step}
    return (await connection.execute(queries["add"], values)).rowcount == 1


async def has_authenticator(connection: AsyncConnection, user_id: int) -> bool:
    return await fetch_optional(connection, queries["fetch"], {"user_id": user_id}) is not None


async def has_factor(connection: AsyncConnection, user_id: int) -> bool:
    return (await fetch_one(connection, queries["has"], {"user_id": user_id}))[0]


async def remove_authenticator(connection: AsyncConnection, user_id: int) -> None:
    await connection.execute(queries["remove"], {"user_id": user_id})
    await remove_spare_codes(connection, user_id)


async def remove_spare_codes(connection: AsyncConnection, user_id: int) -> None:
    """Remove the recovery codes of a user whose last factor was removed."""
    await connection.execute(queries["remove_spare_codes"], {"user_id": user_id})


async def reset_factors(connection: AsyncConnection, user_id: int) -> bool:
    """Remove all factors and close all sessions, for the operator. Return False without a factor."""
    had_factor = await has_factor(connection, user_id)
    for statement in ("remove", "remove_passkeys", "remove_codes"):
        await connection.execute(queries[statement], {"user_id": user_id})
    await close_sessions(connection, user_id)
    return had_factor


async def replace_recovery_codes(connection: AsyncConnection, user_id: int) -> list[str]:
    """Return new codes; older ones stop working."""
    codes = [_make_recovery_code() for _ in range(RECOVERY_CODES)]
    await connection.execute(queries["remove_codes"], {"user_id": user_id})
    hashes = [_hash_code(user_id, code) for code in codes]
    await connection.execute(queries["add_codes"], {"user_id": user_id, "hashes": hashes})
    return codes


async def count_recovery_codes(connection: AsyncConnection, user_id: int) -> int:
    return (await fetch_one(connection, queries["count_codes"], {"user_id": user_id}))[0]


async def use_code(connection: AsyncConnection, sealing_key: bytes, user_id: int, text: str) -> None:
    """Use up a code of the app, or a recovery code. Raise FactorRefused."""
    text = "".join(text.split())
    if not is_code(text):
        values = {"user_id": user_id, "code_hash": _hash_code(user_id, text)}
        if (await connection.execute(queries["use_code"], values)).rowcount == 0:
            raise FactorRefused(FactorReason.WRONG)
        return
    row = await fetch_optional(connection, queries["fetch"], {"user_id": user_id})
    if row is None:
        raise FactorRefused(FactorReason.WRONG)
    try:
        secret = unseal(sealing_key, row[0], _row(user_id)).decode()
    except Unsealable:
        raise FactorRefused(FactorReason.SECRET_UNREADABLE) from None
    step = find_step(secret, text, time.time())
    if step is None:
        raise FactorRefused(FactorReason.WRONG)
    if (await connection.execute(queries["use_step"], {"user_id": user_id, "step": step})).rowcount == 0:
        raise FactorRefused(FactorReason.USED_BEFORE)


def _make_recovery_code() -> str:
    """Return five groups of five letters and digits."""
    letters = base64.b32encode(secrets.token_bytes(16)).decode().lower()[:_LETTERS]
    return "-".join(letters[start : start + _GROUP] for start in range(0, _LETTERS, _GROUP))


def _hash_code(user_id: int, code: str) -> bytes:
    """Ignore case and hyphens."""
    return hash_secret(f"recovery code\0{user_id}\0{code.lower().replace('-', '')}")


def _row(user_id: int) -> bytes:
    return f"totp {user_id}".encode()


SEALED = SealedColumn("totp_factors", "secret", ("user_id",), _row)
