"""POST /webhooks/{token}. The token is the credential.

Success means that the event is on disk. Idempotency keys drop repeats.
"""

from __future__ import annotations

import time
from functools import partial

import structlog
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headwater.database.row_security import serve_space
from headwater.endpoints.services import Services, services
from headwater.http.bodies import MAX_BODY, read_body, refuse_encoding
from headwater.http.errors import Invalid, Problem, Unavailable, make_problem
from headwater.intake.inbox.inbox import Inbox, Request
from headwater.intake.webhooks.deliveries import (
    PAUSED_OUTCOME,
    begin_delivery,
    finish_delivery,
    forget_delivery,
    make_delivery_columns,
    make_inbox_rows,
    process_message,
)
from headwater.intake.webhooks.drafts import make_draft
from headwater.intake.webhooks.interpretation import check_signature
from headwater.intake.webhooks.models import Status, UnverifiedRequest, WebhookOutcome, WebhookRequest
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.webhooks import PATH, SCOPE, ActiveWebhook, find_webhook
from headwater.spaces.encryption import Unsealable

log = structlog.get_logger()


async def receive(inbox: Inbox, request: HttpRequest) -> Response:
    shared = services(request)
    async with shared.database.connection() as connection:
        webhook = await find_webhook(connection, request.path_params["token"])
    if webhook is None:
        raise make_problem(404)
    serve_space(webhook.caller.space_id)
    webhook.caller.authorize(SCOPE)
    refuse_encoding(request.headers.get("content-encoding"))
    message = await _read(request)
    await _count(request, inbox, webhook)
    message, rejection = _verify(webhook, shared.sealing_key, message)
    space_id, reader = webhook.caller.space_id, webhook.reader
    draft = rejection or (PAUSED_OUTCOME if webhook.paused else None)
    draft = draft or await make_draft(space_id, reader, message)
    async with shared.database.transaction() as connection:
        outcome = rejection or await process_message(connection, space_id, reader, message, draft)
        columns = make_delivery_columns(webhook.reader, message, outcome, believed=rejection is None)
        delivery_id = await begin_delivery(connection, space_id, webhook.id, columns)
    receipt_id = await _accept(shared, inbox, webhook, outcome, delivery_id)
    if rejection is not None:
        raise Problem(outcome.detail, 401)
    if outcome.status is Status.REFUSED and PROVIDERS[webhook.reader.type].refuses_unmappable:
        raise Invalid(outcome.errors)
    content = {"status": outcome.status.value, "message": outcome.detail}
    return JSONResponse(content if receipt_id is None else {**content, "receipt_id": str(receipt_id)})


async def _read(request: HttpRequest) -> WebhookRequest:
    # The first of repeated headers counts.
    headers = dict(reversed(request.headers.items()))
    return WebhookRequest(headers, await read_body(request.receive, MAX_BODY), time.time())


def _verify(
    webhook: ActiveWebhook, sealing_key: bytes, message: WebhookRequest
) -> tuple[WebhookRequest, WebhookOutcome | None]:
    """Return the signed part, and an outcome if unverified. Raises Unavailable if the secret can't be
    unsealed.
    """
    try:
        return check_signature(webhook.reader, webhook.secret(sealing_key), message), None
    except UnverifiedRequest as refusal:
        return message, WebhookOutcome(Status.REFUSED, str(refusal))
    except Unsealable:
        log.warning("webhook_secret_unreadable", space_id=webhook.caller.space_id, webhook=webhook.id)
        raise Unavailable from None


async def _count(request: HttpRequest, inbox: Inbox, webhook: ActiveWebhook) -> None:
    limit = services(request).keys.limit(webhook.caller, inbox.limit)
    empty_request = Request(webhook.caller.space_id, limit, 1, [])
    try:
        await inbox.put(empty_request)
    finally:
        request.scope["headwater.quota"] = empty_request.quota


async def _accept(
    shared: Services, inbox: Inbox, webhook: ActiveWebhook, outcome: WebhookOutcome, delivery_id: int
) -> int | None:
    """Return the first receipt. On failure, delete the delivery: senders retry."""
    rows = make_inbox_rows(outcome)
    if not rows:
        return None
    space_id = webhook.caller.space_id
    limit = shared.keys.limit(webhook.caller, inbox.limit)
    inbox_request = Request(space_id, limit, 0, rows)
    try:
        await inbox.put(inbox_request)
    except Problem:
        async with shared.database.connection() as connection:
            await forget_delivery(connection, space_id, delivery_id)
        raise
    async with shared.database.connection() as connection:
        await finish_delivery(connection, space_id, delivery_id, outcome, inbox_request.receipts[0])
    return inbox_request.receipts[0]


def webhook_routes(inbox: Inbox) -> list[Route]:
    return [Route(f"{PATH}/{{token}}", partial(receive, inbox), methods=["POST"])]
