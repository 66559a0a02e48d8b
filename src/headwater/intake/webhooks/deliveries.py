"""The latest deliveries of webhooks.

A delivery is stored before its event, otherwise a person erased in between would return with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from headwater.base.masking import Mask
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Conflict, NotFound, require_found
from headwater.intake.inbox.accepted_rows import NewRow, append
from headwater.intake.webhooks.drafts import Draft, make_draft
from headwater.intake.webhooks.interpretation import finish, list_needed_headers
from headwater.intake.webhooks.models import (
    Delivery,
    DeliverySummary,
    ReadContext,
    Status,
    WebhookOutcome,
    WebhookRequest,
)
from headwater.intake.webhooks.webhooks import fetch_webhook, find_buyer
from headwater.people.identity.senders import Sender
from headwater.spaces.spaces import fetch_space

queries = Queries(__name__, "deliveries.sql")

IDENTIFYING = (
    "email",
    "phone",
    "full_name",
    "first_name",
    "last_name",
    "ip",
    "fingerprint",
    "user_agent",
    "tracking_id",
    "trk_token",
)
PAUSED_OUTCOME = WebhookOutcome(
    Status.PAUSED, "Received while the webhook was paused. Resume it, then replay this delivery."
)
KEPT_DELIVERIES = 200
KEPT_REFUSED = 20
"""For unverified deliveries, which anyone with the URL can send."""
UNFINISHED = "Not finished; the sender will retry."


async def process_message(
    connection: AsyncConnection,
    space_id: int,
    reader: ReadContext,
    message: WebhookRequest,
    draft: Draft | None = None,
) -> WebhookOutcome:
    draft = draft or await make_draft(space_id, reader, message)
    if isinstance(draft, WebhookOutcome):
        return _mask(draft, {})
    order = draft.mapped.buyer_order
    buyer = {} if order is None else await find_buyer(connection, space_id, order)
    return _mask(finish(draft, buyer, message.received_at), draft.mapped.payload)


def _mask(outcome: WebhookOutcome, payload: Mapping[str, Any]) -> WebhookOutcome:
    """Mask personal data: a topic may come from the body."""
    mask = Mask(str(payload[name]) for name in IDENTIFYING if name in payload)
    return replace(outcome, detail=mask.text(outcome.detail))


async def begin_delivery(
    connection: AsyncConnection, space_id: int, webhook_id: int, columns: Mapping[str, Any]
) -> int:
    """Drop the oldest beyond the limit, and return the id."""
    retention = KEPT_DELIVERIES if columns["believed"] else KEPT_REFUSED
    values = {"space_id": space_id, "webhook_id": webhook_id, "kept": retention, **columns}
    row = await fetch_one(connection, queries["begin"], values)
    await connection.execute(queries["trim"], values)
    return row[0]


def make_delivery_columns(
    reader: ReadContext, message: WebhookRequest, outcome: WebhookOutcome, *, believed: bool
) -> dict[str, Any]:
    """Omit an unverified body."""
    needed_headers = list_needed_headers(reader)
    headers = {name: text for name, text in message.headers.items() if name in needed_headers}
    is_accepted = outcome.status is Status.ACCEPTED
    return {
        "received_at": datetime.fromtimestamp(message.received_at, UTC),
        "headers": Jsonb({name: text.replace("\0", "") for name, text in headers.items()}),
        "body": _to_text(message.body) if believed else None,
        "status": Status.REFUSED if is_accepted else outcome.status,
        "detail": UNFINISHED if is_accepted else outcome.detail,
        "dedup_key": _find_key(outcome),
        "believed": believed,
        "is_test": outcome.is_test,
    }


async def finish_delivery(
    connection: AsyncConnection,
    space_id: int,
    delivery_id: int,
    outcome: WebhookOutcome,
    receipt_id: int | None,
) -> None:
    values = {
        "space_id": space_id,
        "id": delivery_id,
        "status": outcome.status,
        "detail": outcome.detail,
        "receipt_id": receipt_id,
        "dedup_key": _find_key(outcome),
        "is_test": outcome.is_test,
    }
    await connection.execute(queries["finish"], values)


async def forget_delivery(connection: AsyncConnection, space_id: int, delivery_id: int) -> None:
    """Delete a delivery that the sender will retry."""
    await connection.execute(queries["forget"], {"space_id": space_id, "id": delivery_id})


async def list_deliveries(
    connection: AsyncConnection, space_id: int, webhook_id: int | None, limit: int
) -> list[Delivery]:
    """Return the newest first. Raises NotFound."""
    await fetch_space(connection, space_id)
    if webhook_id is not None:
        await fetch_webhook(connection, space_id, webhook_id)
    values = {"space_id": space_id, "webhook_id": webhook_id, "limit": limit}
    return await fetch_all(make_cursor(connection, Delivery), queries["list"], values)


async def replay_delivery(
    connection: AsyncConnection, space_id: int, delivery_id: int
) -> tuple[WebhookOutcome, int | None]:
    """Process a stored delivery with current settings. Return the outcome and the receipt.

    The idempotency key of an accepted delivery stays, so that its event or refund is a duplicate. Raises
    NotFound, and Conflict without a stored body.
    """
    await fetch_space(connection, space_id)
    cursor = make_cursor(connection, Delivery)
    await cursor.execute(queries["hold"], {"space_id": space_id, "id": delivery_id})
    delivery = require_found(await cursor.fetchone(), "Delivery")
    if delivery.body is None:
        raise Conflict("This delivery was not verified, so its body was not stored.")
    webhook = await fetch_webhook(connection, space_id, delivery.webhook_id)
    reader = ReadContext(webhook.type, webhook.settings)
    received_at = delivery.received_at.timestamp()
    message = WebhookRequest(delivery.headers, delivery.body.encode(), received_at)
    outcome = await process_message(connection, space_id, reader, message)
    if delivery.dedup_key is not None:
        outcome = _keep_key(outcome, delivery.dedup_key)
    new_rows = make_inbox_rows(outcome)
    receipts = await append(connection, [space_id] * len(new_rows), new_rows)
    receipt_id = receipts[0] if receipts else None
    await finish_delivery(connection, space_id, delivery_id, outcome, receipt_id)
    return outcome, receipt_id


def make_inbox_rows(outcome: WebhookOutcome) -> list[NewRow]:
    items = [("event", outcome.event), ("refund", outcome.refund)]
    return [
        NewRow(kind, msgspec.json.encode(item), Sender.WEBHOOK) for kind, item in items if item is not None
    ]


async def replay_failed(connection: AsyncConnection, space_id: int, webhook_id: int) -> Counter[Status]:
    """Replay refused and paused deliveries, oldest first, except those trimmed or erased meanwhile. Raises
    NotFound.
    """
    await fetch_webhook(connection, space_id, webhook_id)
    values = {"space_id": space_id, "webhook_id": webhook_id}
    outcomes: Counter[Status] = Counter()
    for (delivery_id,) in await fetch_all(connection, queries["failed"], values):
        with suppress(NotFound):
            outcome, _ = await replay_delivery(connection, space_id, delivery_id)
            outcomes[outcome.status] += 1
    return outcomes


async def summarize_deliveries(
    connection: AsyncConnection, space_id: int, webhook_ids: Sequence[int]
) -> dict[int, DeliverySummary]:
    values = {"space_id": space_id, "webhook_ids": [*webhook_ids]}
    rows = await fetch_all(make_cursor(connection, DeliverySummary), queries["summarize"], values)
    return {row.webhook_id: row for row in rows}


async def fetch_delivery(
    connection: AsyncConnection, space_id: int, webhook_id: int, delivery_id: int
) -> Delivery:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "webhook_id": webhook_id, "id": delivery_id}
    return require_found(
        await fetch_optional(make_cursor(connection, Delivery), queries["fetch"], values), "Delivery"
    )


def _find_key(outcome: WebhookOutcome) -> str | None:
    if outcome.event is not None:
        return outcome.event.idempotency_key
    statements = outcome.refund.statements if outcome.refund is not None else ()
    return statements[0].item or None if len(statements) == 1 else None


def _keep_key(outcome: WebhookOutcome, key: str) -> WebhookOutcome:
    if outcome.event is not None:
        return replace(outcome, event=msgspec.structs.replace(outcome.event, idempotency_key=key))
    if outcome.refund is None or _find_key(outcome) is None:
        return outcome
    statement = msgspec.structs.replace(outcome.refund.statements[0], item=key)
    return replace(outcome, refund=msgspec.structs.replace(outcome.refund, statements=(statement,)))


def _to_text(body: bytes) -> str:
    """Return text that PostgreSQL can store."""
    return body.decode("utf-8", "replace").replace("\0", "�")
