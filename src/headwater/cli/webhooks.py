"""`headwater webhook …`: where other services report to, and what came of it."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.cli.spaces import pairs
from headwater.database.installation import with_service_addresses
from headwater.settings import Settings
from headwater.terminal.connection import in_transaction, told
from headwater.terminal.encryption_key import sealing_key
from headwater.terminal.failure import Failure
from headwater.terminal.output import show
from headwater.webhooks import deliveries as kept
from headwater.webhooks import webhooks
from headwater.webhooks.interpretation import draft_event, finish
from headwater.webhooks.models import ReadContext, Webhook, WebhookOutcome, WebhookRequest
from headwater.webhooks.settings_input import check_type, read_settings


def create(settings: Settings, arguments: Namespace) -> int:
    secret = sys.stdin.readline().strip() if arguments.secret_stdin else None
    with told(settings):
        check_type(arguments.type, has_secret=bool(secret))
        read = read_settings(arguments.type, pairs(arguments.changes))
    if read.signature_header and not secret:
        raise Failure("signature_header: give the signing secret with --secret-stdin")
    new = webhooks.NewWebhook(arguments.type, arguments.name, read, secret or None)

    key = sealing_key(settings)

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        token, webhook_id = await webhooks.create_webhook(connection, arguments.space, new, key)
        service = await with_service_addresses(connection, settings)
        url = f"{service.base_url}{webhooks.PATH}/{token}"
        return {"url": url, "id": webhook_id, "type": new.type, "name": new.name}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def change(settings: Settings, arguments: Namespace) -> int:
    changes = pairs(arguments.changes)

    async def act(connection: AsyncConnection) -> Webhook:
        space_id, webhook_id = arguments.space, arguments.webhook_id
        before = await webhooks.fetch_webhook(connection, space_id, webhook_id)
        read = read_settings(before.type, changes, before.settings)
        await webhooks.change_webhook(connection, space_id, webhook_id, read)
        return await webhooks.fetch_webhook(connection, space_id, webhook_id)

    show(_webhook(in_transaction(settings, act)), as_json=arguments.json)
    return 0


def list_all(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[Webhook]:
        return await webhooks.list_webhooks(connection, arguments.space)

    show([_webhook(each) for each in in_transaction(settings, act)], as_json=arguments.json)
    return 0


def revoke(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> Webhook:
        return await webhooks.revoke_webhook(connection, arguments.space, arguments.webhook_id)

    show(_webhook(in_transaction(settings, act)), as_json=arguments.json)
    return 0


def deliveries(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[kept.Delivery]:
        return await kept.list_deliveries(
            connection, arguments.space, arguments.webhook_id, arguments.limit
        )

    hidden = set[str]() if arguments.bodies else {"headers", "body"}
    rows = [asdict(each) for each in in_transaction(settings, act)]
    shown = [{name: row[name] for name in row if name not in hidden} for row in rows]
    show(shown, as_json=arguments.json)
    return 0


def replay(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> tuple[WebhookOutcome, int | None]:
        return await kept.replay_delivery(connection, arguments.space, arguments.delivery_id)

    outcome, receipt_id = in_transaction(settings, act)
    result = {"status": outcome.status, "detail": outcome.detail, "receipt_id": receipt_id}
    show(result, as_json=arguments.json)
    return 0


def test(settings: Settings, arguments: Namespace) -> int:
    """Show what a body would become, and store nothing."""
    headers = {name.lower(): text for name, text in pairs(arguments.header).items()}
    message = WebhookRequest(headers, _read(arguments.file), time.time())
    with told(settings):
        check_type(arguments.type, has_secret=True)
        read = read_settings(arguments.type, pairs(arguments.changes))
    reader = ReadContext(arguments.type, read, arguments.currency.upper())
    draft = draft_event(reader, message)
    if isinstance(draft, WebhookOutcome):
        outcome = draft
    else:
        outcome = finish(draft, _somebody(draft.mapped.order), reader, message.received_at)
    event = None if outcome.event is None else msgspec.to_builtins(outcome.event)
    result = {"status": outcome.status, "detail": outcome.detail, "event": event}
    show(result, as_json=arguments.json)
    return 0


def _somebody(order: str | None) -> dict[str, str]:
    """A stand-in for the buyer of an order, who is only known where the order is stored."""
    return {} if order is None else {"email": "the-buyer@example.com"}


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None


def _webhook(webhook: Webhook) -> dict[str, Any]:
    told_of = asdict(webhook)
    return {**told_of, **told_of.pop("settings")}
