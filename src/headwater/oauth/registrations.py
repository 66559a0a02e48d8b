"""Assistants that register themselves (RFC 7591): kept, found again, forgotten when unused."""

from __future__ import annotations

import secrets
import time
from typing import Any

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from headwater.accounts.throttling import take_attempt
from headwater.database.statements import Statements
from headwater.oauth.clients import Client, Registration
from headwater.oauth.errors import OAuthError

SQL = Statements(__name__, "registrations.sql")

PREFIX = "trk_client_"
PER_HOUR = 10
HOUR = 3600


async def count_registration(connection: AsyncConnection, address: str) -> None:
    """Count a registration from an address. Raises OAuthError when it had PER_HOUR in an hour."""
    taken = await take_attempt(connection, "registration", address, PER_HOUR, HOUR)
    if not taken.admitted:
        raise OAuthError(
            "temporarily_unavailable",
            f"Too many registrations from your address: at most {PER_HOUR} an hour.",
            429,
            {"Retry-After": str(taken.retry_after)},
        )


async def register_client(
    connection: AsyncConnection, registration: Registration, base_url: str
) -> dict[str, Any]:
    """A new client, told what was accepted of what it said."""
    client_id = PREFIX + secrets.token_urlsafe(24)
    values = {
        "id": client_id,
        "name": registration.name,
        "redirect_uris": list(registration.redirect_uris),
        "metadata": Jsonb(registration.recorded),
    }
    await connection.execute(SQL["register"], values)
    return {
        "client_id": client_id,
        "client_id_issued_at": int(time.time()),
        "client_name": registration.name,
        "redirect_uris": list(registration.redirect_uris),
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "scope": "mcp:use",
        "registration_client_uri": f"{base_url}/mcp/oauth/register/{client_id}",
        **{name: value for name, value in registration.recorded.items() if name == "client_uri"},
    }


async def fetch_client(connection: AsyncConnection, client_id: str) -> Client | None:
    """A registered client."""
    if not client_id.startswith(PREFIX) or len(client_id) > 128:
        return None
    row = await (await connection.execute(SQL["fetch"], {"id": client_id})).fetchone()
    return None if row is None else Client(row[0], row[1], tuple(row[2]), None)


async def forget_clients(connection: AsyncConnection) -> None:
    """Remove those that nobody used for a month."""
    await connection.execute(SQL["forget"])
