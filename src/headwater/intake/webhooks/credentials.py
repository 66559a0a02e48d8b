"""Replace a webhook's URL token, stored hashed, and its sealed secret."""

from __future__ import annotations

import secrets

from psycopg import AsyncConnection

from headwater.database.queries import fetch_optional
from headwater.http.errors import Conflict, require_found
from headwater.intake.webhooks.webhooks import queries
from headwater.spaces.encryption import SealedColumn, Unsealable, seal, unseal
from headwater.spaces.secret_hash import hash_secret

LOCKED = "The installation's secret key has changed. Create this webhook again."


async def change_secret(
    connection: AsyncConnection, space_id: int, webhook_id: int, secret: str, key: bytes
) -> None:
    """Raise NotFound, also for a revoked webhook."""
    token_hash, _ = await _fetch_credentials(connection, space_id, webhook_id)
    values = {"space_id": space_id, "webhook_id": webhook_id}
    sealed = seal(key, secret, token_hash)
    await connection.execute(queries["change_secret"], {**values, "secret": sealed})


async def change_address(connection: AsyncConnection, space_id: int, webhook_id: int, key: bytes) -> str:
    """Return the new URL's token. Raises NotFound, also for a revoked webhook, and Conflict if the signing
    secret can't be unsealed.
    """
    token_hash, sealed = await _fetch_credentials(connection, space_id, webhook_id)
    try:
        secret = unseal(key, sealed, token_hash).decode() if sealed else None
    except Unsealable:
        raise Conflict(LOCKED) from None
    token = secrets.token_urlsafe(32)
    renewed = hash_secret(token)
    values = {
        "space_id": space_id,
        "webhook_id": webhook_id,
        "token_hash": renewed,
        "hint": token[-4:],
        "secret": None if secret is None else seal(key, secret, renewed),
    }
    await connection.execute(queries["change_address"], values)
    return token


async def _fetch_credentials(
    connection: AsyncConnection, space_id: int, webhook_id: int
) -> tuple[bytes, bytes | None]:
    values = {"space_id": space_id, "webhook_id": webhook_id}
    row = require_found(await fetch_optional(connection, queries["credentials"], values), "Webhook")
    return row[0], row[1]


SEALED = SealedColumn("webhooks", "secret", ("token_hash",), bytes)
