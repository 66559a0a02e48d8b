"""The pages of a webhook and of a delivery."""

from __future__ import annotations

import time
from typing import Any

from starlette.responses import Response

from headwater.console.order_pages.webhook_view import (
    ROWS,
    STATUSES,
    advise,
    fetch_active_webhook,
    kept_message,
    pretty_body,
    read_context,
    try_body,
    webhook_path,
)
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    read_form_problem,
)
from headwater.http.errors import Invalid
from headwater.intake.webhooks.deliveries import fetch_delivery, list_deliveries, summarize_deliveries
from headwater.intake.webhooks.models import Webhook, WebhookRequest
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.webhooks import PATH, fetch_webhook
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/orders/webhooks/{webhook_id}")
SECRET = SentForm(
    "webhook secret", Permission.CHANGE_SETTINGS, once=True, is_dangerous=True, changes=("webhook",)
)
ADDRESS = SentForm("webhook address", Permission.CHANGE_SETTINGS, once=True, changes=("webhook",))
_TEST = SentForm("test webhook", Permission.READ)
_TEST_FIELDS = ("body", "topic", "delivery")
NOTHING_TYPED = "Paste a request body, or choose a delivery."
NOT_KEPT = "This delivery was not verified, so its body was not stored."


@ROUTES.page()
async def show_webhook(visit: PageVisit) -> Response:
    return await render_webhook(visit, (await fetch_active_webhook(visit)).id)


async def refuse_change(visit: PageVisit, refusal: Refusal) -> Response:
    return await render_webhook(
        visit,
        visit.id("webhook_id"),
        refusal.status,
        errors=list_form_errors(refusal),
        problem=read_form_problem(refusal),
        typed=visit.typed(*_TEST_FIELDS),
    )


@ROUTES.action("/test", _TEST, refuse_change, refuse_change)
async def post_test(visit: PageVisit) -> Response:
    """Test a pasted body or stored delivery. Stores nothing."""
    webhook = await fetch_active_webhook(visit)
    message = await _read_message(visit, webhook)
    trial = await try_body(visit.connection, visit.space, read_context(webhook), message)
    return await render_webhook(visit, webhook.id, tried=trial, typed=visit.typed(*_TEST_FIELDS))


async def _read_message(visit: PageVisit, webhook: Webhook) -> WebhookRequest:
    """Raise Invalid, and NotFound for an unknown delivery."""
    if visit.form.text("delivery"):
        delivery_id = visit.form.number("delivery")
        delivery = await fetch_delivery(visit.connection, visit.space.id, webhook.id, delivery_id)
        message = kept_message(delivery)
        if message is None:
            raise Invalid({"delivery": [NOT_KEPT]})
        return message
    body = visit.form.text("body").strip()
    if not body:
        raise Invalid({"body": [NOTHING_TYPED]})
    header = PROVIDERS[webhook.type].guide.topic_header
    headers = {header: visit.form.text("topic").strip()} if header and visit.form.text("topic") else {}
    if header and not headers:
        raise Invalid({"topic": ["Choose the delivery's topic."]})
    return WebhookRequest(headers, body.encode(), time.time())


@ROUTES.page("/deliveries/{delivery_id}")
async def show_delivery(visit: PageVisit) -> Response:
    webhook = await fetch_active_webhook(visit)
    delivery = await fetch_delivery(visit.connection, visit.space.id, webhook.id, visit.id("delivery_id"))
    message, trial = kept_message(delivery), None
    if message is not None:
        trial = await try_body(visit.connection, visit.space, read_context(webhook), message)
    values: dict[str, Any] = {
        "webhook": webhook,
        "delivery": delivery,
        "tried": trial,
        "body": None if delivery.body is None else pretty_body(delivery.body),
        "statuses": STATUSES,
        "advice": advise(webhook, delivery.detail),
        "here": visit.path(webhook_path(webhook.id)),
        "orders": visit.path("/orders"),
    }
    return visit.render("webhook_delivery.html", values)


async def render_webhook(
    visit: PageVisit, webhook_id: int, status: int = 200, token: str | None = None, **values: Any
) -> Response:
    """Fill in `values` of a submitted form. The URL is shown only with its `token`, which exists only at
    creation.
    """
    webhook = await fetch_webhook(visit.connection, visit.space.id, webhook_id)
    provider = PROVIDERS[webhook.type]
    common: dict[str, Any] = {
        "webhook": webhook,
        "provider": provider,
        "address": f"{visit.services.base_url}{PATH}/{token}" if token else None,
        "deliveries": await list_deliveries(visit.connection, visit.space.id, webhook_id, ROWS),
        "summary": (await summarize_deliveries(visit.connection, visit.space.id, [webhook_id])).get(
            webhook_id
        ),
        "statuses": STATUSES,
        "advise": advise,
        "topics": list(dict.fromkeys([*provider.events, *webhook.settings.events])),
        "secret_once": visit.once(SECRET.name),
        "address_once": visit.once(ADDRESS.name),
        "made": None,
        "problem": None,
        "tried": None,
        "typed": {"body": "", "topic": "", "delivery": ""},
        "orders": visit.path("/orders"),
        "here": visit.path(webhook_path(webhook_id)),
    }
    return visit.render("webhook.html", common | values, status)
