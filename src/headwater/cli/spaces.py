"""`headwater space …` and `headwater key …`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from psycopg import AsyncConnection

from headwater.cli.connect import in_transaction, told
from headwater.cli.failure import Failure
from headwater.cli.output import show
from headwater.cli.tables import key_rows
from headwater.settings import Settings
from headwater.spaces import keys, spaces
from headwater.spaces.models import Space
from headwater.spaces.settings_input import read_changes


def create_space(settings: Settings, arguments: Namespace) -> int:
    given = {
        "name": arguments.name,
        "timezone": arguments.timezone,
        "currency": arguments.currency,
        "company_identity_mode": arguments.company_identity_mode,
    }
    with told(settings):
        changes = read_changes({key: text for key, text in given.items() if text is not None})

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        return await _whole(connection, await spaces.create_space(connection, changes))

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def set_space(settings: Settings, arguments: Namespace) -> int:
    # Every room of the API, which the other commands of this module do without.
    from headwater.public_api.operations import RATE_LIMITS  # noqa: PLC0415 - half a second of imports

    with told(settings):
        changes = read_changes(pairs(arguments.changes), RATE_LIMITS)

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        space = await spaces.change_space(connection, arguments.space, changes)
        return await _whole(connection, space)

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def show_space(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        return await _whole(connection, await spaces.fetch_space(connection, arguments.space))

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def list_spaces(settings: Settings, arguments: Namespace) -> int:
    listed = in_transaction(settings, spaces.list_spaces)
    if arguments.json:
        show([asdict(space) for space in listed], as_json=True)
    else:
        columns = ("id", "name", "timezone", "currency", "company_identity_mode", "subscription")
        rows = [{name: getattr(space, name) for name in columns} for space in listed]
        show(rows, as_json=False)
    return 0


def create_key(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        scopes = arguments.scope or keys.SCOPES
        key, stored = await keys.create_key(connection, arguments.space, arguments.name, scopes)
        return {"key": key, "id": stored.id, "name": stored.name, "scopes": stored.scopes}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def list_keys(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[keys.ApiKey]:
        return await keys.list_keys(connection, arguments.space)

    listed = in_transaction(settings, act)
    rows = [asdict(key) for key in listed] if arguments.json else key_rows(listed)
    show(rows, as_json=arguments.json)
    return 0


def revoke_key(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> keys.ApiKey:
        return await keys.revoke_key(connection, arguments.space, arguments.key_id)

    show(asdict(in_transaction(settings, act)), as_json=arguments.json)
    return 0


async def _whole(connection: AsyncConnection, space: Space) -> dict[str, Any]:
    return asdict(space) | {"limits": await spaces.fetch_limits(connection, space.id)}


def pairs(texts: list[str]) -> dict[str, str]:
    """KEY=VALUE arguments, each key once. Raises Failure."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise Failure(f"{text}: must be KEY=VALUE")
        if key in found:
            raise Failure(f"{key}: given twice")
        found[key] = value
    return found
