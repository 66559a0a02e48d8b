"""`headwater alerts …`: a Space's alerts, its custom rules and its channels."""

from __future__ import annotations

from argparse import Namespace

from headwater.alerts.custom_rules.stored_rules import list_rules
from headwater.alerts.history import list_history
from headwater.alerts.notifications.channels import list_channels
from headwater.alerts.notifications.probe import try_channel
from headwater.alerts.notifications.sender import Outlet
from headwater.base.egress.client import Egress
from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.installation import fetch_base_url
from headwater.database.pool import Database
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import database_url, transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output, Row
from headwater.operations.terminal.values import row_id
from headwater.spaces.spaces import fetch_space

group = CommandGroup()


@group.command(
    "list",
    "list open alerts",
    Option("--ended", action="store_true", help="list ended alerts instead"),
    SPACE,
    JSON,
)
@prints
async def list_alerts(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        history = await list_history(connection, arguments.space, is_open=not arguments.ended)
    return [
        {
            "id": alert.id,
            "rule": alert.rule,
            "subject": alert.subject,
            "title": alert.title,
            "cause": alert.cause,
            "opened_at": alert.opened_at.isoformat(),
            "ended_at": alert.ended_at and alert.ended_at.isoformat(),
        }
        for alert in history
    ]


@group.command("rules", "list a Space's own rules, with their figures", SPACE, JSON)
@prints
async def list_custom_rules(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        rules = await list_rules(connection, arguments.space)
    return [
        {
            "id": rule.id,
            "rule": rule.terms.title,
            "days": rule.terms.days,
            "figure": None if rule.figure is None else float(rule.figure),
            "note": rule.note,
            "checked_at": rule.checked_at and rule.checked_at.isoformat(),
            "muted_until": rule.muted_until and rule.muted_until.isoformat(),
        }
        for rule in rules
    ]


@group.command("channels", "list where alerts and reports go", SPACE, JSON)
@prints
async def list_targets(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        channels = await list_channels(connection, arguments.space)
    return [
        {
            "id": channel.id,
            "kind": channel.kind,
            "name": channel.name,
            "to": channel.hint,
            "confirmed": channel.confirmed_at is not None,
            "rules": ",".join(channel.rules),
            "last_error": channel.error,
        }
        for channel in channels
    ]


@group.command(
    "test",
    "send a test message to a channel",
    Option("channel_id", type=row_id, metavar="CHANNEL_ID"),
    SPACE,
    JSON,
)
@prints
async def test_channel(settings: Settings, arguments: Namespace) -> Row:
    key = load_encryption_key(settings)
    async with Database(database_url(settings), 1) as database:
        async with database.transaction() as connection:
            space = await fetch_space(connection, arguments.space)
            base_url = await fetch_base_url(connection, settings)
        async with Egress(settings.notify_hosts) as egress:
            outlet = Outlet(settings, egress, key, base_url)
            result = await try_channel(database, outlet, space, arguments.channel_id)
    if result.error is not None:
        raise Failure(result.error)
    return {"channel": arguments.channel_id, "sent": True}
