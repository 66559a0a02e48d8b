"""`headwater webhook …`: webhooks for events of other services, and their deliveries."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.installation import fetch_base_url
from headwater.intake.webhooks import deliveries, webhooks
from headwater.intake.webhooks.interpretation import preview_outcome
from headwater.intake.webhooks.models import ReadContext, Webhook, WebhookRequest
from headwater.intake.webhooks.settings_input import check_type, read_settings
from headwater.operations.terminal.audited import change, note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, NAME, SPACE
from headwater.operations.terminal.output import Output, Row
from headwater.operations.terminal.values import read_pairs, row_count, row_id
from headwater.spaces.audit.entries import AuditChange

WEBHOOK_ID = Option("webhook_id", type=row_id, metavar="WEBHOOK_ID")
TYPE = Option("--type", required=True, metavar="T", help="generic, stripe, …")
SETTING = Option("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")

group = CommandGroup()


@group.command(
    "create",
    "create a webhook",
    NAME,
    Option("--secret-stdin", action="store_true", help="read the signing secret"),
    TYPE,
    SETTING,
    SPACE,
    JSON,
)
@prints
async def create_webhook(settings: Settings, arguments: Namespace) -> Row:
    secret = sys.stdin.readline().strip() if arguments.secret_stdin else None
    check_type(arguments.type, has_secret=bool(secret))
    reading = read_settings(arguments.type, read_pairs(arguments.changes))
    if reading.signature_header and not secret:
        raise Failure("signature_header: give the signing secret with --secret-stdin")
    new = webhooks.NewWebhook(arguments.type, arguments.name, reading, secret or None)
    key = load_encryption_key(settings)
    async with change(settings, arguments, "webhook") as connection:
        token, webhook_id = await webhooks.create_webhook(connection, arguments.space, new, key)
        url = await fetch_base_url(connection, settings) + f"{webhooks.PATH}/{token}"
    return {"url": url, "id": webhook_id, "type": new.type, "name": new.name}


@group.command(
    "set",
    "change how its deliveries are read",
    WEBHOOK_ID,
    Option("changes", nargs="+", metavar="KEY=VALUE"),
    SPACE,
    JSON,
)
@prints
async def change_webhook(settings: Settings, arguments: Namespace) -> Row:
    changes = read_pairs(arguments.changes)
    space_id, webhook_id = arguments.space, arguments.webhook_id
    async with change(settings, arguments, "webhook") as connection:
        before = await webhooks.fetch_webhook(connection, space_id, webhook_id)
        reading = read_settings(before.type, changes, before.settings)
        await webhooks.change_webhook(connection, space_id, webhook_id, reading)
        return _describe(await webhooks.fetch_webhook(connection, space_id, webhook_id))


@group.command("list", "list a Space's webhooks", SPACE, JSON)
@prints
async def list_webhooks(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        rows = await webhooks.list_webhooks(connection, arguments.space)
    return [_describe(webhook) for webhook in rows]


@group.command("revoke", "end a webhook immediately", WEBHOOK_ID, SPACE, JSON)
@prints
async def revoke_webhook(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "webhook") as connection:
        return _describe(await webhooks.revoke_webhook(connection, arguments.space, arguments.webhook_id))


@group.command(
    "deliveries",
    "list deliveries",
    Option("webhook_id", type=row_id, nargs="?", metavar="WEBHOOK_ID"),
    Option("--limit", type=row_count, default=20, metavar="N", help="at most (20)"),
    Option("--bodies", action="store_true", help="show what came, too"),
    SPACE,
    JSON,
)
@prints
async def list_deliveries(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        found_rows = await deliveries.list_deliveries(
            connection, arguments.space, arguments.webhook_id, arguments.limit
        )
    hidden_names = set[str]() if arguments.bodies else {"headers", "body"}
    rows = [asdict(delivery) for delivery in found_rows]
    return [{name: row[name] for name in row if name not in hidden_names} for row in rows]


@group.command(
    "replay",
    "process a delivery again",
    Option("delivery_id", type=row_id, metavar="DELIVERY_ID"),
    SPACE,
    JSON,
)
@prints
async def replay(settings: Settings, arguments: Namespace) -> Row:
    async with transaction(settings) as connection:
        outcome, receipt_id = await deliveries.replay_delivery(
            connection, arguments.space, arguments.delivery_id
        )
        await note_change(connection, arguments, AuditChange("webhook_delivery", arguments.delivery_id))
    return {"status": outcome.status, "detail": outcome.detail, "receipt_id": receipt_id}


@group.command(
    "test",
    "show what a body would become",
    Option("file", metavar="FILE", help="a file with the body; - is standard input"),
    Option("--header", action="append", default=[], metavar="NAME=VALUE"),
    TYPE,
    SETTING,
    JSON,
)
@prints
def try_mapping(_: Settings, arguments: Namespace) -> Output:
    """Show a body's outcome without storing anything."""
    headers = {name.lower(): text for name, text in read_pairs(arguments.header).items()}
    request = WebhookRequest(headers, _read_body(arguments.file), time.time())
    check_type(arguments.type, has_secret=True)
    reading = read_settings(arguments.type, read_pairs(arguments.changes))
    context = ReadContext(arguments.type, reading)
    outcome = preview_outcome(context, request)
    event = None if outcome.event is None else msgspec.to_builtins(outcome.event)
    result = {"status": outcome.status, "detail": outcome.detail, "event": event}
    if outcome.refund is not None:
        result["refund"] = msgspec.to_builtins(outcome.refund)
    return result


def _read_body(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None


def _describe(webhook: Webhook) -> dict[str, Any]:
    row = asdict(webhook)
    reading = row.pop("settings")
    return row | reading
