"""POST /webhooks/{token}: where other services deliver. The token is the credential.

It is answered with success once the event is on disk and not before, so that whoever tries again
after a failure loses nothing; the idempotency key drops what comes twice.
"""

from __future__ import annotations

import time
from functools import partial

import msgspec
import structlog
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headwater.api.services import Services, services
from headwater.http.bodies import MAX_BODY, read_body, refuse_encoding
from headwater.http.errors import Invalid, Problem, Unavailable, plain
from headwater.identity.senders import Sender
from headwater.inbox.inbox import Inbox, Request
from headwater.spaces.encryption import Unsealable
from headwater.webhooks.deliveries import (
    begin_delivery,
    finish_delivery,
    forget_delivery,
    note,
    outcome_of,
)
from headwater.webhooks.interpretation import check_signature
from headwater.webhooks.models import Status, UnverifiedRequest, WebhookOutcome, WebhookRequest
from headwater.webhooks.providers import PROVIDERS
from headwater.webhooks.webhooks import PATH, SCOPE, ActiveWebhook, find_webhook

log = structlog.get_logger()


async def receive(inbox: Inbox, request: HttpRequest) -> Response:
    """Take a delivery."""
    shared = services(request)
    async with shared.database.connection() as connection:
        found = await find_webhook(connection, request.path_params["token"])
    if found is None:
        raise plain(404)
    found.caller.authorize(SCOPE)
    refuse_encoding(request.headers.get("content-encoding"))
    message = await _read(request)
    await _count(request, inbox, found)
    message, distrust = _believe(found, shared.sealing_key, message)
    async with shared.database.transaction() as connection:
        space_id = found.caller.space_id
        outcome = distrust or await outcome_of(connection, space_id, found.reader, message)
        noted = note(found.reader, message, outcome, believed=distrust is None)
        delivery_id = await begin_delivery(connection, space_id, found.id, noted)
    receipt_id = await _accept(shared, inbox, found, outcome, delivery_id)
    if distrust is not None:
        raise Problem(outcome.detail, 401)
    if outcome.status is Status.REFUSED and PROVIDERS[found.reader.type].refuses_unmappable:
        raise Invalid(outcome.errors)
    told = {"status": outcome.status.value, "message": outcome.detail}
    return JSONResponse(told if receipt_id is None else {**told, "receipt_id": str(receipt_id)})


async def _read(request: HttpRequest) -> WebhookRequest:
    # Of a header given twice the first counts, as everywhere else.
    headers = dict(reversed(request.headers.items()))
    return WebhookRequest(headers, await read_body(request.receive, MAX_BODY), time.time())


def _believe(
    found: ActiveWebhook, sealing_key: bytes, message: WebhookRequest
) -> tuple[WebhookRequest, WebhookOutcome | None]:
    """What of a message is believed, and why it is not, if it is not. Raises Unavailable when that
    cannot be told.
    """
    try:
        return check_signature(found.reader, found.secret(sealing_key), message), None
    except UnverifiedRequest as refusal:
        return message, WebhookOutcome(Status.REFUSED, str(refusal))
    except Unsealable:
        log.warning("webhook_secret_unreadable", space_id=found.caller.space_id, webhook=found.id)
        raise Unavailable from None


async def _count(request: HttpRequest, inbox: Inbox, found: ActiveWebhook) -> None:
    """Count a delivery against the Space's minute, before anything of it is stored or read."""
    limit = services(request).keys.limit(found.caller, inbox.limit)
    counted = Request(found.caller.space_id, limit, 1, [])
    try:
        await inbox.put(counted)
    finally:
        request.scope["headwater.quota"] = counted.quota


async def _accept(
    shared: Services,
    inbox: Inbox,
    found: ActiveWebhook,
    outcome: WebhookOutcome,
    delivery_id: int,
) -> int | None:
    """Have the delivery's event stored, if it is one, and return the receipt. One that cannot be
    stored leaves nothing behind: it will come again.
    """
    if outcome.event is None:
        return None
    space_id = found.caller.space_id
    limit = shared.keys.limit(found.caller, inbox.limit)
    rows = [msgspec.json.encode(outcome.event)]
    wanted = Request(space_id, limit, 0, rows, sender=Sender.WEBHOOK)
    try:
        await inbox.put(wanted)
    except Problem:
        async with shared.database.connection() as connection:
            await forget_delivery(connection, space_id, delivery_id)
        raise
    async with shared.database.connection() as connection:
        await finish_delivery(connection, space_id, delivery_id, outcome, wanted.receipts[0])
    return wanted.receipts[0]


def webhook_routes(inbox: Inbox) -> list[Route]:
    """Return the route of the endpoint; `inbox` takes what is delivered."""
    return [Route(f"{PATH}/{{token}}", partial(receive, inbox), methods=["POST"])]
