"""`headwater key …`: a Space's API keys."""

from __future__ import annotations

import textwrap
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from headwater.base.settings import Settings
from headwater.database.installation import fetch_base_url
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, NAME, SPACE
from headwater.operations.terminal.output import Noted, Output, Row
from headwater.operations.terminal.values import row_id
from headwater.spaces import keys
from headwater.spaces.key_limits import DEFAULT_OVERLAP, read_addresses, read_lifetime, read_overlap

_NAME_WIDTH = 20
_FEW = 2

_KEY_ID = Option("key_id", type=row_id, metavar="KEY_ID")
_ADDRESSES = Option(
    "--addresses", default="", metavar="A", help="only from these addresses and networks, with commas (all)"
)

group = CommandGroup()


@group.command(
    "create",
    "create an API key, shown this once",
    NAME,
    Option("--scope", action="append", metavar="S", help="limit the key to this scope; repeatable (all)"),
    Option("--expires", default="", metavar="T", help="refuse it after hours or days, such as 90d (never)"),
    _ADDRESSES,
    SPACE,
    JSON,
)
@prints
async def create_key(settings: Settings, arguments: Namespace) -> Noted:
    scopes = arguments.scope or keys.SCOPES
    limits = keys.KeyLimits(read_lifetime(arguments.expires), read_addresses(arguments.addresses))
    async with change(settings, arguments, "api_key") as connection:
        key, stored_key = await keys.create_key(
            connection, arguments.space, arguments.name, scopes, limits=limits
        )
        url = await fetch_base_url(connection, settings)
    return Noted(
        _describe_new(key, stored_key),
        f"The API is at {url}/public-api/v1; {url}/docs begins with a first call.",
    )


@group.command("list", "list a Space's keys", SPACE, JSON)
@prints
async def list_keys(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        rows = await keys.list_keys(connection, arguments.space)
    return [asdict(key) if arguments.json else _summarize(key) for key in rows]


@group.command(
    "rotate",
    "replace a key by a new one, shown this once",
    Option("--key", dest="key_id", type=row_id, required=True, metavar="KEY_ID"),
    Option(
        "--overlap",
        default=DEFAULT_OVERLAP,
        metavar="T",
        help=f"how long the old key still works, such as 7d ({DEFAULT_OVERLAP})",
    ),
    SPACE,
    JSON,
)
@prints
async def rotate_key(settings: Settings, arguments: Namespace) -> Noted:
    overlap = read_overlap(arguments.overlap)
    async with change(settings, arguments, "api_key") as connection:
        key, stored_key, ends_at = await keys.rotate_key(
            connection, arguments.space, arguments.key_id, overlap
        )
    note = f"The old key works until {ends_at:%Y-%m-%d %H:%M} UTC."
    return Noted(_describe_new(key, stored_key) | {"old_key_ends_at": ends_at}, note)


@group.command("restrict", "allow a key only from some addresses", _KEY_ID, _ADDRESSES, SPACE, JSON)
@prints
async def restrict_key(settings: Settings, arguments: Namespace) -> Row:
    addresses = read_addresses(arguments.addresses)
    async with change(settings, arguments, "api_key") as connection:
        return asdict(await keys.restrict_key(connection, arguments.space, arguments.key_id, addresses))


@group.command("revoke", "revoke a key immediately", _KEY_ID, SPACE, JSON)
@prints
async def revoke_key(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "api_key") as connection:
        return asdict(await keys.revoke_key(connection, arguments.space, arguments.key_id))


def _describe_new(key: str, api_key: keys.ApiKey) -> dict[str, Any]:
    row = {"key": key, "id": api_key.id, "name": api_key.name, "scopes": api_key.scopes}
    return row | {"expires_at": api_key.expires_at, "addresses": api_key.addresses}


def _summarize(key: keys.ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": _shorten(key.name),
        "key": f"…{key.hint}",
        "scopes": _summarize_scopes(key.scopes),
        "created": f"{key.created_at:%Y-%m-%d}",
        "last used": f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used",
        "from": f"{len(key.addresses)} networks" if key.addresses else "all",
        "ends": _summarize_end(key),
    }


def _shorten(name: str) -> str:
    if " " in name:
        return textwrap.shorten(name, _NAME_WIDTH, placeholder=" …")
    return name[:_NAME_WIDTH]


def _summarize_end(key: keys.ApiKey) -> str:
    ended_at = key.find_end(datetime.now(UTC))
    if ended_at is not None:
        return f"{'revoked' if ended_at == key.revoked_at else 'expired'} {ended_at:%Y-%m-%d}"
    return f"{key.expires_at:%Y-%m-%d}" if key.expires_at else "never"


def _summarize_scopes(scopes: Sequence[str]) -> str:
    missing_scopes = [scope for scope in keys.SCOPES if scope not in scopes]
    if not missing_scopes:
        return "all"
    if len(missing_scopes) <= _FEW:
        return f"all but {', '.join(missing_scopes)}"
    if len(scopes) <= _FEW:
        return ", ".join(scopes)
    return f"{len(scopes)} of {len(keys.SCOPES)} (--json)"
