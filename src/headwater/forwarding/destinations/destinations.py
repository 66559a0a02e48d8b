"""Destinations. Their tokens are encrypted and never returned.

Changes that start or stop queueing lock the Space, so that a batch sees one state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from headwater.base.egress.access_tokens import TokenKeeper
from headwater.base.settings import Settings
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.forwarding.destinations import credentials
from headwater.forwarding.destinations.credentials import DestinationColumns, open_secrets, seal_secrets
from headwater.forwarding.destinations.inputs import DestinationChange, read_change
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.models import Destination
from headwater.forwarding.platforms.origins import find_url
from headwater.forwarding.platforms.platform import Platform
from headwater.http.errors import Invalid, NotFound, require_any, require_found
from headwater.spaces.encryption import Unsealable
from headwater.spaces.locks import lock_identities
from headwater.spaces.spaces import fetch_space

queries = Queries(__name__, "destinations.sql")

DELIVERY_STATUSES = ("queued", "retrying", "delivered", "counted", "refused", "failed", "expired", "skipped")
ACCEPTED_STATUSES = ("delivered", "counted")
"""Statuses of what the platform accepted and did not refuse later."""
MOST_DESTINATIONS = 50
"""Per Space."""
LONGEST_TEST_MESSAGE = 300
"""In characters."""
MOST_COUNTED = 100_000
"""The limit for counts of deliveries by status."""


@dataclass(frozen=True)
class DestinationRow:
    id: int
    platform: str
    name: str
    status: Literal["active", "paused", "held"]
    status_reason: str | None
    all_events: bool
    settings: dict[str, Any]
    secret_names: list[str]
    event_names: dict[str, str | None]
    event_labels: dict[str, str]
    """The Space's names of its custom events."""
    created_at: str
    wait_until: str | None
    """Nothing is sent earlier."""
    tested_at: str | None
    """None if not tested with the current setup."""
    test_ok: bool | None
    """The platform accepted the test event."""
    test_message: str | None
    test_remedy: str | None
    counts: dict[str, int]
    """By status."""


async def create_destination(
    connection: AsyncConnection, space_id: int, new: tuple[Platform, DestinationChange], key: bytes
) -> DestinationRow:
    """Create a destination; `key` seals the secrets. Raises NotFound, or Invalid at the limit."""
    space = {"space_id": (await fetch_space(connection, space_id)).id}
    await lock_identities(connection, space_id)
    row = await fetch_one(connection, queries["count"], space)
    if row[0] >= MOST_DESTINATIONS:
        raise Invalid.of(
            "platform", f"cannot be added: a Space has at most {MOST_DESTINATIONS} destinations."
        )
    platform, change = new
    values = space | {"platform": platform.name} | _make_columns(change)
    row = await fetch_one(connection, queries["create"], values)
    await _put_secrets(connection, space_id, row[0], {}, change.secrets, key)
    return await fetch_destination(connection, space_id, row[0])


async def list_destinations(
    connection: AsyncConnection, space_id: int, most_counted: int | None = None
) -> list[DestinationRow]:
    """Return the oldest first, with counts up to `most_counted`."""
    return await _read(connection, space_id, None, most_counted)


async def fetch_destination(
    connection: AsyncConnection, space_id: int, destination_id: int, most_counted: int | None = None
) -> DestinationRow:
    """Raise NotFound if missing."""
    return require_any(await _read(connection, space_id, destination_id, most_counted), "Destination")[0]


async def change_destination(
    connection: AsyncConnection,
    space_id: int,
    destination_id: int,
    body: Mapping[str, Any],
    key: bytes,
    *,
    as_text: bool = False,
) -> DestinationRow:
    """Change the fields in `body`; `as_text` if settings were typed. Raises NotFound, or Invalid naming every
    wrong field.
    """
    columns = await _lock(connection, space_id, destination_id)
    secrets = _open_secrets(key, space_id, destination_id, columns.secrets)
    change = read_change(registry.PLATFORMS[columns.platform], body, secrets, as_text=as_text)
    values = {"space_id": space_id, "destination_id": destination_id, **_make_columns(change)}
    await connection.execute(queries["change"], values)
    if change.settings is not None or change.event_names is not None:
        await connection.execute(queries["forget_test"], values)
    if change.secrets is not None:
        await _put_secrets(connection, space_id, destination_id, secrets, change.secrets, key)
    return await fetch_destination(connection, space_id, destination_id)


async def pause_destination(
    connection: AsyncConnection, space_id: int, destination_id: int
) -> DestinationRow:
    """Stop sending: new deliveries are skipped, queued ones wait. Raises NotFound."""
    return await _set_status(connection, space_id, destination_id, "pause")


async def resume_destination(
    connection: AsyncConnection, space_id: int, destination_id: int
) -> DestinationRow:
    """Resume after a pause or a hold. Raises NotFound."""
    return await _set_status(connection, space_id, destination_id, "resume")


async def end_destination(connection: AsyncConnection, space_id: int, destination_id: int) -> None:
    """Remove a destination and its tokens. Raises NotFound."""
    await lock_identities(connection, space_id)
    values = {"space_id": space_id, "destination_id": destination_id}
    require_any((await connection.execute(queries["remove"], values)).rowcount, "Destination")


async def open_destination(
    connection: AsyncConnection, space_id: int, destination_id: int, settings: Settings, key: bytes
) -> tuple[Platform, Destination]:
    """Raise NotFound, or Invalid if the installation's secret changed."""
    columns = await _lock(connection, space_id, destination_id)
    platform = registry.PLATFORMS[columns.platform]
    row, url = (space_id, destination_id), find_url(settings, platform)
    try:
        return platform, credentials.unseal_destination(key, row, columns, platform, url)
    except Unsealable:
        rule = "must be entered again because HEADWATER_SECRET_KEY has changed."
        raise Invalid.of("secrets", rule) from None


async def lend_secrets(
    connection: AsyncConnection, space_id: int, destination_id: int, platform: object, key: bytes
) -> dict[str, str]:
    """Return a destination's tokens, for another use of the same account. Raises Invalid if it is missing, of
    another platform, or its tokens can't be opened.
    """
    try:
        columns = await _lock(connection, space_id, destination_id)
        if columns.platform == platform:
            return open_secrets(key, space_id, destination_id, columns.secrets)
    except (NotFound, Unsealable):
        pass
    rule = "must be a destination of the same platform, with tokens that can be read."
    raise Invalid.of("destination_id", rule)


async def replace_refresh_token(
    connection: AsyncConnection, destination: Destination, refresh_token: str, key: bytes
) -> None:
    """Store a refresh token that a platform issued for the destination's, unless a user has entered another
    one or removed the destination. Raises Unsealable.
    """
    row = destination.space_id, destination.id
    try:
        secrets = open_secrets(key, *row, (await _lock(connection, *row)).secrets)
    except NotFound:
        return
    if secrets.get("refresh_token") == destination.secrets.get("refresh_token"):
        sealed = seal_secrets(key, *row, {**secrets, "refresh_token": refresh_token})
        values = {"space_id": row[0], "destination_id": row[1], "secrets": sealed}
        await connection.execute(queries["renew_secrets"], values)


def make_token_keeper(
    begin: Callable[[], AbstractAsyncContextManager[AsyncConnection]], key: bytes
) -> TokenKeeper[Destination]:
    """Store new refresh tokens of destinations, each in a transaction that `begin` starts."""

    async def keep(destination: Destination, refresh_token: str) -> None:
        async with begin() as connection:
            await replace_refresh_token(connection, destination, refresh_token, key)

    return keep


async def note_test(
    connection: AsyncConnection,
    space_id: int,
    destination_id: int,
    *,
    ok: bool,
    message: str,
    remedy: str | None,
) -> None:
    """Store a test's result; `message` must not contain secrets."""
    values = {"space_id": space_id, "destination_id": destination_id, "ok": ok, "remedy": remedy}
    message = message.replace("\0", "")[:LONGEST_TEST_MESSAGE]
    await connection.execute(queries["note_test"], values | {"message": message})


async def _set_status(
    connection: AsyncConnection, space_id: int, destination_id: int, verb: str
) -> DestinationRow:
    await lock_identities(connection, space_id)
    values = {"space_id": space_id, "destination_id": destination_id}
    await connection.execute(queries[verb], values)
    return await fetch_destination(connection, space_id, destination_id)


async def _lock(connection: AsyncConnection, space_id: int, destination_id: int) -> DestinationColumns:
    values = {"space_id": space_id, "destination_id": destination_id}
    return require_found(
        await fetch_optional(make_cursor(connection, DestinationColumns), queries["lock"], values),
        "Destination",
    )


async def _read(
    connection: AsyncConnection, space_id: int, destination_id: int | None, most_counted: int | None
) -> list[DestinationRow]:
    values = {
        "space_id": space_id,
        "destination_id": destination_id,
        "statuses": list(DELIVERY_STATUSES),
        "most": MOST_COUNTED if most_counted is None else most_counted,
    }
    return await fetch_all(make_cursor(connection, DestinationRow), queries["list"], values)


def _open_secrets(key: bytes, space_id: int, destination_id: int, sealed: bytes | None) -> dict[str, str]:
    """Return no tokens if they can't be opened."""
    try:
        return open_secrets(key, space_id, destination_id, sealed)
    except Unsealable:
        return {}


async def _put_secrets(
    connection: AsyncConnection,
    space_id: int,
    destination_id: int,
    secrets: dict[str, str],
    changes: dict[str, str | None] | None,
    key: bytes,
) -> None:
    changed_secrets = {name: text for name, text in (secrets | (changes or {})).items() if text is not None}
    values = {
        "space_id": space_id,
        "destination_id": destination_id,
        "secrets": seal_secrets(key, space_id, destination_id, changed_secrets),
        "names": sorted(changed_secrets),
    }
    await connection.execute(queries["put_secrets"], values)


def _make_columns(change: DestinationChange) -> dict[str, Any]:
    settings, event_names = change.settings, change.event_names
    return {
        "name": change.name,
        "all_events": change.all_events,
        "settings": None if settings is None else Jsonb(settings),
        "event_names": None if event_names is None else Jsonb(event_names),
    }
