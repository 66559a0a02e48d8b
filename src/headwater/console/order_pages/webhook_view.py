"""Deliveries and outcomes, prepared for pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.console.visits import PageVisit
from headwater.events.refunds.reports import AcceptedRefund
from headwater.http.errors import Errors, NotFound
from headwater.intake.webhooks.deliveries import process_message
from headwater.intake.webhooks.drafts import make_draft
from headwater.intake.webhooks.interpretation import UNSIGNED
from headwater.intake.webhooks.models import (
    Delivery,
    ReadContext,
    Status,
    Webhook,
    WebhookOutcome,
    WebhookRequest,
)
from headwater.intake.webhooks.providers import PROVIDERS, Provider
from headwater.intake.webhooks.providers.generic import GENERIC
from headwater.intake.webhooks.webhooks import fetch_webhook
from headwater.spaces.models import Space

ROWS = 50
STATUSES = {
    Status.ACCEPTED: "became an event, or already was one",
    Status.IGNORED: "nothing to store",
    Status.PAUSED: "stored while the webhook was paused",
    Status.REFUSED: "created no event",
}


class OutcomeView(Struct, frozen=True):
    """The outcome of a body, in words."""

    status: Status
    detail: str
    fields: Sequence[tuple[str, str]]
    occurred_at: datetime | None
    errors: Errors


def list_senders() -> list[tuple[str, Provider]]:
    """Return types by name, the generic one last."""
    return sorted(PROVIDERS.items(), key=lambda webhook: (webhook[0] == GENERIC.type, webhook[1].guide.title))


async def fetch_active_webhook(visit: PageVisit) -> Webhook:
    """Raise NotFound, also for a revoked webhook."""
    webhook = await fetch_webhook(visit.connection, visit.space.id, visit.id("webhook_id"))
    if webhook.revoked_at is not None:
        raise NotFound("Page")
    return webhook


def webhook_path(webhook_id: int) -> str:
    return f"/orders/webhooks/{webhook_id}"


def read_context(webhook: Webhook) -> ReadContext:
    return ReadContext(webhook.type, webhook.settings)


async def try_body(
    connection: AsyncConnection, space: Space, reader: ReadContext, message: WebhookRequest
) -> OutcomeView:
    draft = await make_draft(space.id, reader, message)
    return view_outcome(await process_message(connection, space.id, reader, message, draft))


def kept_message(delivery: Delivery) -> WebhookRequest | None:
    """Return None without a stored body."""
    if delivery.body is None:
        return None
    moment = delivery.received_at.timestamp()
    return WebhookRequest(delivery.headers, delivery.body.encode(), moment)


def view_outcome(outcome: WebhookOutcome) -> OutcomeView:
    event: dict[str, Any] = {}
    if outcome.event is not None:
        event = json.loads(msgspec.json.encode(outcome.event))
    elif outcome.refund is not None:
        event = _describe_refund(outcome.refund)
    moment = event.pop("event_time", None)
    occurred_at = None if moment is None else datetime.fromtimestamp(moment / 1000, UTC)
    fields = [(name, _text(value)) for name, value in event.items()]
    return OutcomeView(outcome.status, outcome.detail, fields, occurred_at, outcome.errors)


def _describe_refund(refund: AcceptedRefund) -> dict[str, Any]:
    amounts = [statement.amount or "everything" for statement in refund.statements if not statement.failed]
    return {
        "event_time": refund.at,
        "refund of order": " or ".join(refund.order_ids),
        "money back": " + ".join(amounts) or "none",
        **({"currency": refund.currency} if refund.currency else {}),
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def pretty_body(body: str) -> str:
    try:
        return msgspec.json.format(body, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return body


def advise(webhook: Webhook, detail: str) -> str | None:
    """Advise on a delivery that failed authentication; None for others."""
    title = PROVIDERS[webhook.type].guide.title
    sender = "the sender" if webhook.type == "generic" else title
    advice = {
        UNSIGNED: f"Paste the signing secret that {sender} shows you into Signing secret.",
        "The signature does not match": (
            f"Copy the signing secret from {sender} again and paste it into Signing secret."
        ),
        "The signature is missing": (
            f"If {sender} sent this, it doesn't sign yet: enter the secret there. "
            "Otherwise the address has leaked."
        ),
        "The signature is more": "The sender's clock or this server's clock is wrong.",
        "The signature's time": "The sender's clock or this server's clock is wrong.",
        "The signature in": f"A proxy between {sender} and this server changes the headers.",
    }
    matching = (words for start, words in advice.items() if detail.startswith(start))
    return next(matching, None)
