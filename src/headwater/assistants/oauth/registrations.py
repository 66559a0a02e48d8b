"""Storage of assistants that register themselves (RFC 7591)."""

from __future__ import annotations

import secrets
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from headwater.assistants.oauth.clients import OAuthClient, Registration
from headwater.assistants.oauth.errors import OAuthError
from headwater.assistants.oauth.metadata import REGISTER, SCOPE
from headwater.database.queries import Queries, fetch_one, fetch_optional
from headwater.spaces.accounts.attempts import take_attempt

queries = Queries(__name__, "registrations.sql")

PREFIX = "trk_client_"
PER_HOUR = 10
HOUR = 3600
LONGEST_ID = 128


async def count_registration(connection: AsyncConnection, address: str) -> None:
    """Raise OAuthError over PER_HOUR."""
    is_allowed = await take_attempt(connection, "registration", address, PER_HOUR, HOUR)
    if not is_allowed.admitted:
        raise OAuthError(
            "temporarily_unavailable",
            f"Too many registrations from your address: at most {PER_HOUR} an hour.",
            429,
            {"Retry-After": str(is_allowed.retry_after)},
        )


async def register_client(
    connection: AsyncConnection, registration: Registration, base_url: str
) -> dict[str, Any]:
    values = {
        "id": PREFIX + secrets.token_urlsafe(24),
        "name": registration.name,
        "redirect_uris": list(registration.redirect_uris),
        "metadata": Jsonb(registration.recorded),
    }
    cursor = connection.cursor(row_factory=dict_row)
    row = await fetch_one(cursor, queries["register"], values)
    return _registration_answer(row, base_url)


async def fetch_registration(
    connection: AsyncConnection, client_id: str, base_url: str
) -> dict[str, Any] | None:
    """Return the original answer; it contains no secret."""
    row = await _fetch(connection, client_id)
    return None if row is None else _registration_answer(row, base_url)


async def fetch_client(connection: AsyncConnection, client_id: str) -> OAuthClient | None:
    row = await _fetch(connection, client_id)
    if row is None:
        return None
    uris = tuple(row["redirect_uris"])
    return OAuthClient(row["id"], row["name"], uris, registered_at=row["created_at"])


async def note_use(connection: AsyncConnection, client_id: str) -> None:
    """Record that a person admitted a client: unused registrations are deleted sooner."""
    await connection.execute(queries["note_use"], {"id": client_id})


async def _fetch(connection: AsyncConnection, client_id: str) -> dict[str, Any] | None:
    if not client_id.startswith(PREFIX) or len(client_id) > LONGEST_ID:
        return None
    cursor = connection.cursor(row_factory=dict_row)
    return await fetch_optional(cursor, queries["fetch"], {"id": client_id})


def _registration_answer(row: dict[str, Any], base_url: str) -> dict[str, Any]:
    """Replace requested values by the granted ones."""
    return row["metadata"] | {
        "client_id": row["id"],
        "client_id_issued_at": int(row["created_at"].timestamp()),
        "client_name": row["name"],
        "redirect_uris": row["redirect_uris"],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "scope": SCOPE,
        "registration_client_uri": f"{base_url}{REGISTER}/{row['id']}",
    }
