"""Create, list, change, revoke and find webhooks."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import require_any
from headwater.intake.webhooks.models import ReadContext, Webhook, WebhookSettings
from headwater.spaces.access import Caller
from headwater.spaces.encryption import seal, unseal
from headwater.spaces.secret_hash import hash_secret
from headwater.spaces.settings_input import read_name
from headwater.spaces.spaces import fetch_space

queries = Queries(__name__, "webhooks.sql")

PATH = "/webhooks"
SCOPE = "events:write"


class NewWebhook(Struct, frozen=True):
    type: str
    name: str
    settings: WebhookSettings
    secret: str | None = None


class WebhookName(Struct, frozen=True):
    id: int
    type: str
    name: str
    hint: str
    revoked_at: datetime | None


class ActiveWebhook(Struct, frozen=True):
    """A webhook authenticated by its token."""

    id: int
    caller: Caller
    """Has the rights of a key that sends events."""
    reader: ReadContext
    token_hash: bytes
    sealed: bytes | None
    paused: bool

    def secret(self, key: bytes) -> bytes | None:
        """Raise Unsealable if the key has changed."""
        return None if self.sealed is None else unseal(key, self.sealed, self.token_hash)


async def create_webhook(
    connection: AsyncConnection, space_id: int, new: NewWebhook, key: bytes
) -> tuple[str, int]:
    """Return the token and id. `key` seals the secret. Raises Invalid, NotFound."""
    token = secrets.token_urlsafe(32)
    token_hash = hash_secret(token)
    values = {
        "space_id": (await fetch_space(connection, space_id)).id,
        "type": new.type,
        "name": read_name(new.name),
        "token_hash": token_hash,
        "hint": token[-4:],
        "secret": None if new.secret is None else seal(key, new.secret, token_hash),
        **_make_columns(new.settings),
    }
    row = await fetch_one(connection, queries["create"], values)
    return token, row[0]


async def list_webhooks(
    connection: AsyncConnection, space_id: int, webhook_ids: Sequence[int] | None = None
) -> list[Webhook]:
    """Include revoked webhooks, oldest first. Raises NotFound."""
    await fetch_space(connection, space_id)
    return await _read(connection, space_id, webhook_ids)


async def list_webhook_names(connection: AsyncConnection, space_id: int) -> list[WebhookName]:
    """Include revoked webhooks, oldest first."""
    return await fetch_all(make_cursor(connection, WebhookName), queries["names"], {"space_id": space_id})


async def fetch_webhook(connection: AsyncConnection, space_id: int, webhook_id: int) -> Webhook:
    """Raise NotFound if missing."""
    return require_any(await _read(connection, space_id, [webhook_id]), "Webhook")[0]


async def change_webhook(
    connection: AsyncConnection, space_id: int, webhook_id: int, settings: WebhookSettings
) -> None:
    values = {"space_id": space_id, "webhook_id": webhook_id, **_make_columns(settings)}
    await connection.execute(queries["change"], values)


async def pause_webhook(
    connection: AsyncConnection, space_id: int, webhook_id: int, *, paused: bool
) -> Webhook:
    """Pause or resume. While paused, deliveries are stored but not processed. Raises NotFound."""
    values = {"space_id": space_id, "webhook_id": webhook_id, "paused": paused, "now": datetime.now(UTC)}
    await connection.execute(queries["pause"], values)
    return await fetch_webhook(connection, space_id, webhook_id)


async def revoke_webhook(connection: AsyncConnection, space_id: int, webhook_id: int) -> Webhook:
    """Revoke a webhook; repeating it changes nothing. Raises NotFound."""
    values = {"space_id": space_id, "webhook_id": webhook_id}
    await connection.execute(queries["revoke"], values)
    return await fetch_webhook(connection, space_id, webhook_id)


async def find_webhook(connection: AsyncConnection, token: str) -> ActiveWebhook | None:
    """Return None if revoked."""
    token_hash = hash_secret(token)
    cursor = connection.cursor(row_factory=dict_row)
    row = await fetch_optional(cursor, queries["find"], {"token_hash": token_hash})
    if row is None:
        return None
    scopes = frozenset({SCOPE})
    caller = Caller(row["space_id"], row["id"], scopes, row["active"], row["limits"])
    reader = ReadContext(row["type"], _read_settings(row))
    return ActiveWebhook(row["id"], caller, reader, token_hash, row["secret"], row["paused"])


async def find_buyer(connection: AsyncConnection, space_id: int, order_id: str) -> dict[str, str]:
    """Return the identifying payload field, or {}."""
    cursor = connection.cursor(row_factory=dict_row)
    values = {"space_id": space_id, "order_id": order_id, "event_names": list(EVENT_NAMES)}
    row = await fetch_optional(cursor, queries["buyer"], values) or {}
    identifiers = [name for name in ("email", "trk_token") if row.get(name)]
    return {name: row[name] for name in identifiers[:1]}


async def _read(
    connection: AsyncConnection, space_id: int, webhook_ids: Sequence[int] | None
) -> list[Webhook]:
    cursor = connection.cursor(row_factory=dict_row)
    values = {"space_id": space_id, "webhook_ids": None if webhook_ids is None else [*webhook_ids]}
    await cursor.execute(queries["list"], values)
    columns = ("id", "type", "name", "hint", "signed", "created_at", "paused_at", "revoked_at")
    return [
        Webhook(settings=_read_settings(row), **{name: row[name] for name in columns})
        for row in await cursor.fetchall()
    ]


def _read_settings(row: dict[str, Any]) -> WebhookSettings:
    return WebhookSettings(
        row["signature_header"], row["topic"], row["event_names"], row["mapping"], row["takes_tests"]
    )


def _make_columns(settings: WebhookSettings) -> dict[str, Any]:
    return {
        "signature_header": settings.signature_header,
        "topic": settings.topic,
        "event_names": Jsonb(settings.events),
        "mapping": Jsonb(settings.mapping),
        "takes_tests": settings.takes_tests,
    }
