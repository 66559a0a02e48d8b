"""The page of one webhook: how it is set up, a test, and its last deliveries; and the page of one
delivery.
"""

from __future__ import annotations

import time
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.forms import PostedForm, once_token, read_form
from headwater.console.order_pages.webhook_view import (
    ROWS,
    STATUSES,
    OutcomeView,
    advise,
    kept_message,
    orders_path,
    pretty_body,
    read_context,
    read_path_id,
    read_webhook,
    try_body,
    webhook_path,
)
from headwater.console.pages import hidden_token, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid
from headwater.intake.webhooks.deliveries import fetch_delivery, list_deliveries, summarize_deliveries
from headwater.intake.webhooks.models import Webhook, WebhookRequest
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.webhooks import PATH, fetch_webhook

TEST = "test webhook"
SECRET = "webhook secret"  # noqa: S105 # a form's name
ADDRESS = "webhook address"
NOTHING_TYPED = "Paste what the sender would post, or choose a delivery."
NOT_KEPT = "Nothing proved who had sent this delivery, so its body was not kept."


async def show_webhook(request: Request) -> Response:
    """Show a webhook."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        webhook = await read_webhook(connection, request, inside.space)
        return await render_webhook(request, connection, inside, webhook.id)


async def post_test(request: Request) -> Response:
    """Show the outcome that a body, or a kept delivery, would have now. Nothing is stored."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, TEST)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        webhook = await read_webhook(connection, request, inside.space)
        tried: OutcomeView | None = None
        errors: dict[str, list[str]] = {}
        try:
            message = await _read_message(connection, inside, webhook, form)
            context = read_context(webhook)
            tried = await try_body(connection, inside.space, context, message)
        except Invalid as error:
            errors = error.errors
        return await render_webhook(
            request,
            connection,
            inside,
            webhook.id,
            status=422 if errors else 200,
            errors=errors,
            tried=tried,
            typed={name: form.text(name) for name in ("body", "topic", "delivery")},
        )


async def _read_message(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook, form: PostedForm
) -> WebhookRequest:
    """The message that a test is about. Raises Invalid, NotFound for an unknown delivery."""
    if form.text("delivery"):
        delivery_id = form.number("delivery")
        delivery = await fetch_delivery(connection, inside.space.id, webhook.id, delivery_id)
        message = kept_message(delivery)
        if message is None:
            raise Invalid({"delivery": [NOT_KEPT]})
        return message
    body = form.text("body").strip()
    if not body:
        raise Invalid({"body": [NOTHING_TYPED]})
    header = PROVIDERS[webhook.type].guide.topic_header
    headers = {header: form.text("topic").strip()} if header and form.text("topic") else {}
    if header and not headers:
        raise Invalid({"topic": ["Choose what the delivery reports."]})
    return WebhookRequest(headers, body.encode(), time.time())


async def show_delivery(request: Request) -> Response:
    """Show what came, and what would become of it by the settings as they are now."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        space = inside.space
        webhook = await read_webhook(connection, request, space)
        delivery_id = read_path_id(request, "delivery_id")
        delivery = await fetch_delivery(connection, space.id, webhook.id, delivery_id)
        message, tried = kept_message(delivery), None
        if message is not None:
            context = read_context(webhook)
            tried = await try_body(connection, space, context, message)
    return render(
        request,
        "webhook_delivery.html",
        webhook=webhook,
        delivery=delivery,
        tried=tried,
        body=None if delivery.body is None else pretty_body(delivery.body),
        statuses=STATUSES,
        advice=advise(webhook, delivery.detail),
        here=webhook_path(space.id, webhook.id),
        orders=orders_path(space.id),
        base=f"{HOME}/spaces/{space.id}",
    )


async def render_webhook(
    request: Request,
    connection: AsyncConnection,
    inside: SpaceVisitor,
    webhook_id: int,
    *,
    status: int = 200,
    token: str | None = None,
    **values: Any,
) -> Response:
    """The page of a webhook; `values` are those of a form that was sent. With the `token` of its
    URL, which is known only while it is made, the page shows the URL.
    """
    space = inside.space
    webhook = await fetch_webhook(connection, space.id, webhook_id)
    provider = PROVIDERS[webhook.type]
    common: dict[str, Any] = {
        "webhook": webhook,
        "provider": provider,
        "address": f"{services(request).base_url}{PATH}/{token}" if token else None,
        "deliveries": await list_deliveries(connection, space.id, webhook_id, ROWS),
        "summary": (await summarize_deliveries(connection, space.id, [webhook_id])).get(webhook_id),
        "statuses": STATUSES,
        "advise": advise,
        "topics": list(dict.fromkeys([*provider.events, *webhook.settings.events])),
        "secret_once": hidden_token(once_token(inside.visitor.form_key, SECRET)),
        "address_once": hidden_token(once_token(inside.visitor.form_key, ADDRESS)),
        "made": None,
        "problem": None,
        "tried": None,
        "typed": {"body": "", "topic": "", "delivery": ""},
        "base": f"{HOME}/spaces/{space.id}",
        "orders": orders_path(space.id),
        "here": webhook_path(space.id, webhook_id),
    }
    return render(request, "webhook.html", status=status, **(common | values))


_PATH = f"{HOME}/spaces/{{space_id}}/orders/webhooks/{{webhook_id}}"
ROUTES = [
    Route(_PATH, show_webhook, methods=["GET"]),
    Route(f"{_PATH}/test", post_test, methods=["POST"]),
    Route(f"{_PATH}/deliveries/{{delivery_id}}", show_delivery, methods=["GET"]),
]
