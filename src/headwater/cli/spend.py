"""`headwater spend …`: ad accounts whose spend is pulled."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from functools import partial
from typing import Any

import msgspec

from headwater.base.settings import Settings
from headwater.database.installation import with_service_addresses
from headwater.database.jobs.due_tasks import AccountKey
from headwater.forwarding.destinations.destinations import lend_secrets
from headwater.operations.terminal.account_options import SECRET, SETTING, read_secrets
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import acts_on_row, prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output, Row, print_output
from headwater.operations.terminal.tables import join_sections, list_values, plain_text, section
from headwater.operations.terminal.values import read_pairs, row_id
from headwater.spaces.spaces import fetch_space
from headwater.spend.connections import connections
from headwater.spend.connections.answers import describe_connection
from headwater.spend.connections.inputs import read_new
from headwater.spend.platforms.registry import PLATFORMS

_COLUMNS = ("id", "platform", "name", "status", "pulled_at", "fault", "message")

CONNECTION = Option("--connection", type=row_id, required=True, metavar="ID")
PLATFORM = Option("--platform", required=True, metavar="P", help="meta, google, …")
NAME = Option("--name", metavar="N")
DESTINATION = Option(
    "--destination",
    type=row_id,
    metavar="ID",
    help="a destination of the same platform; missing tokens are copied from it",
)
EXISTING = (CONNECTION, SPACE, JSON)

group = CommandGroup()


@group.command(
    "connect", "pull an ad account's spend", PLATFORM, NAME, SETTING, SECRET, DESTINATION, SPACE, JSON
)
@prints
async def connect(settings: Settings, arguments: Namespace) -> Output:
    body: dict[str, Any] = {
        "platform": arguments.platform,
        "settings": read_pairs(arguments.changes),
        "secrets": read_secrets(arguments.secret),
    }
    if arguments.name is not None:
        body["name"] = arguments.name
    key = load_encryption_key(settings)
    async with change(settings, arguments, "spend_connection") as connection:
        borrowed_secrets = {}
        if arguments.destination is not None:
            body["destination_id"] = arguments.destination
            ids = arguments.space, arguments.destination
            borrowed_secrets = await lend_secrets(connection, *ids, arguments.platform, key)
        new = read_new(body, borrowed_secrets, as_text=True)
        row = await connections.create_connection(connection, arguments.space, new, key)
    return _describe(row, arguments)


@group.command("set", "change a connection", NAME, SETTING, SECRET, *EXISTING)
@prints
async def change_connection(settings: Settings, arguments: Namespace) -> Output:
    """Change the given options; other settings stay."""
    changes, secrets = read_pairs(arguments.changes), read_secrets(arguments.secret)
    key, row = load_encryption_key(settings), AccountKey(arguments.space, arguments.connection)
    async with change(settings, arguments, "spend_connection") as connection:
        before = await connections.fetch_connection(connection, *row)
        body: dict[str, Any] = {
            "name": arguments.name,
            "settings": {**before.settings, **changes} if changes else None,
            "secrets": secrets or None,
        }
        body = {name: value for name, value in body.items() if value is not None}
        changed_row = await connections.change_connection(connection, row, body, key, as_text=True)
    return _describe(changed_row, arguments)


@group.command("list", "list a Space's connections", SPACE, JSON)
@prints
async def list_connections(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        found_rows = await connections.list_connections(connection, arguments.space)
    rows = [msgspec.to_builtins(describe_connection(row)) for row in found_rows]
    return rows if arguments.json else [{name: row[name] for name in _COLUMNS} for row in rows]


def _describe(row: connections.ConnectionRow, arguments: Namespace) -> Output:
    description = msgspec.to_builtins(describe_connection(row))
    return description if arguments.json else _as_text(description)


_act_on = partial(acts_on_row, "spend_connection", "connection", _describe)
group.add("show", "show a connection", _act_on(connections.fetch_connection), *EXISTING)
group.add("pause", "stop pulling", _act_on(connections.pause_connection), *EXISTING)
group.add("resume", "pull again", _act_on(connections.resume_connection), *EXISTING)
group.add("pull", "pull now, in the background", _act_on(connections.pull_connection), *EXISTING)


@group.command("check", "ask the platform for the account and two days of spend", *EXISTING)
def check(settings: Settings, arguments: Namespace) -> int:
    """Return 0 if the platform answered, 1 otherwise."""
    # The client is slow to import, and only this command calls anyone.
    from headwater.base.egress.client import Egress  # noqa: PLC0415
    from headwater.spend.connections.check import SealedConnections, SpendConnectionCheck, check_connection  # noqa: PLC0415
    from headwater.spend.platforms.origins import find_urls, list_operator_hosts  # noqa: PLC0415

    key = load_encryption_key(settings)

    async def ask() -> SpendConnectionCheck:
        async with transaction(settings) as connection:
            service = await with_service_addresses(connection, settings)
        sealed_connections = SealedConnections(lambda: transaction(settings), find_urls(service), key)
        async with Egress(list_operator_hosts(service)) as egress:
            return await check_connection(
                sealed_connections, egress, AccountKey(arguments.space, arguments.connection)
            )

    check_result = asyncio.run(ask())
    print_output(msgspec.to_builtins(check_result), as_json=arguments.json)
    return 0 if check_result.ok else 1


@group.command("disconnect", "delete a connection; its spend stays", *EXISTING)
@prints
async def disconnect(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "spend_connection") as connection:
        await connections.delete_connection(connection, arguments.space, arguments.connection)
    return {"id": arguments.connection, "status": "disconnected"}


def _as_text(row: Row) -> str:
    """Format the object that `--json` prints."""
    account = row["account"]
    facts = [
        ("status", row["status"]),
        ("account", account and f"{account['name']} ({account['id']}), {account['currency']}"),
        ("time zone", account and account["timezone"]),
        ("API version", row["api_version"]),
        ("last pull", row["pulled_at"]),
        ("next pull", row["next_pull_at"]),
        ("history", f"{row['history_share']:.0%}"),
        ("failing since", row["failing_since"]),
        ("message", row["message"]),
        ("what to do", row["remedy"]),
        ("created", row["created_at"]),
        ("secrets", ", ".join(row["secrets"]) + " (stored encrypted, never shown)"),
    ]
    title = f"{PLATFORMS[row['platform']].title} “{plain_text(row['name'])}”, connection {row['id']}"
    return join_sections(
        [
            title,
            list_values([(label, value) for label, value in facts if value is not None]),
            section("Settings", list_values(list(row["settings"].items()))),
        ]
    )
