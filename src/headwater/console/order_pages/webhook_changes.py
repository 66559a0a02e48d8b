"""Changes to a webhook: its signing secret, its address, paused, resumed, deleted, and deliveries
read once more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form, read_form_once, spend
from headwater.console.order_pages.webhook import ADDRESS, SECRET, render_webhook
from headwater.console.order_pages.webhook_view import orders_path, read_path_id, read_webhook, webhook_path
from headwater.console.order_pages.webhook_wizard import make_secret, read_secret
from headwater.console.pages import redirect
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Conflict, Invalid
from headwater.intake.webhooks.credentials import change_address, change_secret
from headwater.intake.webhooks.deliveries import fetch_delivery, replay_delivery, replay_failed
from headwater.intake.webhooks.models import Status, Webhook
from headwater.intake.webhooks.webhooks import pause_webhook, revoke_webhook
from headwater.spaces.accounts.roles import Permission

FORM = "change webhook"

Change = Callable[[AsyncConnection, SpaceVisitor, Webhook, PostedForm], Awaitable[FlashMessage]]


def _changing(permission: Permission, change: Change) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a form that changes a webhook and leads back to its page."""

    async def post(request: Request) -> Response:
        visitor = await require_visitor(request)
        form = await read_form(request, visitor.form_key, FORM)
        try:
            async with services(request).database.transaction() as connection:
                inside = await enter(connection, request, visitor, permission)
                webhook = await read_webhook(connection, request, inside.space)
                message = await change(connection, inside, webhook, form)
        except Conflict as error:
            return await _refuse(request, permission, error)
        if message is FlashMessage.WEBHOOK_DELETED:
            return redirect(request, orders_path(inside.space.id), message)
        return redirect(request, webhook_path(inside.space.id, webhook.id), message)

    return post


async def _refuse(request: Request, permission: Permission, error: Conflict) -> Response:
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor, permission)
        return await render_webhook(
            request,
            connection,
            inside,
            read_path_id(request, "webhook_id"),
            status=409,
            problem=error.message,
        )


async def post_secret(request: Request) -> Response:
    """Replace the signing secret by one that was typed, or that is made and shown this once."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, SECRET)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        webhook = await read_webhook(connection, request, inside.space)
        made = bool(form.text("make"))
        try:
            secret = make_secret() if made else read_secret(form.text("secret"))
        except Invalid as error:
            return await render_webhook(
                request, connection, inside, webhook.id, status=422, errors=error.errors
            )
        await spend(connection, form)
        await change_secret(connection, inside.space.id, webhook.id, secret, shared.sealing_key)
        if made:
            return await render_webhook(request, connection, inside, webhook.id, made=secret)
    location = webhook_path(inside.space.id, webhook.id)
    return redirect(request, location, FlashMessage.SECRET_SAVED)


async def post_address(request: Request) -> Response:
    """Give a webhook another address, which is shown this once."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, ADDRESS)
    shared, permission = services(request), Permission.CHANGE_SETTINGS
    try:
        async with shared.database.transaction() as connection:
            inside = await enter(connection, request, visitor, permission)
            webhook = await read_webhook(connection, request, inside.space)
            await spend(connection, form)
            space_id, key = inside.space.id, shared.sealing_key
            token = await change_address(connection, space_id, webhook.id, key)
            return await render_webhook(request, connection, inside, webhook.id, token=token)
    except Conflict as error:
        return await _refuse(request, permission, error)


async def _pause(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook, _: PostedForm
) -> FlashMessage:
    await pause_webhook(connection, inside.space.id, webhook.id, paused=True)
    return FlashMessage.WEBHOOK_PAUSED


async def _resume(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook, _: PostedForm
) -> FlashMessage:
    await pause_webhook(connection, inside.space.id, webhook.id, paused=False)
    return FlashMessage.WEBHOOK_RESUMED


async def _delete(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook, _: PostedForm
) -> FlashMessage:
    await revoke_webhook(connection, inside.space.id, webhook.id)
    return FlashMessage.WEBHOOK_DELETED


async def _replay(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook, form: PostedForm
) -> FlashMessage:
    delivery_id = form.number("delivery")
    await fetch_delivery(connection, inside.space.id, webhook.id, delivery_id)
    outcome, _ = await replay_delivery(connection, inside.space.id, delivery_id)
    replayed = outcome.status is Status.ACCEPTED
    return FlashMessage.DELIVERY_REPLAYED if replayed else FlashMessage.DELIVERY_STILL_REFUSED


async def _replay_failed(
    connection: AsyncConnection, inside: SpaceVisitor, webhook: Webhook, _: PostedForm
) -> FlashMessage:
    outcomes = await replay_failed(connection, inside.space.id, webhook.id)
    if not outcomes:
        return FlashMessage.NOTHING_CHANGED
    if outcomes[Status.ACCEPTED] == outcomes.total():
        return FlashMessage.ALL_REPLAYED
    return FlashMessage.SOME_REPLAYED if outcomes[Status.ACCEPTED] else FlashMessage.NONE_REPLAYED


_PATH = f"{HOME}/spaces/{{space_id}}/orders/webhooks/{{webhook_id}}"
_FORMS = (
    ("pause", Permission.CHANGE_SETTINGS, _pause),
    ("resume", Permission.CHANGE_SETTINGS, _resume),
    ("delete", Permission.CHANGE_SETTINGS, _delete),
    ("replay", Permission.WRITE_DATA, _replay),
    ("replay-failed", Permission.WRITE_DATA, _replay_failed),
)
ROUTES = [
    Route(f"{_PATH}/secret", post_secret, methods=["POST"]),
    Route(f"{_PATH}/address", post_address, methods=["POST"]),
    *(
        Route(f"{_PATH}/{verb}", _changing(permission, change), methods=["POST"])
        for verb, permission, change in _FORMS
    ),
]
