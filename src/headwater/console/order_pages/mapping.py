"""A webhook's mapping: topics to events, and expressions for fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, without_keys
from headwater.console.order_pages.webhook_view import (
    OutcomeView,
    fetch_active_webhook,
    kept_message,
    try_body,
    webhook_path,
)
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Errors, Invalid
from headwater.intake.webhooks.deliveries import list_deliveries
from headwater.intake.webhooks.mapping import DESTINATIONS
from headwater.intake.webhooks.models import Delivery, ReadContext, Webhook, WebhookSettings
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.providers.generic import ANYTHING, GENERIC
from headwater.intake.webhooks.settings_input import COUNT, read_settings
from headwater.intake.webhooks.webhooks import change_webhook
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/orders/webhooks/{webhook_id}/mapping")
SPARE_ROWS = 3
"""Empty rows at the end of each table."""
MOST_DELIVERIES = 20
NEVER = "-"
"""Event name of an ignored topic, in the form."""
USUAL_FIELDS = (
    "email",
    "amount",
    "currency",
    "order_id",
    "event_time",
    "trk_token",
    "first_name",
    "last_name",
    "phone",
    "url",
    "order_name",
    "idempotency_key",
    "heard_about_us",
)


class MappingRow(Struct, frozen=True):
    """A topic's event or a field's expression, with its errors."""

    key: str
    value: str
    topic: str = ""
    rules: Sequence[str] = field(default_factory=list[str])


@ROUTES.page("", Permission.CHANGE_SETTINGS)
async def show_mapping(visit: PageVisit) -> Response:
    webhook = await fetch_active_webhook(visit)
    return await _page(visit, webhook, _pairs(webhook.settings))


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    pairs, _ = _read_pairs(visit.form)
    errors = without_keys(list_form_errors(refusal))
    return await _page(visit, await fetch_active_webhook(visit), pairs, errors=errors)


@ROUTES.action("", SentForm("webhook mapping", Permission.CHANGE_SETTINGS, changes=("webhook",)), _refuse)
async def post_mapping(visit: PageVisit) -> Response:
    """Save the mapping, or preview it on the latest delivery."""
    webhook = await fetch_active_webhook(visit)
    pairs, repeated = _read_pairs(visit.form)
    settings = _read(webhook, pairs, repeated)
    if visit.form.text("preview"):
        return await _page(visit, webhook, pairs, tried=await _preview(visit, webhook, settings))
    await change_webhook(visit.connection, visit.space.id, webhook.id, settings)
    return visit.redirect(webhook_path(webhook.id), FlashMessage.MAPPING_SAVED)


def _read(webhook: Webhook, pairs: dict[str, str], repeated: Errors) -> WebhookSettings:
    """Raise Invalid for bad input."""
    if repeated:
        raise Invalid(repeated)
    return read_settings(webhook.type, pairs)


def _pairs(settings: WebhookSettings) -> dict[str, str]:
    events = {
        "event" if topic == ANYTHING else f"event.{topic}": name for topic, name in settings.events.items()
    }
    mapping = {f"map.{name}": text for name, text in settings.mapping.items()}
    single_values = {"topic": settings.topic, "signature_header": settings.signature_header}
    if settings.takes_tests:
        single_values["test_orders"] = COUNT
    return events | mapping | {key: text for key, text in single_values.items() if text}


def _read_pairs(form: PostedForm) -> tuple[dict[str, str], Errors]:
    pairs: dict[str, str] = {}
    repeated: Errors = {}

    def put(key: str, text: str) -> None:
        if key in pairs:
            repeated[key] = ["This was given twice, and only the last is kept here. Check it, then save."]
        pairs[key] = text

    for topic, name in zip(form.texts("topic_of"), form.texts("event_of"), strict=False):
        if topic.strip() and name:
            put(f"event.{topic.strip()}", "" if name == NEVER else name)
    rows = zip(form.texts("field"), form.texts("only"), form.texts("expression"), strict=False)
    for name, topic_text, text in rows:
        if name:
            put(f"map.{name}@{topic_text.strip()}" if topic_text.strip() else f"map.{name}", text.strip())
    for key in ("event", "topic", "signature_header", "test_orders"):
        if form.text(key).strip():
            put(key, form.text(key).strip())
    return pairs, repeated


async def _preview(visit: PageVisit, webhook: Webhook, settings: WebhookSettings) -> OutcomeView | None:
    """Use the latest delivery with a stored body; None without one."""
    delivery = await _fetch_latest_kept(visit, webhook)
    message = kept_message(delivery) if delivery else None
    if message is None:
        return None
    return await try_body(visit.connection, visit.space, ReadContext(webhook.type, settings), message)


async def _fetch_latest_kept(visit: PageVisit, webhook: Webhook) -> Delivery | None:
    deliveries = await list_deliveries(visit.connection, visit.space.id, webhook.id, MOST_DELIVERIES)
    return next((delivery for delivery in deliveries if delivery.body is not None), None)


async def _page(visit: PageVisit, webhook: Webhook, pairs: dict[str, str], **values: Any) -> Response:
    provider, rules = PROVIDERS[webhook.type], values.get("errors", {})
    topics = [
        MappingRow(key[6:], name or NEVER, rules=rules.get(key, []))
        for key, name in pairs.items()
        if key.startswith("event.")
    ]
    fields = [
        MappingRow(name, text, topic, rules.get(key, []))
        for key, text in pairs.items()
        if key.startswith("map.")
        for name, _, topic in [key[4:].partition("@")]
    ]
    spare = [MappingRow("", "") for _ in range(SPARE_ROWS)]
    common: dict[str, Any] = {
        "webhook": webhook,
        "provider": provider,
        "topics": [*topics, *spare],
        "fields": [*fields, *spare],
        "pairs": pairs,
        "errors": rules,
        "is_generic": webhook.type == GENERIC.type,
        "event_names": EVENT_NAMES,
        "never": NEVER,
        "usual": USUAL_FIELDS,
        "others": [name for name in DESTINATIONS if name not in USUAL_FIELDS],
        "latest": await _fetch_latest_kept(visit, webhook),
        "here": visit.path(webhook_path(webhook.id)),
        "orders": visit.path("/orders"),
        "tried": values.get("tried"),
    }
    return visit.render("webhook_mapping.html", common, 422 if rules else 200)
