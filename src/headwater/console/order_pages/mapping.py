"""The mapping of a webhook: which topic becomes which event, and where fields stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form, without_keys
from headwater.console.order_pages.webhook_view import (
    OutcomeView,
    kept_message,
    orders_path,
    read_webhook,
    try_body,
    webhook_path,
)
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
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

FORM = "webhook mapping"
SPARE_ROWS = 3
"""Empty rows at the end of each table of the form."""
LATEST = 20
"""The last deliveries among which the one to preview is looked for."""
NEVER = "-"
"""The event name of a topic that is ignored, in the form."""
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


@dataclass(frozen=True)
class MappingRow:
    """A row of the form: a topic's event, or a field's expression, and the rules it breaks."""

    key: str
    value: str
    topic: str = ""
    rules: Sequence[str] = field(default_factory=list[str])


async def show_mapping(request: Request) -> Response:
    """Show how deliveries are read."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        webhook = await read_webhook(connection, request, inside.space)
        return await _page(request, connection, inside, webhook, _pairs(webhook.settings))


async def post_mapping(request: Request) -> Response:
    """Save how deliveries are read, or show what would become of the latest by it."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        webhook = await read_webhook(connection, request, inside.space)
        pairs, repeated = _read_pairs(form)
        try:
            settings = _read(webhook, pairs, repeated)
        except Invalid as error:
            errors = without_keys(error.errors)
            return await _page(request, connection, inside, webhook, pairs, errors=errors)
        if form.text("preview"):
            tried = await _preview(connection, inside, webhook, settings)
            return await _page(request, connection, inside, webhook, pairs, tried=tried)
        await change_webhook(connection, inside.space.id, webhook.id, settings)
    location = webhook_path(inside.space.id, webhook.id)
    return redirect(request, location, FlashMessage.MAPPING_SAVED)


def _read(webhook: Webhook, pairs: dict[str, str], repeated: Errors) -> WebhookSettings:
    """The settings that the pairs are. Raises Invalid."""
    if repeated:
        raise Invalid(repeated)
    return read_settings(webhook.type, pairs)


def _pairs(settings: WebhookSettings) -> dict[str, str]:
    """Settings as the KEY=VALUE pairs of the command line."""
    events = {
        "event" if topic == ANYTHING else f"event.{topic}": name for topic, name in settings.events.items()
    }
    mapping = {f"map.{name}": text for name, text in settings.mapping.items()}
    single = {"topic": settings.topic, "signature_header": settings.signature_header}
    if settings.takes_tests:
        single["test_orders"] = COUNT
    return events | mapping | {key: text for key, text in single.items() if text}


def _read_pairs(form: PostedForm) -> tuple[dict[str, str], Errors]:
    """The pairs that the form holds, and the keys that stand in it twice."""
    pairs: dict[str, str] = {}
    repeated: Errors = {}

    def put(key: str, text: str) -> None:
        if key in pairs:
            repeated[key] = ["This is here twice: remove one of them."]
        pairs[key] = text

    for topic, name in zip(form.texts("topic_of"), form.texts("event_of"), strict=False):
        if topic.strip() and name:
            put(f"event.{topic.strip()}", "" if name == NEVER else name)
    rows = zip(form.texts("field"), form.texts("only"), form.texts("expression"), strict=False)
    for name, only, text in rows:
        if name:
            put(f"map.{name}@{only.strip()}" if only.strip() else f"map.{name}", text.strip())
    for key in ("event", "topic", "signature_header", "test_orders"):
        if form.text(key).strip():
            put(key, form.text(key).strip())
    return pairs, repeated


async def _preview(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook, settings: WebhookSettings
) -> OutcomeView | None:
    """The outcome of the latest delivery whose body was kept; None when there is none."""
    delivery = await _latest_kept(connection, inside, webhook)
    message = kept_message(delivery) if delivery else None
    if message is None:
        return None
    context = ReadContext(webhook.type, settings)
    return await try_body(connection, inside.space, context, message)


async def _latest_kept(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook
) -> Delivery | None:
    listed = await list_deliveries(connection, inside.space.id, webhook.id, LATEST)
    return next((each for each in listed if each.body is not None), None)


async def _page(
    request: Request,
    connection: AsyncConnection,
    inside: SpaceVisitor,
    webhook: Webhook,
    pairs: dict[str, str],
    **values: Any,
) -> Response:
    provider, rules = PROVIDERS[webhook.type], values.get("errors", {})
    topics = [
        MappingRow(key[6:], name or NEVER, rules=rules.get(key, []))
        for key, name in pairs.items()
        if key.startswith("event.")
    ]
    fields = [
        MappingRow(name, text, only, rules.get(key, []))
        for key, text in pairs.items()
        if key.startswith("map.")
        for name, _, only in [key[4:].partition("@")]
    ]
    spare = [MappingRow("", "") for _ in range(SPARE_ROWS)]
    return render(
        request,
        "webhook_mapping.html",
        status=422 if rules else 200,
        webhook=webhook,
        provider=provider,
        topics=[*topics, *spare],
        fields=[*fields, *spare],
        pairs=pairs,
        errors=rules,
        is_generic=webhook.type == GENERIC.type,
        event_names=EVENT_NAMES,
        never=NEVER,
        usual=USUAL_FIELDS,
        others=[name for name in DESTINATIONS if name not in USUAL_FIELDS],
        latest=await _latest_kept(connection, inside, webhook),
        here=webhook_path(inside.space.id, webhook.id),
        orders=orders_path(inside.space.id),
        tried=values.get("tried"),
    )


_PATH = f"{HOME}/spaces/{{space_id}}/orders/webhooks/{{webhook_id}}/mapping"
ROUTES = [Route(_PATH, show_mapping, methods=["GET"]), Route(_PATH, post_mapping, methods=["POST"])]
