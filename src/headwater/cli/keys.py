"""`headwater key …`: a Space's API keys."""

from __future__ import annotations

import textwrap
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headwater.base.settings import Settings
from headwater.database.installation import fetch_base_url
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, NAME, SPACE
from headwater.operations.terminal.output import Noted, Output, Row
from headwater.operations.terminal.values import row_id
from headwater.spaces import keys

_NAME_WIDTH = 28
_FEW = 2

group = CommandGroup()


@group.command(
    "create",
    "create an API key, shown this once",
    NAME,
    Option("--scope", action="append", metavar="S", help="limit the key to this scope; repeatable (all)"),
    SPACE,
    JSON,
)
@prints
async def create_key(settings: Settings, arguments: Namespace) -> Noted:
    scopes = arguments.scope or keys.SCOPES
    async with transaction(settings) as connection:
        key, stored = await keys.create_key(connection, arguments.space, arguments.name, scopes)
        url = await fetch_base_url(connection, settings)
    row = {"key": key, "id": stored.id, "name": stored.name, "scopes": stored.scopes}
    return Noted(row, f"The API is at {url}/public-api/v1; {url}/docs begins with a first call.")


@group.command("list", "list a Space's keys", SPACE, JSON)
@prints
async def list_keys(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        rows = await keys.list_keys(connection, arguments.space)
    return [asdict(key) if arguments.json else _summarize(key) for key in rows]


@group.command(
    "revoke", "revoke a key immediately", Option("key_id", type=row_id, metavar="KEY_ID"), SPACE, JSON
)
@prints
async def revoke_key(settings: Settings, arguments: Namespace) -> Row:
    async with transaction(settings) as connection:
        return asdict(await keys.revoke_key(connection, arguments.space, arguments.key_id))


def _summarize(key: keys.ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": _shorten(key.name),
        "key": f"…{key.hint}",
        "scopes": _summarize_scopes(key.scopes),
        "created": f"{key.created_at:%Y-%m-%d}",
        "last used": f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never",
        "revoked": f"{key.revoked_at:%Y-%m-%d}" if key.revoked_at else None,
    }


def _shorten(name: str) -> str:
    if " " in name:
        return textwrap.shorten(name, _NAME_WIDTH, placeholder=" …")
    return name[:_NAME_WIDTH]


def _summarize_scopes(scopes: Sequence[str]) -> str:
    missing = [scope for scope in keys.SCOPES if scope not in scopes]
    if not missing:
        return "all"
    if len(missing) <= _FEW:
        return f"all but {', '.join(missing)}"
    if len(scopes) <= _FEW:
        return ", ".join(scopes)
    return f"{len(scopes)} of {len(keys.SCOPES)} (--json)"
