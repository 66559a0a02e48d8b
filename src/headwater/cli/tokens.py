"""`headwater pat …`: personal access tokens of assistants and scripts."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from headwater.base.settings import Settings
from headwater.cli.users import fetch_user
from headwater.database.installation import fetch_base_url
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, NAME, SPACE
from headwater.operations.terminal.output import Noted, Output, Row
from headwater.operations.terminal.values import row_id
from headwater.spaces.accounts import tokens
from headwater.spaces.spaces import fetch_space

group = CommandGroup()


@group.command(
    "create",
    "create a token, shown this once",
    Option("--user", required=True, metavar="E", help="whose it is, by e-mail address"),
    NAME,
    SPACE,
    JSON,
)
@prints
async def create_token(settings: Settings, arguments: Namespace) -> Noted:
    async with change(settings, arguments, "assistant_token") as connection:
        user = await fetch_user(connection, arguments.user)
        new = tokens.NewToken(user.id, "personal", arguments.name)
        token, token_id = await tokens.issue_token(connection, arguments.space, new)
        url = await fetch_base_url(connection, settings)
    row = {"token": token, "id": token_id, "name": new.name.strip(), "user": user.email}
    return Noted(row, f"It opens {url}/mcp/{arguments.space}/public-api to an assistant.")


@group.command("list", "list a Space's tokens", SPACE, JSON)
@prints
async def list_tokens(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        rows = await tokens.list_tokens(connection, arguments.space)
    return [_describe(token) for token in rows]


@group.command(
    "revoke", "revoke a token immediately", Option("token_id", type=row_id, metavar="TOKEN_ID"), SPACE, JSON
)
@prints
async def revoke_token(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "assistant_token") as connection:
        await tokens.revoke_token(connection, arguments.space, arguments.token_id)
    return {"id": arguments.token_id, "revoked": True}


def _describe(token: tokens.StoredToken) -> dict[str, Any]:
    row = asdict(token)
    owner = row.pop("owner")
    return row | {"user": owner["email"]}
