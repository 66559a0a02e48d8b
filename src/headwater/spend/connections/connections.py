"""Connections to ad accounts. Their tokens are encrypted and never returned."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from headwater.database.jobs.due_tasks import AccountKey
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Invalid, require_any, require_found
from headwater.spaces.encryption import Unsealable
from headwater.spaces.spaces import fetch_space
from headwater.spend.connections.inputs import ConnectionChange, read_change
from headwater.spend.connections.leases import open_secrets, seal_secrets
from headwater.spend.platforms import registry
from headwater.spend.platforms.platform import Credentials, SpendPlatform

queries = Queries(__name__, "connections.sql")

MOST_CONNECTIONS = 50
"""Per Space."""


class ConnectionRow(Struct, frozen=True):
    id: int
    platform: str
    name: str
    status: Literal["active", "paused", "held"]
    settings: dict[str, Any]
    secret_names: list[str]
    created_at: str
    account_id: str | None
    """The account as its platform describes it; None before the first pull."""
    account_name: str | None
    currency: str | None
    timezone: str | None
    history_from: date | None
    history_until: date | None
    """Days before this one are still to be fetched."""
    next_pull_at: str
    pulled_at: str | None
    """The last complete pull."""
    failures: int
    """Pulls that failed since."""
    failing_since: str | None
    fault: str | None
    """A kind of fault."""
    fault_message: str | None
    """In the platform's words."""
    lender: str | None
    """The name of the destination whose tokens it uses, unless that was removed."""
    is_pulling: bool

    @property
    def history_share(self) -> float:
        """How much of the history is fetched, from 0 to 1."""
        if self.history_from is None or self.history_until is None:
            return 0.0 if self.pulled_at is None else 1.0
        created_day = date.fromisoformat(self.created_at[:10])
        days = (created_day - self.history_from).days
        days_left = (self.history_until - self.history_from).days
        return 1.0 if days_left <= 0 or days <= 0 else max(0.0, 1 - days_left / days)


async def create_connection(
    connection: AsyncConnection, space_id: int, new: tuple[SpendPlatform, ConnectionChange], key: bytes
) -> ConnectionRow:
    """Create a connection, which is pulled immediately; `key` seals the secrets. Raises NotFound, or Invalid
    at the limit.
    """
    space = {"space_id": (await fetch_space(connection, space_id)).id}
    (count,) = await fetch_one(connection, queries["count"], space)
    if count >= MOST_CONNECTIONS:
        raise Invalid.of("platform", f"cannot be added: a Space has at most {MOST_CONNECTIONS} connections.")
    platform, change = new
    values = {
        **space,
        "platform": platform.name,
        "name": change.name,
        "settings": Jsonb(change.settings),
        "lender_id": change.lender_id,
    }
    (connection_id,) = await fetch_one(connection, queries["create"], values)
    row = AccountKey(space_id, connection_id)
    await _put_secrets(connection, row, {}, change.secrets or {}, key)
    return await fetch_connection(connection, space_id, connection_id)


async def list_connections(connection: AsyncConnection, space_id: int) -> list[ConnectionRow]:
    """Return the oldest first."""
    return await _read(connection, space_id, None)


async def fetch_connection(connection: AsyncConnection, space_id: int, connection_id: int) -> ConnectionRow:
    """Raise NotFound if missing."""
    return require_any(await _read(connection, space_id, connection_id), "Connection")[0]


async def change_connection(
    connection: AsyncConnection,
    row: AccountKey,
    members: Mapping[str, Any],
    key: bytes,
    *,
    as_text: bool = False,
) -> ConnectionRow:
    """Change the fields in `members`; `as_text` if settings were typed. Raises NotFound, or Invalid naming
    every wrong field.
    """
    platform_name, _, sealed = await _lock(connection, row)
    try:
        secrets = open_secrets(key, row, sealed)
    except Unsealable:
        secrets = {}
    change = read_change(registry.PLATFORMS[platform_name], members, secrets, as_text=as_text)
    values = {
        "name": change.name,
        "settings": None if change.settings is None else Jsonb(change.settings),
        "has_secrets": change.secrets is not None,
    }
    await connection.execute(queries["change"], {**row._asdict(), **values})
    if change.settings is not None or change.secrets is not None:
        await connection.execute(queries["retry"], row._asdict())
    if change.secrets is not None:
        await _put_secrets(connection, row, secrets, change.secrets, key)
    return await fetch_connection(connection, *row)


async def pause_connection(connection: AsyncConnection, space_id: int, connection_id: int) -> ConnectionRow:
    """Stop pulling; a running pull stores nothing more. Raises NotFound."""
    return await _act(connection, AccountKey(space_id, connection_id), "pause")


async def resume_connection(connection: AsyncConnection, space_id: int, connection_id: int) -> ConnectionRow:
    """Pull again, now, after a pause or a hold. Raises NotFound."""
    return await _act(connection, AccountKey(space_id, connection_id), "resume")


async def pull_connection(connection: AsyncConnection, space_id: int, connection_id: int) -> ConnectionRow:
    """Pull an active connection now instead of at its next turn. Raises NotFound."""
    return await _act(connection, AccountKey(space_id, connection_id), "pull_now")


async def delete_connection(connection: AsyncConnection, space_id: int, connection_id: int) -> None:
    """Delete a connection and its tokens. Its spend stays in the ledger. Raises NotFound."""
    cursor = await connection.execute(queries["delete"], AccountKey(space_id, connection_id)._asdict())
    require_any(cursor.rowcount, "Connection")


async def open_connection(
    connection: AsyncConnection, row: AccountKey, urls: Mapping[str, str], key: bytes
) -> tuple[SpendPlatform, Credentials]:
    """Return a connection's credentials for calls. Raises NotFound, or Invalid if the installation's secret
    changed or the settings are no longer valid.
    """
    platform_name, settings, sealed = await _lock(connection, row)
    platform = registry.PLATFORMS[platform_name]
    try:
        secrets = open_secrets(key, row, sealed)
        platform_settings = msgspec.convert(settings, platform.settings)
    except Unsealable:
        rule = "must be entered again because HEADWATER_SECRET_KEY has changed."
        raise Invalid.of("secrets", rule) from None
    except msgspec.ValidationError:
        raise Invalid.of("settings", "must be entered again: they are no longer valid.") from None
    return platform, Credentials(
        space_id=row.space_id, id=row.id, url=urls[platform_name], settings=platform_settings, secrets=secrets
    )


async def replace_refresh_token(
    connection: AsyncConnection, row: AccountKey, refresh_token: str, key: bytes
) -> None:
    """Store a refresh token that a platform issued. Raises NotFound and Unsealable."""
    _, _, sealed = await _lock(connection, row)
    await _put_secrets(connection, row, open_secrets(key, row, sealed), {"refresh_token": refresh_token}, key)


async def _act(connection: AsyncConnection, row: AccountKey, verb: str) -> ConnectionRow:
    await connection.execute(queries[verb], row._asdict())
    return await fetch_connection(connection, *row)


async def _lock(connection: AsyncConnection, row: AccountKey) -> tuple[str, dict[str, Any], bytes | None]:
    return require_found(await fetch_optional(connection, queries["lock"], row._asdict()), "Connection")


async def _read(connection: AsyncConnection, space_id: int, connection_id: int | None) -> list[ConnectionRow]:
    bound = {"space_id": space_id, "id": connection_id}
    return await fetch_all(make_cursor(connection, ConnectionRow), queries["list"], bound)


async def _put_secrets(
    connection: AsyncConnection,
    row: AccountKey,
    current: Mapping[str, str],
    changes: Mapping[str, str | None],
    key: bytes,
) -> None:
    secrets = {name: text for name, text in {**current, **changes}.items() if text is not None}
    values = {**row._asdict(), "secrets": seal_secrets(key, row, secrets), "names": sorted(secrets)}
    await connection.execute(queries["put_secrets"], values)
